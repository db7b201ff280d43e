"""Rows of a table by their numbers, with machine code: copied out of it, and added into it."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.tasks import rows
from lamina.codegen.llvm.ir import KIND_OF
from lamina.codegen.llvm.machine import is_available, lane_count
from lamina.codegen.stores import address_of

SMALLEST: Final = 1 << 15
"""Fewer elements than this NumPy adds in a tenth of a millisecond."""

WIDE: Final = 256
"""Rows of fewer bytes NumPy copies as fast."""

GRAIN: Final = 1 << 15
"""How many elements a thread takes at a time, about."""

ADDED: Final = frozenset("fdilq")
"""The characters of the dtypes that can be added."""


def can_copy(table: Any, index: Any, axis: int) -> bool:
    """Whether `copy_rows` takes these arrays, and they are large enough to be worth it."""
    if table.__class__ is not np.ndarray or not table.flags.c_contiguous:
        return False
    width = math.prod(table.shape[axis + 1 :])
    return bool(
        width * table.itemsize >= WIDE
        and math.prod(table.shape[:axis]) * index.size * width >= SMALLEST
        and not table.dtype.hasobject
        and names_rows(index, table.shape[axis])
    )


def can_add(listed: Any, index: Any, axis: int, shape: tuple[int, ...]) -> bool:
    """Whether `add_rows` takes these arrays, and they are large enough to be worth it."""
    return bool(
        listed.__class__ is np.ndarray
        and listed.size >= SMALLEST
        and listed.dtype.char in ADDED
        and listed.dtype.isnative
        and names_rows(index, shape[axis])
    )


def names_rows(index: Any, rows: int) -> bool:
    """Whether all numbers are those of rows; machine code must not look anywhere else."""
    kind = index.dtype
    if index.__class__ is not np.ndarray or kind.char not in "ilq" or not is_available():
        return False
    # Seen as unsigned, a negative number is larger than any count of rows.
    unsigned = index.view(np.uint32 if kind.itemsize == 4 else np.uint64)
    return kind.isnative and int(unsigned.max(initial=0)) < rows


def copy_rows(table: Any, index: Any, axis: int) -> Any:
    """As `np.take`, where `can_copy` holds."""
    index = np.ascontiguousarray(index)
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    made = np.empty((*before, *index.shape, *after), table.dtype)
    width, outer = math.prod(after), math.prod(before)
    ends = [address_of(table), address_of(index), address_of(made)]
    table_of_task = [*ends, index.size, table.shape[axis], width * table.itemsize]
    library = _copies(index.dtype.char)
    library.run("copy_rows", table_of_task, outer * index.size, GRAIN // width)
    return made


def add_rows(table: Any, index: Any, axis: int, listed: Any) -> None:
    """Add rows into a table, a row-major array, where `can_add` holds.

    Args:
        table: What is added to.
        index: The numbers of its rows, along the axis.
        axis: The axis.
        listed: The rows, in the shape of the table but for the axis, where they are those listed.
    """
    index, listed = np.ascontiguousarray(index), np.ascontiguousarray(listed)
    outer, width = math.prod(table.shape[:axis]), math.prod(table.shape[axis + 1 :])
    ends = [address_of(table), address_of(index), address_of(listed)]
    sizes = [index.size, table.shape[axis], width]
    library = _additions(index.dtype.char, table.dtype.char)
    if width == 1:
        library.run("add_elements", [*ends, *sizes], outer, GRAIN // max(index.size, 1))
        return
    together = rows.VECTORS * lane_count() * 4 // table.itemsize
    pieces = outer * -(-width // together)
    grain = GRAIN // max(index.size * min(width, together), 1)
    library.run("add_rows", [*ends, *sizes], pieces, grain)


@functools.cache
def _copies(index: str) -> Library:
    return Library([rows.write_copy(KIND_OF[index])])


@functools.cache
def _additions(index: str, kind: str) -> Library:
    each, of = KIND_OF[index], KIND_OF[kind]
    functions = [rows.write_add(each, of, lane_count()), rows.write_add_elements(each, of)]
    return Library(functions)
