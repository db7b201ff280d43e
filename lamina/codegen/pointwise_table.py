"""Which NumPy functions are pointwise operations that loops can be made of, and on which dtypes.

Each operation has a name; the NumPy function of the table is also what computes it where there is
no machine code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lamina.codegen.vectorized import BY_STEPS

NUMBERS: Final = frozenset("bhilqBHILQfd")
FLOATS: Final = frozenset("fd")
WHOLE: Final = frozenset("bhilqBHILQ?")
ANY: Final = NUMBERS | {"?"}

# The dtypes that loops work on: everything else stays a call of NumPy.
LOOP_CHARS: Final = ANY

UFUNCS: Final[dict[np.ufunc, tuple[str, frozenset[str]]]] = {
    np.add: ("add", ANY),
    np.subtract: ("subtract", NUMBERS),
    np.multiply: ("multiply", ANY),
    np.divide: ("divide", FLOATS),
    np.negative: ("negative", NUMBERS),
    np.positive: ("copy", ANY),
    np.conjugate: ("copy", ANY),
    np.absolute: ("absolute", ANY),
    np.fabs: ("absolute", FLOATS),
    np.maximum: ("maximum", ANY),
    np.minimum: ("minimum", ANY),
    np.square: ("square", NUMBERS),
    np.sqrt: ("sqrt", FLOATS),
    np.reciprocal: ("reciprocal", FLOATS),
    np.exp: ("exp", FLOATS),
    np.exp2: ("exp2", FLOATS),
    np.expm1: ("expm1", FLOATS),
    np.log: ("log", FLOATS),
    np.log2: ("log2", FLOATS),
    np.log10: ("log10", FLOATS),
    np.log1p: ("log1p", FLOATS),
    np.logaddexp: ("logaddexp", FLOATS),
    np.tanh: ("tanh", FLOATS),
    np.sin: ("sin", FLOATS),
    np.cos: ("cos", FLOATS),
    np.tan: ("tan", FLOATS),
    np.arcsin: ("asin", FLOATS),
    np.arccos: ("acos", FLOATS),
    np.arctan: ("atan", FLOATS),
    np.arctan2: ("atan2", FLOATS),
    np.sinh: ("sinh", FLOATS),
    np.cosh: ("cosh", FLOATS),
    np.arcsinh: ("asinh", FLOATS),
    np.arccosh: ("acosh", FLOATS),
    np.arctanh: ("atanh", FLOATS),
    np.power: ("power", FLOATS),
    np.floor: ("floor", FLOATS),
    np.ceil: ("ceil", FLOATS),
    np.trunc: ("trunc", FLOATS),
    np.rint: ("rint", FLOATS),
    np.sign: ("sign", FLOATS),
    np.copysign: ("copysign", FLOATS),
    np.isnan: ("isnan", FLOATS),
    np.isinf: ("isinf", FLOATS),
    np.isfinite: ("isfinite", FLOATS),
    np.equal: ("equal", ANY),
    np.not_equal: ("not_equal", ANY),
    np.less: ("less", ANY),
    np.less_equal: ("less_equal", ANY),
    np.greater: ("greater", ANY),
    np.greater_equal: ("greater_equal", ANY),
    np.logical_and: ("logical_and", frozenset("?")),
    np.logical_or: ("logical_or", frozenset("?")),
    np.logical_xor: ("logical_xor", frozenset("?")),
    np.logical_not: ("logical_not", frozenset("?")),
    np.bitwise_and: ("bitwise_and", WHOLE),
    np.bitwise_or: ("bitwise_or", WHOLE),
    np.bitwise_xor: ("bitwise_xor", WHOLE),
    np.invert: ("invert", WHOLE),
}
"""Each ufunc's operation, and the dtypes (NumPy's characters) that its loop may compute in."""

LOGICAL: Final = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
"""Operations that take any number as a truth value."""

COMMUTATIVE: Final = frozenset(
    {"add", "multiply", "equal", "not_equal", "bitwise_and", "bitwise_or", "bitwise_xor"}
)

COSTLY: Final = frozenset(
    {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "tanh", "sin", "cos"}
    | {"tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "erf"}
    | {"erfc", "erfinv", "power", "divide", "sqrt"}
)
"""Operations of a dozen steps or more."""

REDUCTIONS: Final[dict[Any, str]] = {
    np.add.reduce: "sum",
    np.sum: "sum",
    np.maximum.reduce: "max",
    np.max: "max",
    np.minimum.reduce: "min",
    np.min: "min",
}
"""Functions that take axes away."""


def is_looped(dtype: np.dtype[Any]) -> bool:
    """Whether loops can be made on elements of a dtype."""
    return dtype.char in LOOP_CHARS and dtype.isnative


def _write(out: Any, x: Any) -> None:
    np.copyto(out, x, casting="unsafe")


def _write_own(function: Callable[[Any], Any], x: Any, out: Any) -> None:
    np.copyto(out, function(x))


def _where(condition: Any, x: Any, y: Any, out: Any) -> None:
    np.copyto(out, y)
    np.copyto(out, x, where=condition)


_BY_UFUNCS: Final[dict[str, Callable[..., Any]]] = {
    **{name: function for function, (name, _) in reversed(UFUNCS.items())},
    "copy": lambda x, out: _write(out, x),
    "cast": lambda x, out: _write(out, x),
    "where": _where,
}


def computing(name: str) -> Callable[..., Any]:
    """What computes an operation with NumPy, writing into `out`."""
    return _BY_UFUNCS.get(name) or functools.partial(_write_own, BY_STEPS[name])
