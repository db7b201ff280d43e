"""Sums of large arrays with machine code."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.tasks import totals
from lamina.codegen.llvm.ir import KIND_OF
from lamina.codegen.llvm.machine import is_available, lane_count
from lamina.codegen.stores import address_of

SMALLEST: Final = 1 << 19
"""Fewer numbers than this NumPy adds up in some ten microseconds."""

PART: Final = 1 << 16
"""How many numbers that follow on each other are one part."""

ROWS: Final = 64
"""The fewest rows of lines side by side that are one part."""

PIECES: Final = 16
"""Into how many pieces the work is cut, if there is so much."""

NARROW: Final = 64
"""Fewer lines side by side NumPy adds up as fast."""


def can_sum(array: Any, axes: tuple[int, ...]) -> bool:
    """Whether `sum_along` takes an array and axes, and it is large enough to be worth it."""
    return bool(
        array.__class__ is np.ndarray
        and array.size >= SMALLEST
        and array.flags.c_contiguous
        and array.dtype.isnative
        and can_sum_rows(array.shape, array.dtype, axes)
    )


def can_sum_rows(shape: tuple[int, ...], dtype: np.dtype[Any], axes: tuple[int, ...]) -> bool:
    """Whether `sum_along` takes arrays of a shape, with rows one after another in memory."""
    return bool(
        math.prod(shape) >= SMALLEST
        and dtype.name in ("float32", "float64")
        and axes
        and max(axes) - min(axes) == len(axes) - 1
        and not 1 < math.prod(shape[max(axes) + 1 :]) < NARROW
        and is_available()
    )


def sum_along(array: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The sum along neighbouring axes, where `can_sum` holds; added up in float64."""
    first, last = min(axes), max(axes)
    before, after = array.shape[:first], array.shape[last + 1 :]
    outer, beside = math.prod(before), math.prod(after)
    length = array.size // (outer * beside)
    strips = 1 if beside == 1 else -(-beside // totals.STRIP)
    if beside == 1:
        size = min(PART, length)
    else:
        size = min(max(ROWS, -(-length * outer * strips // PIECES)), length)
    count = -(-length // size)
    parts = np.empty((outer, count, beside))
    table = [address_of(array), address_of(parts), length, beside, size, count]
    pieces = outer * count * strips
    library = _library(array.dtype.char)
    library.run("lines" if beside == 1 else "beside", table, pieces, -(-pieces // PIECES))
    kept = (1,) * len(axes) if keepdims else ()
    total = np.add.reduce(parts, axis=1).reshape((*before, *kept, *after))
    with np.errstate(over="ignore"):
        return total.astype(array.dtype, copy=False)


@functools.cache
def _library(char: str) -> Library:
    kind, lanes = KIND_OF[char], lane_count()
    return Library([totals.write_lines(kind, lanes), totals.write_beside(kind, lanes)])
