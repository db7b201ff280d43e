"""The error function, its complement and its inverse on lanes, in float32 and float64.

Near zero erf is a polynomial; further out the complement is e^(-x^2) times a function that hardly
bends, a polynomial in 1 / (x + c) (after Cody, Rational Chebyshev approximations for the error
function, 1969). The inverse is x times a function of log(1 - x^2) (after Giles, Approximating the
erfinv function, 2010).
"""

from __future__ import annotations

import math

from lamina.codegen.llvm.ir import Lanes
from lamina.codegen.llvm.vector_math import exp, exp_of_normal, log, polynomial, tabled
from lamina.codegen.llvm.vector_tables import (
    ERF_NEAR,
    ERFC_MIDDLE,
    ERFINV_END,
    ERFINV_FAR,
    ERFINV_NEAR,
    SCALED,
    SCALED_TO_6,
)

_ONE = {"float": 3.93, "double": 6.0}
"""From here on erf is 1."""

_ZERO = {"float": 10.1, "double": 27.4}
"""From here on erfc is 0."""


def _within(size: Lanes, limit: float) -> Lanes:
    return size.compare("olt", limit).where(size, limit)


def erf(x: Lanes) -> Lanes:
    """erf(x): up to 1 by a polynomial, beyond as 1 - erfc(x)."""
    size = x.function("fabs")
    if x.kind == "float":
        limit = _ONE["float"]
        far = size.compare("ogt", limit).where(limit, size)  # what is no number stays that
        complement = tabled(far, ERFC_MIDDLE)
    else:
        far = _within(size, _ONE["double"])
        t = 1.0 / (far + 2.0)
        complement = exp_of_normal(-(far * far), "double") * t * tabled(t, SCALED_TO_6)
        complement = x.compare("uno", x).where(x, complement)
    near = size.fma(tabled(size * size, ERF_NEAR), size)
    result = size.compare("olt", 1.0).where(near, 1.0 - complement)
    return x.block.call("copysign", x.kind, result, x)


def erfc(x: Lanes) -> Lanes:
    """1 - erf(x), without loss where that is small; in float64 for both kinds."""
    kind = x.kind
    wide = x if kind == "double" else x.convert("fpext", "double")
    size = wide.function("fabs")
    far = _within(size, _ZERO[kind])
    complement = (_complement_short if kind == "float" else _complement)(far)
    result = wide.compare("olt", 0.0).where(2.0 - complement, complement)
    near = (-wide).fma(tabled(wide * wide, ERF_NEAR, kind), 1.0 - wide)
    result = size.compare("olt", 1.0).where(near, result)
    if kind == "float":
        result = result.convert("fptrunc", kind)
    return x.compare("uno", x).where(x, result)


def _complement_short(x: Lanes) -> Lanes:
    """erfc(x) for x >= 1, as exact as float32, in float64."""
    t = 1.0 / (x + 2.5)
    return exp_of_normal(-(x * x), "float") * t * tabled(t, SCALED, "float")


def _complement(x: Lanes) -> Lanes:
    """erfc(x) for x >= 1. What rounding takes from t, from the sum and from x^2 is put back."""
    bottom = x + 3.0
    t = 1.0 / bottom
    t_low = t * ((-t).fma(bottom, 1.0) - t * (x - (bottom - 3.0)))
    middle, (first, *others) = SCALED["double"]
    u = (t - middle) + t_low
    bend = u * polynomial(u, others)
    scaled = bend + first
    low = (first - scaled) + bend
    scaled = t.fma(scaled, t_low.fma(scaled, t * low))
    square = x * x
    return exp(-square, low=x.fma(-x, square)) * scaled


def erfinv(x: Lanes) -> Lanes:
    """The number whose error function x is."""
    w = -log((-x).fma(x, 1.0))
    root = w.function("sqrt")
    result = tabled(root, ERFINV_FAR)
    if x.kind == "double":
        result = root.compare("ogt", 4.0).where(tabled(root, ERFINV_END), result)
    result = w.compare("olt", 5.0).where(tabled(w, ERFINV_NEAR), result)
    result = x.function("fabs").compare("oeq", 1.0).where(math.inf, result.function("fabs"))
    return x * result
