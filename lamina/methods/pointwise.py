"""Methods and operators of pointwise operations."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.inplace import inplace
from lamina.core.modes import state
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.tensor import Tensor
from lamina.ops import (
    comparison,
    complex_numbers,
    exponential,
    pointwise,
    powers,
    signs,
)
from lamina.ops.choices import by_kind_of_other_inplace, change_by

# --- arithmetic --------------------------------------------------------------------------------

# Operators are the declared operations themselves: nothing stands between.
Tensor.__add__ = Tensor.__radd__ = pointwise._add
Tensor.__sub__ = pointwise._sub
Tensor.__rsub__ = pointwise._rsub
Tensor.__mul__ = Tensor.__rmul__ = pointwise.mul
Tensor.__truediv__ = Tensor.__div__ = pointwise._div
Tensor.__floordiv__ = pointwise.floor_divide
Tensor.__mod__ = pointwise.remainder
Tensor.__pow__ = powers.pow
Tensor.__rpow__ = powers._rpow
Tensor.__neg__ = signs.neg
Tensor.__pos__ = signs.positive
Tensor.__abs__ = signs.abs

Tensor.__iadd__ = inplace(pointwise._add)
Tensor.__isub__ = inplace(pointwise._sub)
Tensor.__imul__ = inplace(pointwise.mul)
Tensor.__itruediv__ = Tensor.__idiv__ = inplace(pointwise._div)
Tensor.__ifloordiv__ = inplace(pointwise.floor_divide)
Tensor.__imod__ = by_kind_of_other_inplace(pointwise._remainder, pointwise._remainder_number)
Tensor.__ipow__ = powers.pow_


def _rtruediv(self: Any, other: Any) -> Any:
    """`other / self`, in the two steps that PyTorch takes: 2 * (1 / 3) may differ from 2 / 3."""
    return powers.reciprocal(self) * other


def _rfloordiv(self: Any, other: Any) -> Any:
    """`other // self`."""
    return pointwise.floor_divide(other, self)


def _rmod(self: Any, other: Any) -> Any:
    """`other % self`."""
    return pointwise._remainder(other, self)


def _is_update(self: Any, other: Any, alpha: Any) -> bool:
    """Whether this is an optimizer's `p.add_(g, alpha=-lr)`: two short ways do, in 3 us, not 30.

    Floats of one type, and nothing is recorded.
    """
    return (
        alpha.__class__ is float
        and not state.grad_enabled
        and other.__class__ is Tensor
        and other._array.dtype is self._array.dtype
        and self._array.dtype.kind == "f"
    )


@takes_numpy_names
def _add_(self: Any, other: Any, *, alpha: Any = 1, **numpy_names: Any) -> Any:
    """Add to each element, in place."""
    if numpy_names or other is MISSING:
        return again(_add_, numpy_names, self, other, alpha)
    if alpha.__class__ is int and alpha == 1:
        return Tensor.__iadd__(self, other)
    if _is_update(self, other, alpha):
        return Tensor.__iadd__(self, pointwise.mul(other, alpha))
    return change_by(pointwise._add_scaled, self, other, alpha)


@takes_numpy_names
def _sub_(self: Any, other: Any, *, alpha: Any = 1, **numpy_names: Any) -> Any:
    """Subtract from each element, in place."""
    if numpy_names or other is MISSING:
        return again(_sub_, numpy_names, self, other, alpha)
    if alpha.__class__ is int and alpha == 1:
        return Tensor.__isub__(self, other)
    if _is_update(self, other, alpha):
        return Tensor.__isub__(self, pointwise.mul(other, alpha))
    return change_by(pointwise._sub_scaled, self, other, alpha)


@takes_numpy_names
def _div_(self: Any, other: Any, *, rounding_mode: str | None = None, **numpy_names: Any) -> Any:
    """Divide each element, in place."""
    if numpy_names or other is MISSING:
        return again(_div_, numpy_names, self, other, rounding_mode)
    if rounding_mode is None:
        return Tensor.__itruediv__(self, other)
    return change_by(pointwise.division(rounding_mode), self, other)


Tensor.__rtruediv__ = Tensor.__rdiv__ = _rtruediv
Tensor.__rfloordiv__ = _rfloordiv
Tensor.__rmod__ = _rmod
Tensor.add, Tensor.add_ = pointwise.add, _add_
Tensor.sub = Tensor.subtract = pointwise.sub
Tensor.sub_ = Tensor.subtract_ = _sub_
Tensor.rsub = pointwise.rsub
Tensor.mul = Tensor.multiply = pointwise.mul
Tensor.mul_ = Tensor.multiply_ = Tensor.__imul__
Tensor.div = Tensor.divide = pointwise.div
Tensor.div_ = Tensor.divide_ = _div_
Tensor.true_divide, Tensor.true_divide_ = pointwise.true_divide, Tensor.__itruediv__
Tensor.floor_divide, Tensor.floor_divide_ = pointwise.floor_divide, Tensor.__ifloordiv__
Tensor.remainder, Tensor.remainder_ = pointwise.remainder, Tensor.__imod__
Tensor.fmod = pointwise.fmod
Tensor.fmod_ = by_kind_of_other_inplace(pointwise._fmod, pointwise._fmod_number)

# --- powers and combinations -------------------------------------------------------------------


def _float_power_(self: Any, exponent: Any) -> Any:
    """Raise each element to a power in float64, in place."""
    wide = "complex128" if self._array.dtype.kind == "c" else "float64"
    if self._array.dtype.name != wide:
        raise errors.DtypeError(
            f"the base given to float_power_ has dtype {self.dtype!r} but the operation's result "
            f"requires dtype torch.{wide}",
            help=["use float_power, which gives a new tensor"],
        )
    return powers.pow_(self, exponent)


Tensor.pow, Tensor.pow_ = powers.pow, powers.pow_
Tensor.float_power, Tensor.float_power_ = powers.float_power, _float_power_
Tensor.square, Tensor.square_ = powers.square, inplace(powers.square)
Tensor.sqrt, Tensor.sqrt_ = powers.sqrt, inplace(powers.sqrt)
Tensor.rsqrt, Tensor.rsqrt_ = powers.rsqrt, inplace(powers.rsqrt)
Tensor.reciprocal, Tensor.reciprocal_ = powers.reciprocal, inplace(powers.reciprocal)
Tensor.hypot, Tensor.hypot_ = powers.hypot, inplace(powers.hypot)
Tensor.ldexp, Tensor.ldexp_ = powers.ldexp, inplace(powers.ldexp)
Tensor.addcmul, Tensor.addcmul_ = powers.addcmul, inplace(powers.addcmul)
Tensor.addcdiv, Tensor.addcdiv_ = powers.addcdiv, inplace(powers.addcdiv)
Tensor.lerp, Tensor.lerp_ = powers.lerp, powers.lerp_

# --- signs -------------------------------------------------------------------------------------


def _abs_(self: Any) -> Any:
    """Replace each element by its absolute value."""
    if self._array.dtype.kind == "c":
        raise errors.DtypeError(
            "In-place abs is not supported for complex tensors.",
            help=["use `x.abs()`, which is real"],
        )
    return change_by(signs.abs, self)


Tensor.neg = Tensor.negative = signs.neg
Tensor.neg_ = Tensor.negative_ = inplace(signs.neg)
Tensor.positive = signs.positive
Tensor.abs = Tensor.absolute = signs.abs
Tensor.abs_ = Tensor.absolute_ = _abs_
Tensor.sign, Tensor.sign_ = signs.sign, inplace(signs.sign)
Tensor.sgn, Tensor.sgn_ = signs.sgn, inplace(signs.sgn)
Tensor.signbit = signs.signbit
Tensor.copysign = signs.copysign
Tensor.copysign_ = by_kind_of_other_inplace(signs._copysign, signs._copysign_number)
Tensor.heaviside, Tensor.heaviside_ = signs.heaviside, inplace(signs.heaviside)

# --- exponentials and logarithms ---------------------------------------------------------------

Tensor.exp, Tensor.exp_ = exponential.exp, inplace(exponential.exp)
Tensor.exp2, Tensor.exp2_ = exponential.exp2, inplace(exponential.exp2)
Tensor.expm1, Tensor.expm1_ = exponential.expm1, inplace(exponential.expm1)
Tensor.log, Tensor.log_ = exponential.log, inplace(exponential.log)
Tensor.log2, Tensor.log2_ = exponential.log2, inplace(exponential.log2)
Tensor.log10, Tensor.log10_ = exponential.log10, inplace(exponential.log10)
Tensor.log1p, Tensor.log1p_ = exponential.log1p, inplace(exponential.log1p)
Tensor.logaddexp = exponential.logaddexp
Tensor.logaddexp2 = exponential.logaddexp2
Tensor.xlogy, Tensor.xlogy_ = exponential.xlogy, exponential.xlogy_
Tensor.sigmoid, Tensor.sigmoid_ = exponential.sigmoid, inplace(exponential.sigmoid)
Tensor.logit, Tensor.logit_ = exponential.logit, inplace(exponential.logit)

# --- comparison --------------------------------------------------------------------------------


def _equality(function: Any) -> Any:
    """`==` and `!=` also with things that are no tensors: then Python asks the other side."""

    def compare(self: Any, other: Any) -> Any:
        try:
            return function(self, other)
        except errors.ArgumentTypeError:
            return NotImplemented

    compare.__name__ = compare.__qualname__ = f"__{function.__name__}__"
    compare.__doc__ = function.__doc__
    return compare


Tensor.__eq__, Tensor.__ne__ = _equality(comparison.eq), _equality(comparison.ne)
Tensor.__lt__, Tensor.__le__ = comparison.lt, comparison.le
Tensor.__gt__, Tensor.__ge__ = comparison.gt, comparison.ge
for _names, _function in (
    (("eq",), comparison.eq),
    (("ne", "not_equal"), comparison.ne),
    (("lt", "less"), comparison.lt),
    (("le", "less_equal"), comparison.le),
    (("gt", "greater"), comparison.gt),
    (("ge", "greater_equal"), comparison.ge),
):
    for _name in _names:
        setattr(Tensor, _name, _function)
        setattr(Tensor, _name + "_", inplace(_function))

Tensor.isnan, Tensor.isinf, Tensor.isfinite = (
    comparison.isnan,
    comparison.isinf,
    comparison.isfinite,
)
Tensor.isposinf, Tensor.isneginf = comparison.isposinf, comparison.isneginf
Tensor.isreal, Tensor.isclose = comparison.isreal, comparison.isclose
Tensor.allclose, Tensor.equal = comparison.allclose, comparison.equal


@takes_numpy_names
def _where(self: Any, condition: Any, other: Any, **numpy_names: Any) -> Any:
    """This tensor's elements where the condition holds, else the other's."""
    if numpy_names or other is MISSING:
        return again(_where, numpy_names, self, condition, other)
    return comparison.where(condition, self, other)


Tensor.where = _where

# --- complex numbers ---------------------------------------------------------------------------

Tensor.angle = complex_numbers.angle
# NumPy's name for it too: rules write `x.conjugate()` for arrays and tensors.
Tensor.conj = Tensor.conjugate = complex_numbers.conj
Tensor.conj_physical = complex_numbers.conj_physical
Tensor.conj_physical_ = complex_numbers.conj_physical_
Tensor.resolve_conj, Tensor.resolve_neg = complex_numbers.resolve_conj, complex_numbers.resolve_neg
Tensor.is_conj = lambda self: False
Tensor.is_neg = lambda self: False


def _set_real(self: Any, value: Any) -> None:
    complex_numbers.real(self).copy_(value)


def _set_imag(self: Any, value: Any) -> None:
    complex_numbers.imag(self).copy_(value)


Tensor.real = property(complex_numbers.real, _set_real, doc="The real parts.")
Tensor.imag = property(complex_numbers.imag, _set_imag, doc="The imaginary parts.")
