"""Running sums and products with machine code."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.llvm.machine import is_available, lane_count
from lamina.codegen.llvm.scans import START_OF, VECTORS, Scan
from lamina.codegen.stores import address_of

SMALLEST: Final = 1 << 15
"""Fewer numbers than this take NumPy about a tenth of a millisecond."""

GRAIN: Final = 1 << 15
"""How many numbers a thread takes at a time, about."""


def can_scan(array: Any, wide: Any) -> bool:
    """Whether `scan` takes an array, and it is large enough to be worth it."""
    return bool(
        array.__class__ is np.ndarray
        and array.size >= SMALLEST
        and array.dtype.kind in "biuf"
        and array.dtype.isnative
        and wide.name in ("float64", "int64")
        and array.dtype.name != "float16"
        and is_available()
    )


def scan(operation: str, array: Any, axis: int, wide: Any, result: Any, from_end: bool) -> Any:
    """Running sums (`add`) or products (`multiply`) along an axis.

    Args:
        operation: Which.
        array: An array for which `can_scan` holds.
        axis: The axis, counted from the front.
        wide: The dtype in which is added up.
        result: The dtype of the result.
        from_end: Whether each line is gone through from its end.
    """
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    made = np.empty(array.shape, result)
    library = _library(Scan(operation, array.dtype, np.dtype(wide), made.dtype, from_end))
    length, beside = array.shape[axis], math.prod(array.shape[axis + 1 :])
    outer = array.size // (length * beside)
    start = np.array(START_OF[operation], wide).view(np.int64)
    table = [address_of(array), address_of(made), length, beside, int(start)]
    if beside == 1:
        library.run("lines", table, outer, GRAIN // length)
    else:
        together = VECTORS * lane_count() * 4 // np.dtype(wide).itemsize
        pieces = outer * -(-beside // together)
        library.run("beside", table, pieces, GRAIN // (length * min(beside, together)))
    return made


@functools.cache
def _library(wanted: Scan) -> Library:
    return Library(wanted.functions(lane_count()))
