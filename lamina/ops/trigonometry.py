"""Trigonometric and hyperbolic functions of each element, and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.codegen.fused import fused
from lamina.codegen.vectorized import vectorized
from lamina.core.fast import binary, unary
from lamina.core.op import TO_FLOAT
from lamina.core.samples import binary_samples, unary_samples

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "rad2deg",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]

# --- circular ----------------------------------------------------------------------------------

sin = unary(
    "sin",
    vectorized()(np.sin),
    grad=lambda F, g, input: g * F.conj(F.cos(input)),
    doc="The sine of each element, in radians.",
)
cos = unary(
    "cos",
    vectorized()(np.cos),
    grad=lambda F, g, input: -g * F.conj(F.sin(input)),
    doc="The cosine of each element, in radians.",
)
tan = unary(
    "tan",
    vectorized()(np.tan),
    grad=lambda F, g, out: g * F.conj(1 + out * out),
    samples=unary_samples(-1.2, 1.2),
    doc="The tangent of each element, in radians.",
)
_inner = unary_samples(-0.9, 0.9)
asin = unary(
    "asin",
    vectorized()(np.arcsin),
    grad=lambda F, g, input: g * F.conj(F.rsqrt(1 - input * input)),
    samples=_inner,
    doc="The angle whose sine each element is.",
)
acos = unary(
    "acos",
    vectorized()(np.arccos),
    grad=lambda F, g, input: -g * F.conj(F.rsqrt(1 - input * input)),
    samples=_inner,
    doc="The angle whose cosine each element is.",
)
atan = unary(
    "atan",
    vectorized()(np.arctan),
    grad=lambda F, g, input: g / F.conj(input * input + 1),
    doc="The angle whose tangent each element is.",
)


def _over_square(F: Any, x: Any, y: Any) -> Any:
    square = x * x + y * y
    return x / F.where(square == 0, 1, square)


@fused
def _atan2(input: Any, other: Any) -> Any:
    return np.arctan2(input, other)


atan2 = binary(
    "atan2",
    _atan2,
    grad={
        "input": lambda F, g, input, other: g * _over_square(F, other, input),
        "other": lambda F, g, input, other: g * -_over_square(F, input, other),
    },
    dtypes=TO_FLOAT,
    tensors="input~ other~",
    samples=binary_samples(0.3, 2.0),
    doc="The angle of each point $(y, x)$, in radians from the positive x axis.",
)
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2


def _sinc(input: Any) -> Any:
    angle = np.pi * input
    away = np.where(input == 0, input.dtype.type(1), angle)
    return np.where(input == 0, input.dtype.type(1), np.sin(away) / away)


def _sinc_rule(F: Any, g: Any, input: Any) -> Any:
    angle = input * 3.141592653589793
    slope = (F.cos(angle) * angle - F.sin(angle)) / (angle * input)
    return g * F.conj(F.where(input == 0, 0, slope))


sinc = unary(
    "sinc",
    _sinc,
    grad=_sinc_rule,
    samples=unary_samples(0.2, 2.0),
    doc=r"$\sin(\pi x) / (\pi x)$ of each element; 1 for 0.",
)
deg2rad = unary(
    "deg2rad",
    lambda input: input * input.dtype.type(0.017453292519943295),
    grad=lambda F, g: g * 0.017453292519943295,
    node_name="Deg2RadBackward0",
    doc="Each angle in degrees, in radians.",
)
rad2deg = unary(
    "rad2deg",
    lambda input: input * input.dtype.type(57.29577951308232),
    grad=lambda F, g: g * 57.29577951308232,
    node_name="Rad2DegBackward0",
    doc="Each angle in radians, in degrees.",
)

# --- hyperbolic --------------------------------------------------------------------------------

sinh = unary(
    "sinh",
    vectorized()(np.sinh),
    grad=lambda F, g, input: g * F.conj(F.cosh(input)),
    doc="The hyperbolic sine of each element.",
)
cosh = unary(
    "cosh",
    vectorized()(np.cosh),
    grad=lambda F, g, input: g * F.conj(F.sinh(input)),
    doc="The hyperbolic cosine of each element.",
)
tanh = unary(
    "tanh",
    vectorized()(np.tanh),
    grad=fused(lambda F, g, out: g * F.conj(1 - out * out)),
    doc="The hyperbolic tangent of each element.",
)
asinh = unary(
    "asinh",
    vectorized()(np.arcsinh),
    grad=lambda F, g, input: g * F.conj(F.rsqrt(input * input + 1)),
    doc="The inverse hyperbolic sine of each element.",
)
acosh = unary(
    "acosh",
    vectorized()(np.arccosh),
    grad=lambda F, g, input: g * F.conj(F.rsqrt(input - 1) * F.rsqrt(input + 1)),
    samples=unary_samples(1.5, 3.0),
    doc="The inverse hyperbolic cosine of each element.",
)
atanh = unary(
    "atanh",
    vectorized()(np.arctanh),
    grad=lambda F, g, input: g / F.conj(1 - input * input),
    samples=_inner,
    doc="The inverse hyperbolic tangent of each element.",
)
arcsinh, arccosh, arctanh = asinh, acosh, atanh
