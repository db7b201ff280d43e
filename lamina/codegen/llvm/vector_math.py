"""Exponentials, logarithms and tanh on lanes, in float32 and float64.

Each reduces its argument to a small interval, takes a polynomial there, and scales back. The
coefficients are Chebyshev interpolations, computed with 60 digits. No function branches on single
lanes. The other functions stand in files named `vector_*`; `vector_functions` lists all.
`tests/codegen/test_vector_math.py` measures and bounds the errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from lamina.codegen.llvm import scaling
from lamina.codegen.llvm.ir import Lanes
from lamina.codegen.llvm.vector_tables import Table

_LOG2_E: Final = 1.4426950408889634
_EXP = {
    "float": (0.500000001346581, 0.16666666681623232, 0.041666464925285904,
              0.0083333109254809, 0.0013933649996309251, 0.00019890990824673654),
    "double": (0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136,
               0.0013888888888883748, 0.00019841269874820627, 2.4801587325547743e-05,
               2.7557255400206422e-06, 2.75572736431103e-07, 2.5105217004720745e-08,
               2.0914686968086876e-09),
}  # fmt: skip
# e^r itself needs one coefficient less.
_E_TO = {
    "float": (1.0, 1.0, 0.5, 0.1666657666612022, 0.04166655421298451, 0.00836323288363423,
              0.0013926250831437167),
    "double": (1.0, 1.0, *_EXP["double"]),
}  # fmt: skip
# ln 2 as the sum of a part with few bits, so that small multiples of it are exact, and the rest.
_LN2 = {
    "float": (0.693145751953125, 1.428606765330187e-06),
    "double": (0.6931471805598903, 5.497923018708371e-14),
}
_EXP_RANGE = {"float": (-104.0, 89.0), "double": (-746.0, 710.0)}
_EXP2_RANGE = {"float": (-151.0, 129.0), "double": (-1076.0, 1025.0)}
_LOG_FLOAT = (
    0.33333331180030046, -0.24999996957950882, 0.200007157488921, -0.16667802319501254,
    0.1424905764569748, -0.12425687331451106, 0.1168541992348674, -0.11479733846637635,
    0.06971611471451178,
)  # fmt: skip
_LOG_DOUBLE = (
    0.6666666666666666, 0.40000000000000885, 0.28571428570799784, 0.22222222392581045,
    0.18181795547521137, 0.15386244737621665, 0.13268638369266825, 0.13088034850927555,
)  # fmt: skip
_LOG2_E_LOW = {"float": 1.9259629911266175e-08, "double": 2.0355273740931033e-17}
_LOG10_2 = (0.30102999566383914, 1.42050232272661e-13)  # the first part with few bits
_LN2_PAIR = (0.6931471805599453, 2.3190468138462996e-17)
_LOG10_E = (0.4342944819032518, 1.098319650216765e-17)

_BITS = {"float": ("i32", 23, 127), "double": ("i64", 52, 1023)}


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """The value of a polynomial, lowest power first."""
    result = x.block.constant(x.kind, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result


def tabled(x: Lanes, table: Table, precision: str = "") -> Lanes:
    """The value of a polynomial in the distance from the middle of its interval.

    It is as exact as the lanes are, or as numbers of another kind.
    """
    middle, coefficients = table[precision or x.kind]
    return polynomial(x - middle if middle else x, coefficients)


def _power_of_two(n: Lanes, kind: str) -> Lanes:
    """2**n for integer lanes in the range of normal numbers."""
    _, bits, bias = _BITS[kind]
    return ((n + bias) << bits).convert("bitcast", kind)


def _reduced_exponent(x: Lanes) -> tuple[Lanes, Lanes]:
    """`n`, a whole number as float, and `r` with `x = n ln 2 + r`."""
    high, low = _LN2[x.kind]
    n = (x * _LOG2_E).function("rint")
    return n, n.fma(-low, n.fma(-high, x))


def exp(x: Lanes, halvings: int = 0, low: Lanes | None = None) -> Lanes:
    """The exponential function: e^x = 2^n (1 + r + r^2 q(r)).

    Args:
        x: The exponent.
        halvings: How often the result is halved.
        low: What is added to the exponent, less than its last place.
    """
    kind = x.kind
    least, most = _EXP_RANGE[kind]
    inside = x.compare("olt", least).where(least, x)
    inside = inside.compare("ogt", most + halvings).where(most + halvings, inside)
    n, r = _reduced_exponent(inside)
    return _raised(n - halvings if halvings else n, r if low is None else r + low, x)


def exp2(x: Lanes) -> Lanes:
    """2^x = 2^n e^(r ln 2) with the nearest whole number n."""
    kind = x.kind
    low, high = _EXP2_RANGE[kind]
    inside = x.compare("olt", low).where(low, x)
    inside = inside.compare("ogt", high).where(high, inside)
    n = inside.function("rint")
    return _raised(n, (inside - n) * math.log(2), x)


def exp2_of_two(x: Lanes, low: Lanes) -> Lanes:
    """2^(x + low), for a float64 and what is below its last place."""
    least, most = _EXP2_RANGE["double"]
    inside = x.compare("olt", least).where(least, x)
    inside = inside.compare("ogt", most).where(most, inside)
    n = inside.function("rint")
    far = inside - n
    r = far * _LN2_PAIR[0]
    rest = far.fma(_LN2_PAIR[0], -r) + far.fma(_LN2_PAIR[1], low * _LN2_PAIR[0])
    first, bend = r + 1.0, (r * r) * polynomial(r, _EXP["double"])
    rest = ((1.0 - first) + r) + rest.fma(first + bend, bend)  # e^(r + rest) = e^r (1 + rest)
    return _scaled(first + rest, n, x)


def _raised(n: Lanes, r: Lanes, x: Lanes) -> Lanes:
    """2^n e^r; not a number where x is none."""
    return _scaled(polynomial(r, _E_TO[x.kind]), n, x)


def _scaled(value: Lanes, n: Lanes, x: Lanes) -> Lanes:
    """A value times 2^n; not a number where x is none, of which the value was made."""
    kind = x.kind
    if scaling.is_instruction(value):
        return scaling.scaled(value, n)
    n = x.compare("ord", x).where(n, 0.0).convert("fptosi", _BITS[kind][0])
    half = n >> 1  # in two steps, since the result may be subnormal
    return value * _power_of_two(half, kind) * _power_of_two(n - half, kind)


def exp_of_normal(x: Lanes, precision: str) -> Lanes:
    """e^x, as exact as numbers of a kind, where neither x nor the result is out of its range."""
    n, r = _reduced_exponent(x)
    value = polynomial(r, _E_TO[precision])
    if scaling.is_instruction(value):
        return scaling.scaled(value, n)
    return value * _power_of_two(n.convert("fptosi", _BITS[x.kind][0]), x.kind)


def expm1(x: Lanes) -> Lanes:
    """e^x - 1 = 2^n (m + (1 - 2^-n)) where m = e^r - 1 without cancellation."""
    kind = x.kind
    low, high = -20.0 if kind == "float" else -40.0, _EXP_RANGE[kind][1]
    inside = x.compare("olt", low).where(low, x)
    inside = inside.compare("ogt", high).where(high, inside)
    n, r = _reduced_exponent(inside)
    less_one = (r * r).fma(polynomial(r, _EXP[kind]), r)
    whole = _BITS[kind][0]
    n = x.compare("ord", x).where(n, 0.0).convert("fptosi", whole)
    few = n.compare("slt", 60).where(n, 60)  # 1 - 2^-60 is 1
    half = n >> 1  # in two steps, since 2^n may be too large
    scaled = (less_one + (1.0 - _power_of_two(-few, kind))) * _power_of_two(half, kind)
    result = scaled * _power_of_two(n - half, kind)
    return x.compare("uno", x).where(x, x.block.call("copysign", kind, result, x))


def log1p(x: Lanes) -> Lanes:
    """log(1 + x) = log(u) + c / u, where u is 1 + x rounded and c what the rounding took away."""
    u = x + 1.0
    rest = (x - (u - 1.0)) / u
    is_end = u.compare("oeq", 0.0) | x.compare("oeq", math.inf)
    value = log(u) + is_end.where(0.0, rest)
    return x.block.call("copysign", x.kind, value, x)


def log(x: Lanes) -> Lanes:
    """The natural logarithm: x = 2^e (1 + f) with 1 + f near 1."""
    f, exponent = mantissa(x)
    return _with_ends(x, _log_of_parts(f, exponent))


def log2(x: Lanes) -> Lanes:
    """The logarithm to base 2: e + log2(1 + f)."""
    f, exponent = mantissa(x)
    part = _log_of_parts(f, x.block.constant(x.kind, 0.0))
    low = part * _LOG2_E_LOW[x.kind]
    return _with_ends(x, part.fma(_LOG2_E, low) + exponent)


def log10(x: Lanes) -> Lanes:
    """The logarithm to base 10: e log10(2) + log10(1 + f), exact for powers of ten."""
    wide = x if x.kind == "double" else x.convert("fpext", "double")
    f, exponent = mantissa(wide)
    part = _log_of_parts(f, wide.block.constant("double", 0.0))
    small = part.fma(_LOG10_E[0], part.fma(_LOG10_E[1], exponent * _LOG10_2[1]))
    result = _with_ends(wide, exponent.fma(_LOG10_2[0], small))
    return result if x.kind == "double" else result.convert("fptrunc", "float")


def mantissa(x: Lanes) -> tuple[Lanes, Lanes]:
    """`f` and `e` with x = 2^e (1 + f), and 1 + f between the roots of 1/2 and of 2."""
    kind = x.kind
    whole, bits, bias = _BITS[kind]
    smallest = math.ldexp(1.0, 1 - bias)
    is_small = x.compare("olt", smallest)
    scaled = is_small.where(x * math.ldexp(1.0, bits + 1), x)
    raw = scaled.convert("bitcast", whole)
    root = 0x3F3504F3 if kind == "float" else 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
    moved = raw - root
    exponent = (moved >> bits).convert("sitofp", kind)
    exponent = exponent - is_small.where(x.block.constant(kind, bits + 1), 0.0)
    f = ((moved & ((1 << bits) - 1)) + root).convert("bitcast", kind) - 1.0
    return f, exponent


def _with_ends(x: Lanes, result: Lanes) -> Lanes:
    """A logarithm of x, also where x is infinite, zero, negative or no number."""
    infinity = math.inf
    result = x.compare("oeq", infinity).where(infinity, result)
    result = x.compare("oeq", 0.0).where(-infinity, result)
    result = x.compare("olt", 0.0).where(math.nan, result)
    return x.compare("uno", x).where(x, result)


def _log_of_parts(f: Lanes, exponent: Lanes) -> Lanes:
    """log(2^e (1 + f))."""
    return (_log_float if f.kind == "float" else _log_double)(f, exponent)


def _log_float(f: Lanes, exponent: Lanes) -> Lanes:
    """log(1 + f) = f - f^2 / 2 + f^3 p(f)."""
    high, low = _LN2["float"]
    square = f * f
    small = exponent.fma(low, square * f * polynomial(f, _LOG_FLOAT))
    return exponent.fma(high, square.fma(-0.5, small) + f)


def _log_double(f: Lanes, exponent: Lanes) -> Lanes:
    """log(1 + f) = 2 atanh(s) with s = f / (2 + f), arranged so that `f` stays exact."""
    high, low = _LN2["double"]
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    rest = s * (z.fma(polynomial(z, _LOG_DOUBLE), half_square))
    return exponent.fma(high, f - (half_square - (exponent.fma(low, rest))))


def logaddexp(x: Lanes, y: Lanes) -> Lanes:
    """log(e^x + e^y): the larger one, and log(1 + e^-d) where d is how far they are apart."""
    high = x.compare("olt", y).where(y, x)
    far = (x - y).function("fabs")
    far = x.compare("oeq", y).where(0.0, far)  # also of infinities
    result = high + log1p(exp(-far))
    return x.compare("uno", y).where(x + y, result)


def tanh(x: Lanes) -> Lanes:
    """The hyperbolic tangent, m / (m + 2) where m = e^(2|x|) - 1 without cancellation."""
    kind = x.kind
    size = x.function("fabs")
    limit = 10.0 if kind == "float" else 20.0
    twice = size.compare("olt", limit).where(size, limit) * 2.0
    n, r = _reduced_exponent(twice)
    scale = _power_of_two(n.convert("fptosi", _BITS[kind][0]), kind)
    less_one = (r * r).fma(polynomial(r, _EXP[kind]), r)
    m = less_one.fma(scale, scale - 1.0)
    result = x.block.call("copysign", kind, m / (m + 2.0), x)
    return x.compare("uno", x).where(x, result)


def by_library(name: str, operands: Sequence[Lanes]) -> Lanes:
    """The C library's function of float64, lane by lane."""
    block, kind = operands[0].block, operands[0].kind
    function, result = block.function, "poison"
    wide = [a if a.kind == "double" else a.convert("fpext", "double") for a in operands]
    function.declare(f"double @{name}({', '.join(['double'] * len(wide))}) nounwind")
    for lane in range(block.width):
        args = [
            function.give(f"extractelement {block.vector('double')} {a.name}, i32 {lane}")
            for a in wide
        ]
        one = function.give(f"call double @{name}({', '.join('double ' + a for a in args)})")
        if kind == "float":
            one = function.give(f"fptrunc double {one} to float")
        result = function.give(
            f"insertelement {block.vector(kind)} {result}, {kind} {one}, i32 {lane}"
        )
    return Lanes(block, kind, result)
