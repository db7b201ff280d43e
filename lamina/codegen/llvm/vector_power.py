"""Powers on lanes, in float32 and float64.

x^y is 2^(y log2 x), where the logarithm must have some bits more than the result: for float32 it is
computed in float64, for float64 as the sum of two numbers (Dekker, A floating-point technique for
extending the available precision, 1971; Muller and others, Handbook of Floating-Point Arithmetic,
chapter 4).
"""

from __future__ import annotations

import math
from typing import Final

from lamina.codegen.llvm.ir import Lanes
from lamina.codegen.llvm.vector_math import exp, exp2_of_two, log, mantissa, polynomial

Pair = tuple[Lanes, Lanes]
"""A number as the sum of two, the second below the last place of the first."""

_THIRD: Final = (0.3333333333333333, 1.850371707708594e-17)
_FIFTH: Final = (0.2, -1.1102230246251566e-17)
_ATANH: Final = tuple(1 / k for k in range(7, 27, 2))
_TWICE_LOG2_E: Final = (2.8853900817779268, 4.0710547481862066e-17)


def _times(x: Pair, y: Pair) -> Pair:
    high = x[0] * y[0]
    return high, x[0].fma(y[0], -high) + x[0].fma(y[1], x[1] * y[0])


def _plus(x: Lanes, y: Lanes) -> Pair:
    """The sum of a number and a smaller one."""
    high = x + y
    return high, (x - high) + y


def _log2(x: Lanes) -> Pair:
    """log2(2^e (1 + f)) = e + 2 log2(e) atanh(s) with s = f / (2 + f)."""
    f, exponent = mantissa(x)
    bottom = f + 2.0
    s = f / bottom
    s_low = ((-s).fma(bottom, f) - s * (f - (bottom - 2.0))) / bottom
    z = _times((s, s_low), (s, s_low))
    # atanh(s) = s + s z (1/3 + z (1/5 + z / 7 + ...))
    constant = x.block.constant
    fifth, bend = _plus(constant("double", _FIFTH[0]), z[0] * polynomial(z[0], _ATANH))
    bent = _times(z, (fifth, bend + _FIFTH[1]))
    third, bend = _plus(constant("double", _THIRD[0]), bent[0])
    bent = _times(_times((s, s_low), z), (third, bend + (bent[1] + _THIRD[1])))
    whole, low = _plus(s, bent[0])
    scaled = _times(
        (whole, low + (bent[1] + s_low)),
        (constant("double", _TWICE_LOG2_E[0]), constant("double", _TWICE_LOG2_E[1])),
    )
    high, rest = _plus(exponent, scaled[0])
    return high, rest + scaled[1]


def _positive_power(size: Lanes, y: Lanes) -> Lanes:
    """A power of a number that is not negative, in float64."""
    high, low = _log2(size)
    high = size.compare("oeq", 0.0).where(-math.inf, high)
    high = size.compare("oeq", math.inf).where(math.inf, high)
    product = y * high
    low = y.fma(high, -product) + y * low
    is_usual = product.function("fabs").compare("olt", 1100.0)
    return exp2_of_two(product, is_usual.where(low, 0.0))


def power(x: Lanes, y: Lanes) -> Lanes:
    """x^y, with C's answers for zeros, infinities and negative numbers."""
    size = x.function("fabs")
    if x.kind == "double":
        value = _positive_power(size, y)
    else:
        wide = log(size.convert("fpext", "double")) * y.convert("fpext", "double")
        value = exp(wide).convert("fptrunc", "float")
    is_whole = y.function("floor").compare("oeq", y)
    half = y * 0.5
    is_odd = is_whole & half.function("floor").compare("une", half)
    sign_bit = x.convert("bitcast", "i32" if x.kind == "float" else "i64").compare("slt", 0)
    value = (sign_bit & is_odd).where(-value, value)
    fails = x.compare("olt", 0.0) & size.compare("one", math.inf) & (is_whole ^ True)
    value = fails.where(math.nan, value)
    is_minus_one = x.compare("oeq", -1.0) & y.function("fabs").compare("oeq", math.inf)
    is_one = x.compare("oeq", 1.0) | y.compare("oeq", 0.0) | is_minus_one
    value = (x.compare("uno", y)).where(x + y, value)
    return is_one.where(1.0, value)
