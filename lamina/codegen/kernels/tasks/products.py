"""The tasks of matrix products: factors are packed, then tiles are summed up in registers.

Both factors are brought into panels, in which numbers lie in the order in which the tiles read
them: 12 or 6 rows of the left factor (see `tiles`), two vectors of columns of the right one, step
by step. Threads pack the smaller factor together. Then they take panels of the larger one, which
each packs for itself, into memory that its own cache keeps. What is left over when a thread comes
late is done by the others.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final, final

from lamina.codegen.kernels.tasks.fields import fields
from lamina.codegen.kernels.tasks.packing import pack_lines, pack_turned
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    first_lanes,
    least,
)
from lamina.codegen.kernels.tasks.tiles import heights_of, summed, write_sums
from lamina.codegen.llvm import pool_code
from lamina.codegen.llvm.ir import TABLE, Block, Function, Lanes

PLACES: Final = ("left", "right", "result", "scratch")
"""The addresses that tables of products have, as their first entries."""

FIELDS: Final = (
    *PLACES, "left_row", "left_column", "right_row", "right_column", "result_row",
    "rows", "columns", "depth", "adds", "stretch",
    "shared_panel", "own_at", "own_panel", "own_step", "is_left_own", "together",
)  # fmt: skip
"""What the tasks find in their table. Steps and sizes of panels are in bytes.

A `stretch` is how many steps of the inner dimension are summed up in registers at a time. The
panels of one factor (the left one, unless `is_left_own`) are packed into `scratch` memory that is
shared, those of the other one, for one stretch at a time, by each thread into its own, which begins
at `own_at`. A piece has `together` panels of that one, and all of the shared ones.
"""

PACKED_TOGETHER: Final = 4
"""Panels that a thread packs at a time: neighbours share lines of memory."""

_TILE: Final = (
    "ptr %left, ptr %right, i64 %count, ptr %result, i64 %step, i64 %rows, i64 %columns, i64 %adds"
)


def product_functions(kind: str, width: int) -> list[Function]:
    """All functions for a kind of number."""
    height = heights_of()[0]
    return [
        _tile(kind, width, height),
        pack_lines(kind, width, height, "left"),
        pack_lines(kind, width, 2 * width, "right"),
        pack_turned(kind, width, height, "left"),
        pack_turned(kind, width, 2 * width, "right"),
        _pack(kind, width, height),
        _Multiplying(kind, width, height).write(),
        _driver(width, height),
    ]


# --- packing -------------------------------------------------------------------------------------


@final
class _Panels:
    """Writes what a task does with the panels of one factor."""

    def __init__(self, routine: Routine, kind: str, width: int, height: int, side: str) -> None:
        self._routine, self._side = routine, side
        self._numbers, self._places = fields(routine, FIELDS)
        self._item = BYTES[kind]
        self.across = height if side == "left" else 2 * width
        self.lines = self._numbers["rows" if side == "left" else "columns"]

    def pack(self, panel: Lanes, k: Lanes, target: Address) -> None:
        """Pack one panel, from a step of the inner dimension on."""
        routine, numbers, side = self._routine, self._numbers, self._side
        line, along = ("row", "column") if side == "left" else ("column", "row")
        apart, onward = numbers[f"{side}_{line}"], numbers[f"{side}_{along}"]
        start = panel * self.across
        source = self._places[side] + start * apart + k * onward
        count = least(numbers["depth"] - k, numbers["stretch"])
        for name, is_so in (("turned", "ne"), ("lines", "eq")):
            with routine.when(apart.compare(is_so, self._item)):
                routine.call(
                    f"pack_{side}_{name}", source, apart, onward, self.lines - start, count, target
                )

    def shared(self, panel: Lanes, k: Lanes) -> Address:
        """Where a panel that all threads read is, from a step on."""
        start = self._places["scratch"] + panel * self._numbers["shared_panel"]
        return start + k * (self.across * self._item)


def _pack(kind: str, width: int, height: int) -> Function:
    """The task `pack`: all panels of the shared factor."""
    routine = Routine("pack")
    numbers, _ = fields(routine, FIELDS)
    with routine.pieces() as piece:
        for side, is_shared in (("left", "eq"), ("right", "ne")):
            panels = _Panels(routine, kind, width, height, side)
            first, count = piece * PACKED_TOGETHER, _groups(panels.lines, panels.across)
            with (
                routine.when(numbers["is_left_own"].compare(is_shared, 0)),
                routine.loop(0, numbers["depth"], numbers["stretch"]) as k,
                routine.loop(first, least(first + PACKED_TOGETHER, count)) as panel,
            ):
                panels.pack(panel, k, panels.shared(panel, k))
    return routine.function


# --- multiplying ---------------------------------------------------------------------------------


def _tile(kind: str, width: int, height: int) -> Function:
    """The sums of one tile, over `count` steps of packed factors, into (or added to) the result."""
    routine = Routine("product_tile", _TILE)
    block, item = Block(routine.function, width), BYTES[kind]
    left, right = routine.address("left"), routine.address("right")
    result, step = routine.address("result"), routine.parameter("step")
    rows, columns, adds = (routine.parameter(each) for each in ("rows", "columns", "adds"))
    sums = summed(
        routine,
        [[block.constant(kind, 0)] * 2] * height,
        routine.parameter("count"),
        lambda k, i: (left + k * (height * item) + i * item).spread(kind, block),
        lambda k, v: (right + k * (2 * width * item) + v * width * item).lanes(kind, block),
    )
    is_whole = rows.compare("sge", height) & columns.compare("sge", 2 * width)
    masks = [first_lanes(block, columns - v * width) for v in range(2)]

    def inside(row: int, vector: int) -> Lanes:
        return block.splat("i1", rows.compare("sgt", row).name) & masks[vector]

    write_sums(routine, sums, (result, step), is_whole, adds, inside)
    return routine.function


@final
class _Multiplying:
    """Writes the task `multiply`; its pieces are some panels of the factor that is not shared."""

    def __init__(self, kind: str, width: int, height: int) -> None:
        self._routine = routine = Routine("multiply")
        self._numbers, self._places = fields(routine, FIELDS)
        self._item = BYTES[kind]
        self._left = _Panels(routine, kind, width, height, "left")
        self._right = _Panels(routine, kind, width, height, "right")
        worker = routine.parameter("worker")
        own = self._places["scratch"] + self._numbers["own_at"]
        self._memory = own + worker * self._numbers["own_step"]

    def write(self) -> Function:
        """The function."""
        routine, numbers, left, right = self._routine, self._numbers, self._left, self._right
        with routine.pieces() as piece:
            first = piece * numbers["together"]
            with routine.when(numbers["is_left_own"].compare("ne", 0)):
                last = least(first + numbers["together"], _groups(left.lines, left.across))
                with self._stretches() as k:
                    self._rows(k, first, last)
            with routine.when(numbers["is_left_own"].compare("eq", 0)):
                last = least(first + numbers["together"], _groups(right.lines, right.across))
                with self._stretches() as k, routine.loop(first, last) as column:
                    self._column(k, column)
        return routine.function

    def _stretches(self) -> AbstractContextManager[Lanes]:
        return self._routine.loop(0, self._numbers["depth"], self._numbers["stretch"])

    def _rows(self, k: Lanes, first: Lanes, last: Lanes) -> None:
        """Some panels of rows, packed here, and all columns."""
        routine, own_panel = self._routine, self._numbers["own_panel"]
        with routine.loop(first, last) as row:
            self._left.pack(row, k, self._memory + (row - first) * own_panel)
        columns = _groups(self._right.lines, self._right.across)
        with routine.loop(0, columns) as column, routine.loop(first, last) as row:
            left = self._memory + (row - first) * own_panel
            self._tile(k, row, column, left, self._right.shared(column, k))

    def _column(self, k: Lanes, column: Lanes) -> None:
        """One panel of columns, packed here, and all rows."""
        self._right.pack(column, k, self._memory)
        with self._routine.loop(0, _groups(self._left.lines, self._left.across)) as row:
            self._tile(k, row, column, self._left.shared(row, k), self._memory)

    def _tile(self, k: Lanes, row: Lanes, column: Lanes, left: Address, right: Address) -> None:
        numbers = self._numbers
        down, across = row * self._left.across, column * self._right.across
        result = self._places["result"] + down * numbers["result_row"] + across * self._item
        self._routine.call(
            "product_tile", left, right, least(numbers["depth"] - k, numbers["stretch"]), result,
            numbers["result_row"], numbers["rows"] - down, numbers["columns"] - across,
            numbers["adds"] + k,
        )  # fmt: skip


def _driver(width: int, height: int) -> Function:
    """The whole product: `product(table)` has threads pack, then multiply."""
    routine = Routine("product", TABLE)
    numbers, _ = fields(routine, FIELDS)
    down, beside = _groups(numbers["rows"], height), _groups(numbers["columns"], 2 * width)
    is_left_own = numbers["is_left_own"].compare("ne", 0)
    packed = _groups(is_left_own.where(beside, down), PACKED_TOGETHER)
    pieces = _groups(is_left_own.where(down, beside), numbers["together"])
    routine.function.declare(pool_code.DECLARATION)
    for task, count in (("pack", packed), ("multiply", pieces)):
        routine.function.line(
            f"call void @{pool_code.PARALLEL}(ptr @{task}, ptr %table, i64 {count.name}, i64 1)"
        )
    return routine.function


def _groups(count: Lanes, together: Lanes | int) -> Lanes:
    """How many groups of so many there are; the last one may be smaller."""
    return (count + together - 1) // together
