"""Sorting the last axis with machine code."""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.tasks import ranking, sorting
from lamina.codegen.kernels.tasks.sorting import DIGITS, Keys, SortWriter
from lamina.codegen.llvm.machine import is_available, lane_count
from lamina.codegen.llvm.threads import get_num_threads, pool
from lamina.codegen.stores import address_of

SMALLEST: Final = 1 << 15
"""Fewer numbers than this NumPy sorts in about a millisecond, or less."""

LONG: Final = 1 << 17
"""A line of so many numbers is worth cutting in parts for several threads."""

PARTS: Final = 2
"""In how many parts for each thread: who has more of a core to itself takes more of them."""

GRAIN: Final = 16384
"""How many numbers in lines a thread takes at a time, about."""

_LIMIT: Final = 1 << 31  # of places, which are 32 bits wide on the way


def can_sort(array: Any) -> bool:
    """Whether an array is one that `sort_last` takes, and large enough to be worth it."""
    return bool(
        array.__class__ is np.ndarray
        and array.size >= SMALLEST
        and array.shape[-1] < _LIMIT
        and (array.dtype.kind in "biu" or array.dtype.name in ("float32", "float64"))
        and array.dtype.isnative
        and is_available()
    )


def sort_last(array: Any, descending: bool) -> tuple[Any, Any]:
    """The elements of each line in order, and the places (int64) that they had.

    Equal elements keep their order. NaN is the largest number.

    Args:
        array: An array for which `can_sort` holds.
        descending: Whether the largest come first.
    """
    array = np.ascontiguousarray(array)
    values, places = np.empty_like(array), np.empty(array.shape, np.int64)
    keys = Keys(array.dtype.itemsize * 8, array.dtype.kind == "f")
    length, flip = array.shape[-1], _flip(array.dtype, descending)
    lines, library = array.size // length, _library(keys)
    if length >= LONG and lines < get_num_threads():
        rows = [each.reshape(lines, length) for each in (array, values, places)]
        for line in zip(*rows, strict=True):
            _sort_parts(library, keys, line, flip, PARTS * get_num_threads())
        return values, places
    is_short = length <= ranking.LONGEST
    room = ranking.room(keys, lane_count()) if is_short else sorting.room(keys, length)
    work = np.empty((pool().size, room // 8), np.int64)
    ends = map(address_of, (array, values, places))
    table = [*ends, flip, length, address_of(work), room]
    library.run("ranks" if is_short else "rows", table, lines, GRAIN // length)
    return values, places


@functools.cache
def _library(keys: Keys) -> Library:
    ranks = ranking.write_ranking(keys, lane_count()).function
    return Library([*SortWriter(keys).functions(), ranks])


def _flip(kind: Any, descending: bool) -> int:
    """The bits that are turned: all for the reverse order, and the sign of whole numbers."""
    if kind.kind == "f":
        return -1 if descending else 0
    bits = kind.itemsize * 8
    sign = 1 << (bits - 1) if kind.kind == "i" else 0
    flip = sign ^ ((1 << bits) - 1 if descending else 0)
    return flip - (1 << 64) if flip >= 1 << 63 else flip


def _sort_parts(
    library: Library, keys: Keys, line: tuple[Any, Any, Any], flip: int, parts: int
) -> None:
    """Sort one line in parts: each digit is counted in all of them, then each part is moved."""
    source, values, places = (address_of(each) for each in line)
    length = line[0].size
    counts = np.empty((parts, keys.digits, DIGITS), np.int32)
    pairs = np.empty((2, length * keys.pair // 8), np.int64)
    work = [address_of(each) for each in pairs]

    def run(task: str, origin: int, target: int, counts: Any, digit: int = 0) -> None:
        table = [origin, target, places, flip, length, 0, 0, -(-length // parts)]
        library.run(task, [*table, address_of(counts), 8 * digit], parts, 1)

    run("count_all", source, 0, counts)
    totals = np.add.reduce(counts, axis=0)
    wanted = [k for k in range(keys.digits) if totals[k].max() != length] or [0]
    for turn, digit in enumerate(wanted):
        is_first, is_last = turn == 0, turn == len(wanted) - 1
        origin = source if is_first else work[turn % 2]
        found = np.ascontiguousarray(counts[:, digit])
        if not is_first:
            run("count", origin, 0, found, digit)
        # A digit's numbers follow on those of smaller ones, and on those of earlier parts.
        flat = found.T.reshape(-1)
        starts = (np.cumsum(flat) - flat).astype(np.int32).reshape(DIGITS, parts)
        target = values if is_last else work[(turn + 1) % 2]
        run(f"part{is_first:d}{is_last:d}", origin, target, np.ascontiguousarray(starts.T), digit)
