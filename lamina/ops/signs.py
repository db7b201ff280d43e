"""Signs and absolute values of each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.call import operation
from lamina.core.fast import binary, unary
from lamina.core.op import KEEP, NOT_WRITTEN, PROMOTE, TO_FLOAT, ZERO
from lamina.core.samples import sample
from lamina.ops.choices import by_kind_of_other, checked, refuse

__all__ = [
    "abs",
    "absolute",
    "copysign",
    "heaviside",
    "neg",
    "negative",
    "positive",
    "sgn",
    "sign",
    "signbit",
]

neg = unary(
    "neg", np.negative, grad=lambda F, g: -g, dtypes=KEEP, doc="Each element with the other sign."
)
checked(neg, refuse("b", "Negation, the `-` operator, on a bool tensor is not supported."))
negative = neg


@native
def positive(input: Any) -> Any:
    """The tensor itself. A tensor of bool raises."""
    if input._array.dtype.kind == "b":
        raise errors.DtypeError(
            "The `+` operator, on a bool tensor is not supported.",
            help=["convert it first, for example with .int()"],
        )
    return input


abs = unary(
    "abs",
    np.abs,
    grad=lambda F, g, input: g * F.sgn(input),
    dtypes=KEEP,
    doc="The absolute value of each element.",
)
checked(abs, refuse("b", '"abs" not implemented for {}', errors.NotImplementedForDtype))
absolute = abs


def _sign(input: Any) -> Any:
    if input.dtype.kind == "b":
        return input.copy()
    if input.dtype.kind == "c":
        raise ValueError("Unlike NumPy, torch.sign doesn't support complex tensors: use sgn")
    return np.where(np.isnan(input), input.dtype.type(0), np.sign(input))


sign = unary("sign", _sign, grad=ZERO, dtypes=KEEP, doc="-1, 0 or 1 by the sign of each element.")


def _sgn(input: Any) -> Any:
    if input.dtype.kind != "c":
        return _sign(input)
    length = np.abs(input)
    return np.where(length == 0, 0, input / np.where(length == 0, 1, length))


def _sgn_rule(F: Any, g: Any, input: Any) -> Any:
    # A real number's sign is constant. A complex number's only turns: the part along it is gone.
    length = F.abs(input)
    away = length == 0
    safe = F.where(away, 1, length)
    direction = F.sgn(input)
    turned = (g - F.real(g * F.conj(direction)) * direction) / safe
    return F.where(away, F.zeros_like(g), turned)


sgn = unary(
    "sgn",
    _sgn,
    grad=_sgn_rule,
    dtypes=KEEP,
    doc="$x / |x|$ of each element; 0 for 0. For real numbers the same as `sign`.",
)


signbit = unary(
    "signbit",
    lambda input: np.signbit(input) if input.dtype.kind == "f" else input < 0,
    grad=None,
    dtypes=KEEP,
    doc="Whether each element is negative; a floating-point zero may be.",
)


def _copysign_rule(F: Any, g: Any, input: Any, out: Any) -> Any:
    return g * F.sgn(input) * F.sgn(out)


_copysign = binary(
    "copysign",
    np.copysign,
    grad={"input": _copysign_rule, "other": ZERO},
    node_name="CopysignBackward0",
    dtypes=TO_FLOAT,
    doc="Each element with the sign of the other.",
)
_copysign_number = binary(
    "copysign_number",
    np.copysign,
    grad={"input": _copysign_rule, "other": ZERO},
    node_name="CopysignBackward1",
    dtypes=TO_FLOAT,
    samples=lambda make: [sample(make(3, 4), -2.0)],
    doc="Each element with the sign of a number.",
)
copysign = by_kind_of_other(
    _copysign, _copysign_number, "The absolute value of each element with the sign of the other."
)


def _heaviside(input: Any, values: Any) -> Any:
    kind = input.dtype.type
    return np.where(input == 0, values, np.where(input < 0, kind(0), kind(1)))


heaviside = operation(
    "heaviside",
    _heaviside,
    grad={"input": NOT_WRITTEN, "values": NOT_WRITTEN},
    node_name="NotImplemented",
    tensors="input~ values~",
    dtypes=PROMOTE,
    doc="0 for negative elements, 1 for positive ones, the element of `values` for zeros.",
)
