"""What each pointwise operation is on lanes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from lamina.codegen.llvm.ir import KIND_OF, Lanes
from lamina.codegen.llvm.vector_functions import FUNCTIONS


def _absolute(x: Lanes, is_signed: bool) -> Lanes:
    if x.is_float:
        return x.function("fabs")
    return x.compare("slt", 0).where(-x, x) if is_signed else x


def _extreme(sign: str) -> Callable[[Lanes, Lanes, bool], Lanes]:
    """The larger (`g`) or smaller (`l`) of two; not a number if one of them is none."""
    name = "maximum" if sign == "g" else "minimum"

    def operation(x: Lanes, y: Lanes, is_signed: bool) -> Lanes:
        if x.is_float:  # of zeros with both signs either will do
            return x.block.call(name, x.kind, x, y, flags="nsz ")
        if x.kind == "i1":
            return x | y if sign == "g" else x & y
        return x.compare(f"{'s' if is_signed else 'u'}{sign}t", y).where(x, y)

    return operation


def _comparison(of_floats: str, of_integers: str) -> Callable[[Lanes, Lanes, bool], Lanes]:
    def operation(x: Lanes, y: Lanes, is_signed: bool) -> Lanes:
        if x.is_float:
            return x.compare(of_floats, y)
        has_order = of_integers not in ("eq", "ne")
        prefix = ("s" if is_signed else "u") if has_order else ""
        return x.compare(prefix + of_integers, y)

    return operation


def _sign(x: Lanes, is_signed: bool) -> Lanes:
    result = x.compare("ogt", 0.0).where(x.block.constant(x.kind, 1.0), 0.0)
    result = x.compare("olt", 0.0).where(-1.0, result)
    return x.compare("uno", x).where(x, result)


def _add(x: Lanes, y: Lanes, is_signed: bool) -> Lanes:
    return x | y if x.kind == "i1" else x + y


def _multiply(x: Lanes, y: Lanes, is_signed: bool) -> Lanes:
    return x & y if x.kind == "i1" else x * y


def _llvm(name: str) -> Callable[[Lanes, bool], Lanes]:
    return lambda x, is_signed: x.function(name)


def _math(name: str) -> Callable[..., Lanes]:
    function = FUNCTIONS[name]

    def operation(*operands: Any) -> Lanes:
        return function(*operands[:-1])

    return operation


OPERATIONS: Final[dict[str, Callable[..., Lanes]]] = {
    "add": _add,
    "subtract": lambda x, y, s: x - y,
    "multiply": _multiply,
    "divide": lambda x, y, s: x / y,
    "negative": lambda x, s: -x,
    "copy": lambda x, s: x,
    "absolute": _absolute,
    "maximum": _extreme("g"),
    "minimum": _extreme("l"),
    "square": lambda x, s: x * x,
    "sqrt": _llvm("sqrt"),
    "reciprocal": lambda x, s: 1.0 / x,
    "floor": _llvm("floor"),
    "ceil": _llvm("ceil"),
    "trunc": _llvm("trunc"),
    "rint": _llvm("rint"),
    "sign": _sign,
    "copysign": lambda x, y, s: x.block.call("copysign", x.kind, x, y),
    "isnan": lambda x, s: x.compare("uno", x),
    "isinf": lambda x, s: x.function("fabs").compare("oeq", math.inf),
    "isfinite": lambda x, s: x.function("fabs").compare("one", math.inf),
    "equal": _comparison("oeq", "eq"),
    "not_equal": _comparison("une", "ne"),
    "less": _comparison("olt", "lt"),
    "less_equal": _comparison("ole", "le"),
    "greater": _comparison("ogt", "gt"),
    "greater_equal": _comparison("oge", "ge"),
    "logical_and": lambda x, y, s: x & y,
    "logical_or": lambda x, y, s: x | y,
    "logical_xor": lambda x, y, s: x ^ y,
    "logical_not": lambda x, s: x ^ True,
    "bitwise_and": lambda x, y, s: x & y,
    "bitwise_or": lambda x, y, s: x | y,
    "bitwise_xor": lambda x, y, s: x ^ y,
    "invert": lambda x, s: x ^ (True if x.kind == "i1" else -1),
    "where": lambda mask, x, y, s: mask.where(x, y),
    **{name: _math(name) for name in FUNCTIONS},
}
"""Each takes its operands, all of one kind, and whether integers have a sign."""


def cast(x: Lanes, source: Any, target: Any) -> Lanes:
    """Lanes of another dtype, as NumPy converts (except floats to integers, which stay calls)."""
    old, new = x.kind, KIND_OF[target.char]
    if target.kind == "b":
        return x if old == "i1" else x.compare("une" if x.is_float else "ne", 0)
    if old == new:
        return x
    unsigned = source.kind in "bu"
    if target.kind == "f":
        if x.is_float:
            return x.convert("fpext" if new == "double" else "fptrunc", new)
        return x.convert("uitofp" if unsigned else "sitofp", new)
    narrower = target.itemsize < source.itemsize and old != "i1"
    return x.convert("trunc" if narrower else "zext" if unsigned else "sext", new)
