"""Rows of a table by their numbers: copied out of it, or added into it.

A table has the shape (outer, rows, elements). Copying is cut by result, adding by columns: then no
two threads add to the same place, and each place adds up in the order of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, first_lanes
from lamina.codegen.llvm.ir import Block, Function, Lanes

TABLE, NUMBERS, LIST, COUNT, ROWS, WIDTH = range(6)
"""The entries of a task's table: the table, the numbers, the rows listed (the result of copying,
what is added), how many are listed, the rows of the table, and the elements (or, for copying, the
bytes) of a row.
"""

VECTORS: Final = 4
"""How many vectors of columns are added at a time: that reads whole lines of memory."""


def write_copy(index: str) -> Function:
    """The task `copy_rows`: numbers, of kind `index`, name rows that are copied."""
    routine = Routine("copy_rows")
    table, listed, width = _ends(routine)
    with routine.pieces() as piece:
        outer = piece // routine.entry(COUNT)
        place = piece - outer * routine.entry(COUNT)
        source = table + _row(routine, outer, place, index) * width
        source.copy_to(listed + piece * width, width)
    return routine.function


def write_add(index: str, kind: str, lanes: int) -> Function:
    """The task `add_rows`, whose pieces are groups of columns: listed rows are added."""
    routine = Routine("add_rows")
    block = Block(routine.function, lanes * 4 // BYTES[kind])
    table, listed, width = _ends(routine)
    together = VECTORS * block.width
    groups = (width + (together - 1)) // together
    with routine.pieces() as piece:
        outer = piece // groups
        column = (piece - outer * groups) * together
        bits = [first_lanes(block, width - column - k * block.width) for k in range(VECTORS)]

        def add(source: Lanes, target: Lanes) -> None:
            for k, some in enumerate(bits):
                far = column + k * block.width
                total = table.load_some(kind, some, target + far)
                total = total + listed.load_some(kind, some, source + far)
                table.store_some(total, some, target + far)

        _each_row(routine, outer, index, width, add)
    return routine.function


def write_add_elements(index: str, kind: str) -> Function:
    """The task `add_elements`, whose pieces are tables: as `add_rows`, for rows of one element."""
    routine = Routine("add_elements")
    table, listed, width = _ends(routine)

    def add(source: Lanes, target: Lanes) -> None:
        total = table.load(kind, target) + listed.load(kind, source)
        table.store(total, target)

    with routine.pieces() as outer:
        _each_row(routine, outer, index, width, add)
    return routine.function


def _ends(routine: Routine) -> tuple[Address, Address, Lanes]:
    return routine.entry_address(TABLE), routine.entry_address(LIST), routine.entry(WIDTH)


def _row(routine: Routine, outer: Lanes, place: Lanes, index: str) -> Lanes:
    """The row of the table that the number at a place names."""
    row = routine.entry_address(NUMBERS).load(index, place)
    row = row if index == "i64" else row.convert("sext", "i64")
    return outer * routine.entry(ROWS) + row


def _each_row(
    routine: Routine, outer: Lanes, index: str, width: Lanes, add: Callable[[Lanes, Lanes], None]
) -> None:
    """Add each listed row, from where it begins to where its row in the table does."""
    count = routine.entry(COUNT)
    with routine.loop(0, count) as place:
        add((outer * count + place) * width, _row(routine, outer, place, index) * width)
