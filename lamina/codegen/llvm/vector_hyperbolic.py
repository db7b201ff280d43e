"""Hyperbolic functions and their inverses on lanes, in float32 and float64.

Small arguments of sinh are left to a polynomial, since its exponentials would cancel there; the
inverses are logarithms of 1 + x, which do not lose what is small (Abramowitz and Stegun, 4.6.20).
"""

from __future__ import annotations

import math

from lamina.codegen.llvm.ir import Lanes
from lamina.codegen.llvm.vector_math import exp, log1p, tabled
from lamina.codegen.llvm.vector_tables import SINH

_FAR = {"float": 2.0**12, "double": 2.0**28}
"""Beyond these, x^2 + 1 is x^2, as far as its root is in question."""


def sinh(x: Lanes) -> Lanes:
    """(e^x - e^-x) / 2; up to 1 by a polynomial."""
    size = x.function("fabs")
    z = size * size
    near = (size * z).fma(tabled(z, SINH), size)
    half = exp(size, halvings=1)
    result = size.compare("olt", 1.0).where(near, half - 0.25 / half)
    return x.block.call("copysign", x.kind, result, x)


def cosh(x: Lanes) -> Lanes:
    """(e^x + e^-x) / 2."""
    half = exp(x.function("fabs"), halvings=1)
    return half + 0.25 / half


def asinh(x: Lanes) -> Lanes:
    """log(1 + w) with w = x + x^2 / (1 + sqrt(1 + x^2))."""
    size = x.function("fabs")
    z = size * size
    w = size + z / ((z + 1.0).function("sqrt") + 1.0)
    return x.block.call("copysign", x.kind, _log1p_or_far(size, w), x)


def acosh(x: Lanes) -> Lanes:
    """log(1 + w) with w = t + sqrt(t^2 + 2t) and t = x - 1."""
    t = x.compare("olt", 1.0).where(math.nan, x - 1.0)
    return _log1p_or_far(x, t + t.fma(t, t + t).function("sqrt"))


def _log1p_or_far(x: Lanes, w: Lanes) -> Lanes:
    """log(1 + w), or log(2x) for large x, where w may be infinite."""
    is_far = x.compare("ogt", _FAR[x.kind])
    added = is_far.where(x.block.constant(x.kind, math.log(2)), 0.0)
    return log1p(is_far.where(x - 1.0, w)) + added


def atanh(x: Lanes) -> Lanes:
    """log(1 + 2x / (1 - x)) / 2."""
    size = x.function("fabs")
    result = log1p((size + size) / (1.0 - size)) * 0.5
    return x.block.call("copysign", x.kind, result, x)
