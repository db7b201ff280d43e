"""Elements that an index names along one axis: copied out of a table, or added into it.

A table has the shape (outer, rows, beside), an index (outer, count, beside): each number names a
row for its own place in the other two. Copying is cut by the index; adding by what lies side by
side, so that no two threads add to the same place.
"""

from __future__ import annotations

from lamina.codegen.kernels.tasks.routines import Routine, least
from lamina.codegen.llvm.ir import Function, Lanes

TABLE, NUMBERS, LIST, COUNT, ROWS, BESIDE, SIZE = range(7)
"""The entries of a task's table: the table, the numbers, what they name (the result of copying,
what is added), how many numbers lie along the axis, the rows, how many lie side by side, and how
many of those (or, for copying, of the numbers along the axis) are one piece.
"""


def write_copy(index: str, kind: str) -> Function:
    """The task `copy_along`: its pieces are runs of the index along the axis."""
    routine = Routine("copy_along")
    table, listed = routine.entry_address(TABLE), routine.entry_address(LIST)
    count, beside = routine.entry(COUNT), routine.entry(BESIDE)
    with routine.pieces() as piece:
        outer, begin, end = _cut(routine, piece, count)
        first = outer * routine.entry(ROWS) * beside

        def copy(at: Lanes, column: Lanes | int) -> None:
            place = first + _number(routine, at, index) * beside + column
            listed.store(table.load(kind, place), at)

        is_one = beside.compare("eq", 1)  # no loop inside for a single one
        with routine.when(is_one), routine.loop(begin, end) as row:
            copy(outer * count + row, 0)
        with routine.when(is_one ^ True), routine.loop(begin, end) as row:
            base = (outer * count + row) * beside
            with routine.loop(0, beside) as column:
                copy(base + column, column)
    return routine.function


def write_add(index: str, kind: str) -> Function:
    """The task `add_along`: its pieces are runs of what lies side by side."""
    routine = Routine("add_along")
    table, listed = routine.entry_address(TABLE), routine.entry_address(LIST)
    count, beside = routine.entry(COUNT), routine.entry(BESIDE)
    with routine.pieces() as piece:
        outer, begin, end = _cut(routine, piece, beside)
        first = outer * routine.entry(ROWS) * beside

        def add(at: Lanes, column: Lanes | int) -> None:
            place = first + _number(routine, at, index) * beside + column
            total = table.load(kind, place) + listed.load(kind, at)
            table.store(total, place)

        is_one = beside.compare("eq", 1)
        with routine.when(is_one), routine.loop(0, count) as row:
            add(outer * count + row, 0)
        with routine.when(is_one ^ True), routine.loop(0, count) as row:
            base = (outer * count + row) * beside
            with routine.loop(begin, end) as column:
                add(base + column, column)
    return routine.function


def _cut(routine: Routine, piece: Lanes, length: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """The outer position of a piece, and where it begins and ends along a length."""
    size = routine.entry(SIZE)
    pieces = (length + (size - 1)) // size
    outer = piece // pieces
    begin = (piece - outer * pieces) * size
    end = begin + size
    return outer, begin, least(end, length)


def _number(routine: Routine, place: Lanes, index: str) -> Lanes:
    number = routine.entry_address(NUMBERS).load(index, place)
    return number if index == "i64" else number.convert("sext", "i64")
