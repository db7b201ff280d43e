"""All functions on lanes, by the names of pointwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lamina.codegen.llvm import vector_circular as circular
from lamina.codegen.llvm import vector_error as error
from lamina.codegen.llvm import vector_hyperbolic as hyperbolic
from lamina.codegen.llvm import vector_math as elementary
from lamina.codegen.llvm import vector_power as powers
from lamina.codegen.llvm.ir import Lanes

FUNCTIONS: Final[dict[str, Callable[..., Lanes]]] = {
    "exp": elementary.exp,
    "exp2": elementary.exp2,
    "expm1": elementary.expm1,
    "log": elementary.log,
    "log2": elementary.log2,
    "log10": elementary.log10,
    "log1p": elementary.log1p,
    "logaddexp": elementary.logaddexp,
    "power": powers.power,
    "tanh": elementary.tanh,
    "sin": circular.sin,
    "cos": circular.cos,
    "tan": circular.tan,
    "asin": circular.asin,
    "acos": circular.acos,
    "atan": circular.atan,
    "atan2": circular.atan2,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "asinh": hyperbolic.asinh,
    "acosh": hyperbolic.acosh,
    "atanh": hyperbolic.atanh,
    "erf": error.erf,
    "erfc": error.erfc,
    "erfinv": error.erfinv,
}
"""The functions."""
