"""Elementary functions on lanes, in float32 and float64.

Each reduces its argument to a small interval, takes a polynomial there, and scales back. The
coefficients are Chebyshev interpolations, computed with 60 digits. No function branches on single
lanes, except that `sin` and `cos` of huge arguments are left to the C library, and so is `power` in
float64. `tests/codegen/test_vector_math.py` measures and bounds the errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from lamina.codegen.llvm.ir import Lanes

_LOG2_E: Final = 1.4426950408889634
_EXP = {
    "float": (0.500000001346581, 0.16666666681623232, 0.041666464925285904,
              0.0083333109254809, 0.0013933649996309251, 0.00019890990824673654),
    "double": (0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136,
               0.0013888888888883748, 0.00019841269874820627, 2.4801587325547743e-05,
               2.7557255400206422e-06, 2.75572736431103e-07, 2.5105217004720745e-08,
               2.0914686968086876e-09),
}  # fmt: skip
# ln 2 as the sum of a part with few bits, so that small multiples of it are exact, and the rest.
_LN2 = {
    "float": (0.693145751953125, 1.428606765330187e-06),
    "double": (0.6931471805598903, 5.497923018708371e-14),
}
_EXP_RANGE = {"float": (-104.0, 89.0), "double": (-746.0, 710.0)}
_LOG_FLOAT = (
    0.33333331180030046, -0.24999996957950882, 0.200007157488921, -0.16667802319501254,
    0.1424905764569748, -0.12425687331451106, 0.1168541992348674, -0.11479733846637635,
    0.06971611471451178,
)  # fmt: skip
_LOG_DOUBLE = (
    0.6666666666666666, 0.40000000000000885, 0.28571428570799784, 0.22222222392581045,
    0.18181795547521137, 0.15386244737621665, 0.13268638369266825, 0.13088034850927555,
)  # fmt: skip
_SIN = (
    -0.16666666666666666, 0.008333333333333331, -0.00019841269841265017, 2.755731921930192e-06,
    -2.5052106219521895e-08, 1.6058529572267877e-10, -7.586576588171073e-13,
)  # fmt: skip
_COS = (
    0.041666666666666664, -0.0013888888888888887, 2.4801587301584618e-05, -2.7557319221382114e-07,
    2.087675578389404e-09, -1.1470459749675607e-11, 4.745804889760674e-14,
)  # fmt: skip
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)

_BITS = {"float": ("i32", 23, 127), "double": ("i64", 52, 1023)}

SIN_LIMIT: Final = {"float": 2.0**40, "double": 2.0**20}
"""Beyond these, reducing by multiples of pi / 2 in float64 would lose digits."""


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """The value of a polynomial, lowest power first."""
    result = x.block.constant(x.kind, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result


def _power_of_two(n: Lanes, kind: str) -> Lanes:
    """2**n for integer lanes in the range of normal numbers."""
    _, bits, bias = _BITS[kind]
    return ((n + bias) << bits).convert("bitcast", kind)


def _reduced_exponent(x: Lanes) -> tuple[Lanes, Lanes]:
    """`n`, a whole number as float, and `r` with `x = n ln 2 + r`."""
    high, low = _LN2[x.kind]
    n = (x * _LOG2_E).function("rint")
    return n, n.fma(-low, n.fma(-high, x))


def exp(x: Lanes) -> Lanes:
    """The exponential function: e^x = 2^n (1 + r + r^2 q(r))."""
    kind = x.kind
    low, high = _EXP_RANGE[kind]
    inside = x.compare("olt", low).where(low, x)
    inside = inside.compare("ogt", high).where(high, inside)
    n, r = _reduced_exponent(inside)
    value = (r * r).fma(polynomial(r, _EXP[kind]), r) + 1.0
    is_number = x.compare("ord", x)
    n = is_number.where(n, 0.0).convert("fptosi", _BITS[kind][0])
    half = n >> 1  # in two steps, since the result may be subnormal
    return value * _power_of_two(half, kind) * _power_of_two(n - half, kind)


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
    result = (_log_float if kind == "float" else _log_double)(f, exponent)
    infinity = math.inf
    result = x.compare("oeq", infinity).where(infinity, result)
    result = x.compare("oeq", 0.0).where(-infinity, result)
    result = x.compare("olt", 0.0).where(math.nan, result)
    return x.compare("uno", x).where(x, result)


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


def _circular(x: Lanes, shift: int) -> Lanes:
    """sin for shift 0, cos for shift 1: of what is left of x after multiples of pi / 2."""
    n = (x * (2 / math.pi)).function("rint")
    r = x
    for part in _HALF_PI:
        r = n.fma(-part, r)
    z = r * r
    sine = (z * r).fma(polynomial(z, _SIN), r)
    cosine = (z * z).fma(polynomial(z, _COS), z.fma(-0.5, 1.0))
    quadrant = n.convert("fptosi", "i64") + shift
    is_odd = (quadrant & 1).compare("ne", 0)
    is_negative = (quadrant & 2).compare("ne", 0)
    value = is_odd.where(cosine, sine)
    return is_negative.where(-value, value)


def _circular_function(name: str, shift: int) -> Callable[[Lanes], Lanes]:
    def function(x: Lanes) -> Lanes:
        fits = x.function("fabs").compare("ult", SIN_LIMIT[x.kind])  # also what is no number
        wide = x if x.kind == "double" else x.convert("fpext", "double")
        result = _circular((fits & x.compare("ord", x)).where(wide, 0.0), shift)
        if x.kind == "float":
            result = result.convert("fptrunc", "float")
        if name == "sin":  # the sign of zero
            result = x.compare("oeq", 0.0).where(x, result)
        return _finished(name, x, fits, x.compare("uno", x).where(x, result))

    return function


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


def _finished(name: str, x: Lanes, is_done: Lanes, done: Lanes) -> Lanes:
    """`done`, or where not all lanes are, what the C library gives: a branch rarely taken."""
    block, function = x.block, x.block.function
    kind = block.vector(x.kind)
    variable, hard, join = function.slot(kind), function.fresh("hard"), function.fresh("join")
    function.line(f"store {kind} {done.name}, ptr {variable}")
    bits = f"i{block.width}"
    mask = function.give(f"bitcast {block.vector('i1')} {is_done.name} to {bits}")
    every = function.give(f"icmp eq {bits} {mask}, -1")
    function.line(f"br i1 {every}, label %{join}, label %{hard}")
    function.label(hard)
    function.line(f"store {kind} {by_library(name, [x]).name}, ptr {variable}")
    function.line(f"br label %{join}")
    function.label(join)
    return block.give(x.kind, f"load {kind}, ptr {variable}")


def power(x: Lanes, y: Lanes) -> Lanes:
    """x^y: in float32 as e^(y log x) in float64; in float64 by the C library."""
    if x.kind == "double":
        return by_library("pow", [x, y])
    size = x.function("fabs").convert("fpext", "double")
    value = exp(y.convert("fpext", "double") * log(size)).convert("fptrunc", "float")
    is_whole = y.function("floor").compare("oeq", y)
    half = y * 0.5
    is_odd = is_whole & half.function("floor").compare("une", half)
    sign_bit = x.convert("bitcast", "i32").compare("slt", 0)
    value = (sign_bit & is_odd).where(-value, value)
    is_finite = x.function("fabs").compare("one", math.inf)
    fails = x.compare("olt", 0.0) & is_finite & (is_whole ^ True)
    value = fails.where(math.nan, value)
    is_minus_one = x.compare("oeq", -1.0) & y.function("fabs").compare("oeq", math.inf)
    is_one = x.compare("oeq", 1.0) | y.compare("oeq", 0.0) | is_minus_one
    return is_one.where(1.0, value)


FUNCTIONS: Final[dict[str, Callable[..., Lanes]]] = {
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "tanh": tanh,
    "sin": _circular_function("sin", 0),
    "cos": _circular_function("cos", 1),
    "power": power,
}
"""The functions by the names of pointwise operations."""
