"""Running sums, products and extremes with machine code."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.tasks.extremes import Extremes
from lamina.codegen.kernels.tasks.scans import START_OF, VECTORS, Scan
from lamina.codegen.llvm.machine import is_available, lane_count
from lamina.codegen.stores import address_of

SMALLEST: Final = 1 << 15
"""Fewer numbers than this take NumPy about a tenth of a millisecond."""

_LIMIT: Final = 1 << 31  # of places in float32 lines, which are 32 bits wide on the way

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
    start = np.array(START_OF[operation], wide).view(np.int64)
    together = VECTORS * lane_count() * 4 // np.dtype(wide).itemsize
    _run(library, (array, made), axis, [int(start)], together)
    return made


def can_scan_extremes(array: Any, axis: int) -> bool:
    """Whether `scan_extremes` takes an array, and it is large enough to be worth it."""
    return bool(
        array.__class__ is np.ndarray
        and array.size >= SMALLEST
        and array.dtype.char in "fdilq"
        and array.dtype.isnative
        and array.shape[axis] < _LIMIT
        and is_available()
    )


def scan_extremes(array: Any, axis: int, is_maximum: bool) -> tuple[Any, Any]:
    """Running maxima or minima along an axis, and their places, where `can_scan_extremes` holds."""
    array = np.ascontiguousarray(array)
    values, places = np.empty_like(array), np.empty(array.shape, np.int64)
    library = _library(Extremes(array.dtype, is_maximum))
    _run(library, (array, values, places), axis, [], lane_count() * 4 // array.itemsize)
    return values, places


def _run(
    library: Library, arrays: tuple[Any, ...], axis: int, more: list[int], together: int
) -> None:
    """Go through lines in one piece, or through groups of those that lie side by side."""
    shape = arrays[0].shape
    length, beside = shape[axis], math.prod(shape[axis + 1 :])
    outer = arrays[0].size // (length * beside)
    table = [*map(address_of, arrays), length, beside, *more]
    if beside == 1:
        library.run("lines", table, outer, GRAIN // length)
    else:
        pieces = outer * -(-beside // together)
        library.run("beside", table, pieces, GRAIN // (length * min(beside, together)))


@functools.cache
def _library(wanted: Scan | Extremes) -> Library:
    return Library(wanted.functions(lane_count()))
