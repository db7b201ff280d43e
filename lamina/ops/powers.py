"""Powers and roots of each element."""

from __future__ import annotations

import builtins
import cmath
import math
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.codegen.vectorized import vectorized
from lamina.core.arguments import native
from lamina.core.blame.products import c_name
from lamina.core.blame.words import word_of
from lamina.core.call import operation, run
from lamina.core.fast import binary, unary
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import KEEP, PROMOTE, SAME, TO_FLOAT, offer, traced
from lamina.core.samples import Make, Sample, binary_samples, sample, unary_samples
from lamina.core.tensor import Tensor
from lamina.ops.choices import change_by
from lamina.ops.power_rules import (
    base_rule,
    exponent_of_number_rule,
    exponent_rule,
    power_of_number,
    power_of_number_rule,
    powers_of,
)

__all__ = [
    "addcdiv",
    "addcmul",
    "float_power",
    "hypot",
    "ldexp",
    "lerp",
    "pow",
    "reciprocal",
    "rsqrt",
    "sqrt",
    "square",
]

# --- powers ------------------------------------------------------------------------------------


def _power_samples(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4, low=0.5), make(3, 4)),
        sample(make(3, 1, low=0.5), make(4)),
        sample(make(2, low=0.5), make(low=-1.0)),
    ]


_pow = binary(
    "pow",
    powers_of,
    grad={"input": base_rule, "other": exponent_rule},
    node_name="PowBackward1",
    samples=_power_samples,
    doc="Each element raised to the power of the other.",
)
_pow_number = binary(
    "pow_number",
    power_of_number,
    grad={"input": power_of_number_rule, "other": SAME},
    node_name="PowBackward0",
    samples=lambda make: [sample(make(3, 4, low=0.5), e) for e in (0, 1, 2, 3, -1, 0.5, 1.7)],
    doc="Each element raised to the power of a number.",
)


def _log_of_number(number: complex) -> complex:
    """The natural logarithm of a Python number, as a Python number."""
    if isinstance(number, complex):
        return cmath.log(number)
    return math.log(number) if number > 0 else math.nan


offer("log_of_number", _log_of_number, _log_of_number)
_rpow = binary(
    "rpow",
    # Only floats come here without a dtype of their own.
    lambda input, other: (
        powers_of(other, input) if input.dtype.kind in "ib" else np.power(other, input)
    ),
    grad={"input": exponent_of_number_rule, "other": SAME},
    node_name="PowBackward2",
    samples=lambda make: [sample(make(3, 4), 2.5), sample(make(2, low=0.5), 0)],
    doc="A number raised to the power of each element.",
)


for _with_number in (_pow_number, _rpow):
    _with_number.op.takes_number = True


@takes_numpy_names
def pow(input: Any, exponent: Any, *, out: Any = None, **numpy_names: Any) -> Any:
    """Each element raised to a power: $x^y$; either may be a number.

    >>> import lamina
    >>> lamina.pow(2, lamina.tensor([1.0, 3.0]))
    tensor([2., 8.])
    """
    if numpy_names or exponent is MISSING:
        return again(pow, numpy_names, input, exponent, out)
    if exponent.__class__ is not int and isinstance(exponent, Tensor):
        chosen = _pow if isinstance(input, Tensor) else None
        if chosen is None:
            return _rpow(exponent, input) if out is None else _rpow(exponent, input, out=out)
        return _pow(input, exponent, out=out) if out is not None else _pow(input, exponent)
    return _pow_number(input, exponent) if out is None else _pow_number(input, exponent, out=out)


def pow_(input: Any, exponent: Any) -> Any:
    """Raise each element to a power, in place."""
    return change_by(_pow if isinstance(exponent, Tensor) else _pow_number, input, exponent)


@native
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """Each element raised to a power, in float64 (complex128 for complex numbers)."""
    operands = [_widest(input), _widest(exponent)]
    if not all(isinstance(value, Tensor) for value in operands):
        numbers = [value for value in operands if not isinstance(value, Tensor)]
        if any(isinstance(value, complex) for value in numbers):
            operands = [
                traced.cast_like_input(value, np.dtype(np.complex128))
                if isinstance(value, Tensor)
                else value
                for value in operands
            ]
    return pow(*operands, out=out)


def _widest(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    wide = np.dtype(np.complex128 if value._array.dtype.kind == "c" else np.float64)
    return value if value._array.dtype == wide else traced.cast_like_input(value, wide)


square = unary(
    "square",
    lambda input: np.square(input.astype(np.int64) if input.dtype.kind == "b" else input),
    grad=lambda F, g, input: g * F.conj(input * 2),
    node_name="PowBackward0",
    dtypes=KEEP,
    doc="The square of each element.",
)

# --- roots -------------------------------------------------------------------------------------

sqrt = unary(
    "sqrt",
    vectorized()(np.sqrt),
    grad=lambda F, g, out: g / (2 * F.conj(out)),
    samples=unary_samples(0.5, 2.0),
    doc="The square root of each element.",
)
rsqrt = unary(
    "rsqrt",
    lambda input: np.reciprocal(np.sqrt(input)),
    grad=lambda F, g, out: g * F.conj(out * out * out) * -0.5,
    samples=unary_samples(0.5, 2.0),
    doc="One over the square root of each element.",
)
reciprocal = unary(
    "reciprocal",
    np.reciprocal,
    grad=lambda F, g, out: -g * F.conj(out * out),
    samples=unary_samples(0.5, 2.0),
    doc="One over each element.",
)
hypot = binary(
    "hypot",
    np.hypot,
    grad={
        "input": lambda F, g, input, out: g * (input / out),
        "other": lambda F, g, other, out: g * (other / out),
    },
    tensors="input~ other~",
    samples=binary_samples(0.5, 2.0),
    doc=r"The length of each pair of elements: $\sqrt{x^2 + y^2}$.",
)


def _no_integers(input: Any, other: Any) -> None:
    if input.dtype.kind not in "fcV":
        kind = word_of(dtypes.from_numpy(input.dtype))
        raise errors.NotImplementedForDtype(f"\"hypot\" not implemented for '{kind}'")


hypot.op.check = _no_integers
ldexp = binary(
    "ldexp",
    lambda input, other: input * 2.0**other,
    grad={
        "input": lambda F, g, other: g * F.conj(2.0**other),
        "other": lambda F, g, out: g * F.conj(out) * 0.6931471805599453,
    },
    dtypes=TO_FLOAT,
    tensors="input~ other~",
    doc="Each element times two to the power of the other: $x 2^y$.",
)

# --- combinations of three ---------------------------------------------------------------------


def _three(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4), make(3, 4), make(3, 4, low=0.5)),
        sample(make(3, 1), make(4), make(3, 4, low=0.5)),
        sample(make(3, 4), make(3, 4), make(1, low=0.5), value=-1.5),
    ]


def _scaled(product: Any, value: Any) -> Any:
    if value.__class__ is int and value == 1:
        return product
    return product * product.dtype.type(value)


def _addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    _check_value(input, value)
    return input + _scaled(tensor1 * tensor2, value)


def _check_value(input: Any, value: Any) -> None:
    if input.dtype.kind in "iub" and isinstance(value, float):
        raise errors.DtypeError(
            f"value cannot be converted to type {dtypes.from_numpy(input.dtype)!r} without overflow"
        )


addcmul = operation(
    "addcmul",
    _addcmul,
    tensors="input tensor1 tensor2",
    grad={
        "input": SAME,
        "tensor1": lambda F, g, tensor2, value: g * F.conj(tensor2 * value),
        "tensor2": lambda F, g, tensor1, value: g * F.conj(tensor1 * value),
    },
    dtypes=PROMOTE,
    samples=_three,
    doc=r"$x + v\,a\,b$ for each element, with a number $v$.",
)


def _addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    if np.result_type(input, tensor1, tensor2).kind in "iub":
        raise errors.DtypeError(
            "Integer division with addcdiv is no longer supported",
            help=["write (input + value * (tensor1 / tensor2)), or convert to floating point"],
        )
    return input + _scaled(tensor1 / tensor2, value)


addcdiv = operation(
    "addcdiv",
    _addcdiv,
    tensors="input tensor1 tensor2",
    grad={
        "input": SAME,
        "tensor1": lambda F, g, tensor2, value: g * F.conj(value / tensor2),
        "tensor2": lambda F, g, tensor1, tensor2, value: (
            -g * F.conj(tensor1 * value / (tensor2 * tensor2))
        ),
    },
    dtypes=PROMOTE,
    samples=_three,
    doc=r"$x + v\,a / b$ for each element, with a number $v$.",
)


def _lerp(input: Any, end: Any, weight: Any) -> Any:
    # From the nearer end, so that a weight of 1 gives the end exactly.
    difference = end - input
    return np.where(
        np.abs(weight) < 0.5, input + weight * difference, end - difference * (1 - weight)
    )


_lerp_tensor = operation(
    "lerp",
    _lerp,
    tensors="input end weight",
    grad={
        "input": lambda F, g, weight: g * (1 - F.conj(weight)),
        "end": lambda F, g, weight: g * F.conj(weight),
        "weight": lambda F, g, input, end: g * F.conj(end - input),
    },
    node_name="LerpBackward1",
    dtypes=PROMOTE,
    samples=lambda make: [
        sample(make(3, 4), make(3, 4), make(3, 4)),
        sample(make(3, 1), make(4), make(3, 4)),
    ],
    doc="Between two elements, at a fraction of the way given by a tensor.",
)


def _lerp_number_kernel(input: Any, end: Any, weight: Any) -> Any:
    difference = end - input
    if builtins.abs(weight) < 0.5:
        return input + difference * input.dtype.type(weight)
    return end - difference * input.dtype.type(1 - weight)


_lerp_number = operation(
    "lerp_number",
    _lerp_number_kernel,
    tensors="input end",
    grad={
        "input": lambda F, g, weight: g * (1 - weight.conjugate()),
        "end": lambda F, g, weight: g * weight.conjugate(),
    },
    node_name="LerpBackward0",
    dtypes=PROMOTE,
    samples=lambda make: [sample(make(3, 4), make(3, 1), w) for w in (0.25, 0.75, 2.0)],
    doc="Between two elements, at a fraction of the way given by a number.",
)


def _one_dtype(input: Any, end: Any, *_: Any) -> None:
    """Raise unless both ends have the same dtype, and one that has fractions."""
    kind = dtypes.from_numpy(input.dtype)
    if end.dtype != input.dtype:
        raise errors.DtypeError(
            f"expected dtype {c_name(kind)} for `end` but got dtype "
            f"{c_name(dtypes.from_numpy(end.dtype))}"
        )
    if not kind.is_differentiable:
        raise errors.NotImplementedForDtype(f"\"lerp\" not implemented for '{word_of(kind)}'")


for _between in (_lerp_tensor, _lerp_number):
    _between.op.check = _one_dtype


@native
def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    r"""Between two elements, at a fraction of the way: $x + w (e - x)$."""
    chosen = _lerp_tensor if isinstance(weight, Tensor) else _lerp_number
    return run(chosen.op, [input, end, weight], out)


def lerp_(input: Any, end: Any, weight: Any) -> Any:
    """Move each element a fraction of the way to another, in place."""
    chosen = _lerp_tensor if isinstance(weight, Tensor) else _lerp_number
    return change_by(chosen, input, end, weight)
