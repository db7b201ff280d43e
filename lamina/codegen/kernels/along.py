"""Elements that an index names along one axis, with machine code: copied, and added."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.rows import ADDED
from lamina.codegen.kernels.tasks import along
from lamina.codegen.llvm.ir import KIND_OF
from lamina.codegen.llvm.machine import is_available
from lamina.codegen.stores import address_of

SMALLEST: Final = 1 << 15
"""Fewer numbers than this NumPy goes through in some ten microseconds."""

GRAIN: Final = 1 << 14
"""How many numbers a thread takes at a time, about."""

BESIDE: Final = 256
"""How many that lie side by side are cut off for a thread, at least."""


def can_copy(table: Any, index: Any, axis: int) -> bool:
    """Whether `copy_along` takes these arrays, and they are large enough to be worth it."""
    return bool(
        table.__class__ is np.ndarray
        and table.flags.c_contiguous
        and table.dtype.kind in "biuf"
        and _fits(table.shape, index, axis)
    )


def can_add(listed: Any, index: Any, axis: int, shape: tuple[int, ...]) -> bool:
    """Whether `add_along` takes these arrays, and they are large enough to be worth it."""
    return bool(
        listed.__class__ is np.ndarray
        and listed.shape == index.shape
        and listed.dtype.char in ADDED
        and listed.dtype.isnative
        and _fits(shape, index, axis)
    )


def _fits(shape: tuple[int, ...], index: Any, axis: int) -> bool:
    """Whether an index has a number for each place beside the axis."""
    found = index.shape
    return bool(
        index.__class__ is np.ndarray
        and index.size >= SMALLEST
        and index.dtype.char in "ilq"
        and index.dtype.isnative
        and found[:axis] == shape[:axis]
        and found[axis + 1 :] == shape[axis + 1 :]
        and is_available()
    )


def copy_along(table: Any, index: Any, axis: int) -> Any:
    """As `np.take_along_axis`, where `can_copy` holds and all numbers are those of rows."""
    index = np.ascontiguousarray(index)
    made = np.empty(index.shape, table.dtype)
    beside = math.prod(table.shape[axis + 1 :])
    count = index.shape[axis]
    size = max(min(GRAIN // beside, count), 1)
    pieces = index.size // (count * beside) * -(-count // size)
    _run(_copies, "copy_along", (table, index, made), axis, size, pieces)
    return made


def add_along(table: Any, index: Any, axis: int, listed: Any) -> None:
    """Add into a table, a row-major array, where `can_add` holds and all numbers are of rows."""
    index, listed = np.ascontiguousarray(index), np.ascontiguousarray(listed)
    beside = math.prod(table.shape[axis + 1 :])
    count = index.shape[axis]
    size = min(max(GRAIN // count, BESIDE), beside)
    pieces = index.size // (count * beside) * -(-beside // size)
    _run(_additions, "add_along", (table, index, listed), axis, size, pieces)


def _run(
    library: Any, task: str, arrays: tuple[Any, Any, Any], axis: int, size: int, pieces: int
) -> None:
    table, index, _ = arrays
    shape = table.shape
    beside = math.prod(shape[axis + 1 :])
    entries = [*map(address_of, arrays), index.shape[axis], shape[axis], beside, size]
    grain = GRAIN * pieces // index.size
    library(index.dtype.char, table.dtype.char).run(task, entries, pieces, grain)


@functools.cache
def _copies(index: str, kind: str) -> Library:
    moved = f"i{8 * np.dtype(kind).itemsize}"
    return Library([along.write_copy(KIND_OF[index], moved)])


@functools.cache
def _additions(index: str, kind: str) -> Library:
    return Library([along.write_add(KIND_OF[index], KIND_OF[kind])])
