"""Circular functions and their inverses on lanes, in float32 and float64.

Multiples of pi / 2 are taken away in three parts (Cody and Waite, Software Manual for the
Elementary Functions, 1980), in float64 for both kinds. Huge arguments are left to the C library:
the only branch. The inverses take the complement of an angle beyond the middle of their interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from lamina.codegen.llvm.ir import Lanes
from lamina.codegen.llvm.vector_math import by_library, polynomial, tabled
from lamina.codegen.llvm.vector_tables import ASIN, ATAN, COS, SIN

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# pi / 2 as a number of each kind, and the rest.
_RIGHT_ANGLE = {
    "float": (1.5707963705062866, -4.3711390001862426e-08),
    "double": (1.5707963267948966, 6.123233995736766e-17),
}

LIMIT: Final = {"float": 2.0**40, "double": 2.0**20}
"""Beyond these, reducing by multiples of pi / 2 in float64 would lose digits."""


# --- sine, cosine and tangent --------------------------------------------------------------------


def _parts(x: Lanes, kind: str) -> tuple[Lanes, Lanes, Lanes]:
    """Sine and cosine of what is left of x in float64, and how many right angles were taken away.

    They are as exact as numbers of `kind`.
    """
    n = (x * (2 / math.pi)).function("rint")
    first, second, third = _HALF_PI
    near = n.fma(-first, x)  # exact
    r = n.fma(-second, near)
    low = n.fma(-third, n.fma(-second, near - r))  # what rounding took away
    z = r * r
    half = z.fma(-0.5, 1.0)
    sine, cosine = (z * r) * polynomial(z, SIN[kind][1]), (z * z) * polynomial(z, COS[kind][1])
    if kind == "double":
        sine = sine + low
        cosine = cosine + (z.fma(-0.5, 1.0 - half) - r * low)
    else:
        r = r + low
    return r + sine, half + cosine, n.convert("fptosi", "i64")


def _turned(shift: int) -> Callable[[Lanes, str], Lanes]:
    """sin for shift 0, cos for shift 1."""

    def function(x: Lanes, kind: str) -> Lanes:
        sine, cosine, right_angles = _parts(x, kind)
        quadrant = right_angles + shift
        is_odd = (quadrant & 1).compare("ne", 0)
        is_negative = (quadrant & 2).compare("ne", 0)
        value = is_odd.where(cosine, sine)
        return is_negative.where(-value, value)

    return function


def _tangent(x: Lanes, kind: str) -> Lanes:
    sine, cosine, right_angles = _parts(x, kind)
    is_odd = (right_angles & 1).compare("ne", 0)
    return is_odd.where(-cosine, sine) / is_odd.where(sine, cosine)


def _periodic(name: str, inside: Callable[[Lanes, str], Lanes]) -> Callable[[Lanes], Lanes]:
    def function(x: Lanes) -> Lanes:
        fits = x.function("fabs").compare("ult", LIMIT[x.kind])  # also what is no number
        wide = x if x.kind == "double" else x.convert("fpext", "double")
        result = inside((fits & x.compare("ord", x)).where(wide, 0.0), x.kind)
        if x.kind == "float":
            result = result.convert("fptrunc", "float")
        if name != "cos":  # the sign of zero
            result = x.compare("oeq", 0.0).where(x, result)
        return _finished(name, x, fits, x.compare("uno", x).where(x, result))

    return function


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


sin = _periodic("sin", _turned(0))
cos = _periodic("cos", _turned(1))
tan = _periodic("tan", _tangent)


# --- inverses ------------------------------------------------------------------------------------


def _half_angle(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Of the size of x: whether it is above 1/2, and `s` and `rest` with asin(s) = s + rest.

    There the angle is pi / 2 - 2 asin(s) with s = sqrt((1 - x) / 2), whose rounding is in `rest`.
    """
    size = x.function("fabs")
    is_large = size.compare("ogt", 0.5)
    z = is_large.where((1.0 - size) * 0.5, size * size)
    root = z.function("sqrt")
    s = is_large.where(root, size)
    rounding = (-s).fma(s, z) / (s + s)
    rest = (s * z) * tabled(z, ASIN)
    has_root = is_large & s.compare("ogt", 0.0)
    return is_large, s, rest + has_root.where(rounding, 0.0)


def asin(x: Lanes) -> Lanes:
    """The angle with a sine: by a polynomial up to 1/2, and by its complement's half beyond."""
    high, low = _RIGHT_ANGLE[x.kind]
    is_large, s, rest = _half_angle(x)
    complement = (high - (s + s)) - (rest.fma(2.0, -low))
    result = is_large.where(complement, s + rest)
    return x.block.call("copysign", x.kind, result, x)


def acos(x: Lanes) -> Lanes:
    """The angle with a cosine, the complement of the one with that sine."""
    high, low = _RIGHT_ANGLE[x.kind]
    is_large, s, rest = _half_angle(x)
    is_negative = x.compare("olt", 0.0)
    twice = (s + s) + (rest + rest)
    obtuse = (2 * high - (s + s)) - (rest.fma(2.0, -2 * low))
    side = is_negative.where(-s, s)
    middle = high - (side + (is_negative.where(-rest, rest) - low))
    return is_large.where(is_negative.where(obtuse, twice), middle)


def _arc(tangent: Lanes) -> Lanes:
    """The angle whose tangent is between 0 and 1."""
    z = tangent * tangent
    return (tangent * z).fma(tabled(z, ATAN), tangent)


def atan(x: Lanes) -> Lanes:
    """The angle with a tangent; beyond 1 the complement of the one of 1 / x."""
    high, low = _RIGHT_ANGLE[x.kind]
    size = x.function("fabs")
    is_steep = size.compare("ogt", 1.0)
    angle = _arc(is_steep.where(1.0 / size, size))
    result = is_steep.where(high - (angle - low), angle)
    return x.block.call("copysign", x.kind, result, x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of a point: of the smaller coordinate by the larger one, then which octant."""
    kind = x.kind
    high, low = _RIGHT_ANGLE[kind]
    across, up = x.function("fabs"), y.function("fabs")
    is_steep = up.compare("ogt", across)
    quotient = is_steep.where(across, up) / is_steep.where(up, across)
    quotient = up.compare("oeq", across).where(1.0, quotient)  # also of infinities
    quotient = up.compare("oeq", 0.0).where(0.0, quotient)
    angle = _arc(quotient)
    whole = "i32" if kind == "float" else "i64"
    is_left = x.convert("bitcast", whole).compare("slt", 0)  # also -0
    # 0 + angle, pi / 2 - angle, pi / 2 + angle or pi - angle.
    angle = (is_steep ^ is_left).where(-angle, angle)
    turns = is_steep.where(1.0, is_left.where(x.block.constant(kind, 2.0), 0.0))
    result = turns.fma(high, turns.fma(low, angle))
    result = x.block.call("copysign", kind, result, y)
    return x.compare("uno", y).where(x + y, result)
