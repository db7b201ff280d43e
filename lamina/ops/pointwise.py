"""Arithmetic of each element: sums, products, quotients, remainders.

Powers and roots stand in `powers.py`, signs in `signs.py`; the other chapters of pointwise
operations are exponentials, trigonometry, rounding, comparison and activations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.fast import binary
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import NOT_WRITTEN, PROMOTE, SAME, TO_FLOAT, ZERO
from lamina.core.promotion import is_array
from lamina.core.samples import Make, Sample, binary_samples, sample
from lamina.core.tensor import Tensor
from lamina.ops.choices import by_kind_of_other

__all__ = [
    "add",
    "div",
    "divide",
    "floor_divide",
    "fmod",
    "mul",
    "multiply",
    "remainder",
    "rsub",
    "sub",
    "subtract",
    "true_divide",
]

# --- sums and differences ----------------------------------------------------------------------

_add = binary(
    "add",
    np.add,
    grad={"input": SAME, "other": SAME},
    doc="The sum of each pair of elements.",
)


_sub = binary(
    "sub",
    np.subtract,
    grad={"input": SAME, "other": lambda F, g: -g},
    doc="The difference of each pair of elements.",
)


def _no_truth_values(input: Any, other: Any) -> None:
    """Raise if there is a truth value: their differences have no meaning that all agree on."""
    found = [v.dtype.kind == "b" if is_array(v) else isinstance(v, bool) for v in (input, other)]
    if not any(found):
        return
    which = "two bool tensors" if all(found) else "a bool tensor"
    raise errors.DtypeError(
        f"Subtraction, the `-` operator, with {which} is not supported.",
        [(this_place(), "subtracted here")],
        ["use ^ or logical_xor() for their difference, ~ for the opposite"],
    )


def _difference_from(name: str, node_name: str) -> Any:
    return binary(
        name,
        lambda input, other: np.subtract(other, input),
        grad={"input": lambda F, g: -g, "other": SAME},
        node_name=node_name,
        doc="The difference of each pair of elements, the other way round: $y - x$.",
    )


_rsub = _difference_from("rsub", "RsubBackward1")
_rsub_tensor = _difference_from("rsub_tensor", "RsubBackward0")
_rsub.op.takes_number = True
for _difference in (_sub, _rsub, _rsub_tensor):
    _difference.op.check = _no_truth_values


def _scaled_samples(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4), make(3, 4), 2.0),
        sample(make(3, 1), make(4), -0.5),
        sample(make(2), 1.5, 3),
    ]


def _add_scaled_kernel(input: Any, other: Any, alpha: Any) -> Any:
    _check_alpha(input, alpha)
    return np.add(input, other * _as_kind(alpha, other))


def _as_kind(alpha: Any, like: Any) -> Any:
    """A factor in the dtype of the array it multiplies, so that it can't widen the product."""
    return np.asarray(alpha).astype(like.dtype)[()] if hasattr(like, "dtype") else alpha


def _check_alpha(input: Any, alpha: Any) -> None:
    kind = input.dtype.kind
    if isinstance(alpha, bool) and kind != "b":
        raise errors.DtypeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, complex) and kind != "c":
        raise errors.DtypeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    if isinstance(alpha, float | complex) and kind in "iub":
        raise errors.DtypeError(
            "For integral input tensors, argument alpha must not be a floating point number.",
            help=["use an integer alpha, or convert the tensor first: .float()"],
        )


_add_scaled = operation(
    "add_scaled",
    _add_scaled_kernel,
    tensors="#input #other",
    grad={
        "input": SAME,
        "other": lambda F, g, alpha: g * alpha.conjugate(),
    },
    node_name="AddBackward0",
    dtypes=PROMOTE,
    samples=_scaled_samples,
    doc="A sum with the second input multiplied by a number first.",
)


def _sub_scaled_kernel(input: Any, other: Any, alpha: Any) -> Any:
    _check_alpha(input, alpha)
    return np.subtract(input, other * _as_kind(alpha, other))


_sub_scaled = operation(
    "sub_scaled",
    _sub_scaled_kernel,
    tensors="#input #other",
    grad={
        "input": SAME,
        "other": lambda F, g, alpha: g * -alpha.conjugate(),
    },
    node_name="SubBackward0",
    dtypes=PROMOTE,
    samples=_scaled_samples,
    doc="A difference with the second input multiplied by a number first.",
)


_sub_scaled.op.check = _no_truth_values


@takes_numpy_names
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None, **numpy_names: Any) -> Any:
    r"""The sum of each pair of elements: $x + \alpha y$.

    >>> import lamina
    >>> lamina.add(lamina.tensor([1.0, 2.0]), 3)
    tensor([4., 5.])
    """
    if numpy_names or other is MISSING:
        return again(add, numpy_names, input, other, alpha, out)
    if alpha.__class__ is int and alpha == 1:
        return _add(input, other) if out is None else _add(input, other, out=out)
    return _add_scaled(input, other, alpha, out=out)


@takes_numpy_names
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None, **numpy_names: Any) -> Any:
    r"""The difference of each pair of elements: $x - \alpha y$."""
    if numpy_names or other is MISSING:
        return again(sub, numpy_names, input, other, alpha, out)
    if alpha.__class__ is int and alpha == 1:
        return _sub(input, other) if out is None else _sub(input, other, out=out)
    return _sub_scaled(input, other, alpha, out=out)


@takes_numpy_names
def rsub(input: Any, other: Any, *, alpha: Any = 1, **numpy_names: Any) -> Any:
    r"""The difference the other way round: $y - \alpha x$."""
    if numpy_names or other is MISSING:
        return again(rsub, numpy_names, input, other, alpha)
    if alpha == 1:
        return (_rsub_tensor if isinstance(other, Tensor) else _rsub)(input, other)
    return _add_scaled(other, input, -alpha)


subtract = sub

# --- products and quotients --------------------------------------------------------------------

mul = binary(
    "mul",
    np.multiply,
    grad={
        # The method, not F.conj: of a real array it is the array itself, for 0.03 us.
        "input": lambda F, g, other: g * other.conjugate(),
        "other": lambda F, g, input: g * input.conjugate(),
    },
    doc="The product of each pair of elements: $x y$.",
)
multiply = mul

_quotient_samples = binary_samples(0.5, 2.0)

_div = binary(
    "div",
    np.true_divide,
    grad={
        "input": lambda F, g, other: g / F.conj(other),
        "other": fused(lambda F, g, input, other: -g * F.conj(input / other / other)),
    },
    dtypes=TO_FLOAT,
    samples=_quotient_samples,
    doc="The quotient of each pair of elements: $x / y$.",
)
true_divide = _div
true_divide.__qualname__ = "true_divide"  # type: ignore[attr-defined]  # `div` takes more


def _without_zero_division(function: Any) -> Any:
    """A kernel whose division of an integer by zero raises, as there is no result for it."""

    def kernel(input: Any, other: Any) -> Any:
        kind = np.result_type(input, other).kind
        if kind not in "iub":
            return function(input, other)
        if kind == "b":
            raise errors.NotImplementedForDtype("division is not implemented for 'Bool'")
        try:
            with np.errstate(divide="raise"):
                return function(input, other)
        except FloatingPointError:
            raise errors.InvalidArgument(
                "ZeroDivisionError: an integer is divided by zero",
                help=[
                    "divide floating-point numbers, whose result is inf, or mask the zeros first"
                ],
            ) from None

    return kernel


def _truncated(input: Any, other: Any) -> Any:
    if np.result_type(input, other).kind == "f":
        return np.trunc(np.true_divide(input, other))
    quotient = np.floor_divide(input, other)
    # Rounding towards zero is one more where the signs differ and something remains.
    return quotient + ((quotient < 0) & (quotient * other != input))


_div_floor = binary(
    "div_floor",
    _without_zero_division(np.floor_divide),
    grad={"input": ZERO, "other": ZERO},
    node_name="DivBackward2",
    samples=_quotient_samples,
    doc="The quotient of each pair of elements, rounded down.",
)
_div_trunc = binary(
    "div_trunc",
    _without_zero_division(_truncated),
    grad={"input": ZERO, "other": ZERO},
    node_name="DivBackward2",
    samples=_quotient_samples,
    doc="The quotient of each pair of elements, rounded towards zero.",
)
floor_divide = binary(
    "floor_divide",
    _without_zero_division(np.floor_divide),
    grad={"input": NOT_WRITTEN, "other": NOT_WRITTEN},
    node_name="NotImplemented",
    samples=_quotient_samples,
    doc="The quotient of each pair of elements, rounded down.",
)


def division(rounding_mode: str | None) -> Any:
    """The declared operation that divides with a rounding mode."""
    if rounding_mode is None:
        return _div
    if rounding_mode == "floor":
        return _div_floor
    if rounding_mode == "trunc":
        return _div_trunc
    raise errors.InvalidArgument(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"{rounding_mode!r}"
    )


@takes_numpy_names
def div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None, **numpy_names: Any
) -> Any:
    """The quotient of each pair of elements, if asked for rounded down or towards zero.

    >>> import lamina
    >>> lamina.div(lamina.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
    if numpy_names or other is MISSING:
        return again(div, numpy_names, input, other, rounding_mode, out)
    if rounding_mode is None and out is None:
        return _div(input, other)
    return division(rounding_mode)(input, other, out=out)


divide = div

# --- remainders --------------------------------------------------------------------------------


def _with_number(name: str, kernel: Any, node_name: str, doc: str) -> Any:
    made: Any = binary(
        name + "_number",
        kernel,
        grad={"input": SAME, "other": NOT_WRITTEN},
        node_name=node_name,
        samples=lambda make: [sample(make(3, 4), 0.7), sample(make(), -0.7)],
        doc=doc,
    )
    made.op.takes_number = True
    return made


def _remainder_samples(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4), make(3, 4, low=0.5)),
        sample(make(3, 1), make(1, 4, low=0.5)),
    ]


_remainder_kernel = _without_zero_division(np.remainder)
_remainder = binary(
    "remainder",
    _remainder_kernel,
    grad={
        "input": SAME,
        "other": lambda F, g, input, other: -g * F.div_floor(input, other),
    },
    node_name="RemainderBackward1",
    samples=_remainder_samples,
    doc="The remainder of each quotient, with the sign of the divisor.",
)
_remainder_number = _with_number(
    "remainder", _remainder_kernel, "RemainderBackward0", "The remainder of division by a number."
)
_fmod_kernel = _without_zero_division(np.fmod)
_fmod = binary(
    "fmod",
    _fmod_kernel,
    grad={
        "input": SAME,
        "other": lambda F, g, input, other: -g * F.div_trunc(input, other),
    },
    node_name="FmodBackward1",
    samples=_remainder_samples,
    doc="The remainder of each quotient, with the sign of the dividend.",
)
_fmod_number = _with_number(
    "fmod", _fmod_kernel, "FmodBackward0", "The remainder of division by a number."
)
remainder = by_kind_of_other(
    _remainder, _remainder_number, "The remainder of each quotient, with the divisor's sign."
)
fmod = by_kind_of_other(
    _fmod, _fmod_number, "The remainder of each quotient, with the dividend's sign."
)
