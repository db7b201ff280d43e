"""The tasks of matrix products: factors are packed, then tiles are summed up in registers.

Both factors are brought into panels, in which numbers lie in the order in which the tiles read
them: 12 rows of the left factor, two vectors of columns of the right one, step by step. Then
threads take pieces of the result, a few panels of each factor. What is left over when a thread
comes late is done by the others.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final, final

from lamina.codegen.kernels.tasks.fields import fields
from lamina.codegen.kernels.tasks.packing import transposed
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Routine,
    Variable,
    first_lanes,
    least,
)
from lamina.codegen.llvm import pool_code
from lamina.codegen.llvm.ir import TABLE, Block, Function, Lanes

FIELDS: Final = (
    "left", "left_row", "left_column", "right", "right_row", "right_column",
    "result", "result_row", "rows", "columns", "depth", "adds",
    "packed_left", "left_panel", "packed_right", "right_panel", "stretch",
    "rows_together", "columns_together", "epilogue", "argument",
)  # fmt: skip
"""What the tasks find in their table. Steps and sizes of panels are in bytes.

A `stretch` is how many steps of the inner dimension are summed up in registers at a time. A piece
has `rows_together` panels of the left factor and `columns_together` of the right one. Where there
is an `epilogue`, it is called with `argument` for the rows and columns of each piece that is done.
"""

HEIGHTS: Final = {64: 12}
"""Rows of a panel, by a vector's bytes: of machines with so many registers that BLAS is slower."""

PACKED_TOGETHER: Final = 4
"""Panels that a thread packs at a time: neighbours share lines of memory."""

EPILOGUE: Final = "ptr, i64, i64, i64, i64, i64"
_TILE: Final = (
    "ptr %left, ptr %right, i64 %count, ptr %result, i64 %step, i64 %rows, i64 %columns, i64 %adds"
)
_PART: Final = "ptr %source, i64 %row, i64 %column, i64 %rows, i64 %count, ptr %target"


def product_functions(kind: str, width: int) -> list[Function]:
    """All functions for a kind of number."""
    height = HEIGHTS[width * BYTES[kind]]
    return [
        _tile(kind, width, height),
        _pack_lines(kind, width, height, "left"),
        _pack_lines(kind, width, 2 * width, "right"),
        _pack_turned(kind, width, height, "left"),
        _pack_turned(kind, width, 2 * width, "right"),
        _Packing(kind, width, height).write(),
        _Multiplying(kind, width, height).write(),
        _driver(kind, width, height),
    ]


# --- packing -------------------------------------------------------------------------------------


def _pack_lines(kind: str, width: int, across: int, name: str) -> Function:
    """A panel of lines (rows of a left factor, columns of a right one) that lie side by side.

    Line k of `rows` is at `source + k * item`, and steps on by `column` bytes. Lines that are not
    there become zeros; behind the panel, up to a vector is overwritten.
    """
    routine = Routine(f"pack_{name}_lines", _PART)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    parts = range(0, across, width)
    size = least(routine.parameter("rows"), across)
    masks = [first_lanes(block, size - first) for first in parts]
    with routine.loop(0, routine.parameter("count")) as k:
        here, there = source + k * routine.parameter("column"), target + k * (across * item)
        for first, mask in zip(parts, masks, strict=True):
            (there + first * item).store((here + first * item).load_some(kind, mask))
    return routine.function


def _pack_turned(kind: str, width: int, across: int, name: str) -> Function:
    """The same for lines that are `row` bytes apart, each without gaps: squares are transposed."""
    routine = Routine(f"pack_{name}_turned", _PART)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    row, rows, count = (routine.parameter(each) for each in ("row", "rows", "count"))

    def turned(first: Lanes, start: int, is_whole: bool) -> list[Lanes]:
        mask = first_lanes(block, count - first)
        lanes = [block.constant(kind, 0)] * width
        for i in range(min(width, across - start)):
            at = source + row * (start + i) + first * item
            inside = block.splat("i1", rows.compare("sgt", start + i).name) & mask
            lanes[i] = at.lanes(kind, block) if is_whole else at.load_some(kind, inside)
        return transposed(lanes)

    def squares(first: Lanes, is_whole: bool) -> None:
        found = [turned(first, start, is_whole) for start in range(0, across, width)]
        for k, parts in enumerate(zip(*found, strict=True)):
            home = target + (first + k) * (across * item)
            with ExitStack() as stack:
                if not is_whole:
                    stack.enter_context(routine.when((first + k).compare("slt", count)))
                for number, lanes in enumerate(parts):
                    (home + number * width * item).store(lanes)

    whole = rows.compare("sge", across).where(count // width * width, 0)
    with routine.loop(0, whole, width) as first:
        squares(first, is_whole=True)
    with routine.loop(whole, count, width) as first:
        squares(first, is_whole=False)
    return routine.function


@final
class _Packing:
    """Writes the task `pack`; its pieces are panels, those of the left factor first."""

    def __init__(self, kind: str, width: int, height: int) -> None:
        self._routine = Routine("pack")
        self._numbers, self._places = fields(self._routine, FIELDS)
        self._item, self._width, self._height = BYTES[kind], width, height

    def write(self) -> Function:
        """The function."""
        routine, numbers = self._routine, self._numbers
        left_count = _groups(numbers["rows"], self._height, PACKED_TOGETHER)
        with routine.pieces() as piece:
            with routine.when(piece.compare("slt", left_count)):
                self._some("left", "row", "column", piece * PACKED_TOGETHER, self._height)
            with routine.when(piece.compare("sge", left_count)):
                first = (piece - left_count) * PACKED_TOGETHER
                self._some("right", "column", "row", first, 2 * self._width)
        return routine.function

    def _some(self, side: str, line: str, along: str, first: Lanes, across: int) -> None:
        """Some panels of a factor, whose lines go along its inner dimension."""
        routine, numbers, places = self._routine, self._numbers, self._places
        lines = numbers["rows" if side == "left" else "columns"]
        apart, onward = numbers[f"{side}_{line}"], numbers[f"{side}_{along}"]
        last = least(first + PACKED_TOGETHER, (lines + (across - 1)) // across)
        for name, is_so in (("turned", "ne"), ("lines", "eq")):
            with (
                routine.when(apart.compare(is_so, self._item)),
                routine.loop(0, numbers["depth"], numbers["stretch"]) as k,
                routine.loop(first, last) as panel,
            ):
                start = panel * across
                routine.call(
                    f"pack_{side}_{name}", places[side] + start * apart + k * onward, apart,
                    onward, lines - start, least(numbers["depth"] - k, numbers["stretch"]),
                    places[f"packed_{side}"] + panel * numbers[f"{side}_panel"]
                    + k * (across * self._item),
                )  # fmt: skip


# --- multiplying ---------------------------------------------------------------------------------


def _tile(kind: str, width: int, height: int) -> Function:
    """The sums of one tile, over `count` steps of packed factors, into (or added to) the result."""
    routine = Routine("product_tile", _TILE)
    block, item = Block(routine.function, width), BYTES[kind]
    left, right = routine.address("left"), routine.address("right")
    result, step = routine.address("result"), routine.parameter("step")
    rows, columns, adds = (routine.parameter(each) for each in ("rows", "columns", "adds"))
    sums = [[Variable(block.constant(kind, 0)) for _ in range(2)] for _ in range(height)]
    with routine.loop(0, routine.parameter("count")) as k:
        factors, vectors = left + k * (height * item), right + k * (2 * width * item)
        pair = [(vectors + v * width * item).lanes(kind, block) for v in range(2)]
        for i, row in enumerate(sums):
            factor = (factors + i * item).spread(kind, block)
            for total, lanes in zip(row, pair, strict=True):
                total.set(factor.times_plus(lanes, total.get()))
    finished = [[total.get() for total in row] for row in sums]
    is_whole = rows.compare("sge", height) & columns.compare("sge", 2 * width)

    def each(write: str) -> None:
        masks = [first_lanes(block, columns - v * width) for v in range(2)]
        for i, row in enumerate(finished):
            for v, lanes in enumerate(row):
                at = result + step * i + v * width * item
                if write == "store":
                    at.store(lanes)
                elif write == "add":
                    at.store(at.lanes(kind, block) + lanes)
                else:
                    inside = block.splat("i1", rows.compare("sgt", i).name) & masks[v]
                    adding = block.splat("i1", adds.compare("ne", 0).name) & inside
                    at.store_some(lanes + at.load_some(kind, adding), inside)

    with routine.when(is_whole & adds.compare("eq", 0)):
        each("store")
    with routine.when(is_whole & adds.compare("ne", 0)):
        each("add")
    with routine.when(is_whole.compare("eq", 0)):
        each("some")
    return routine.function


@final
class _Multiplying:
    """Writes the task `multiply`; its pieces are blocks of the result, down its columns."""

    def __init__(self, kind: str, width: int, height: int) -> None:
        self._routine = Routine("multiply")
        self._numbers, self._places = fields(self._routine, FIELDS)
        self._item, self._across, self._height = BYTES[kind], 2 * width, height

    def write(self) -> Function:
        """The function."""
        routine, numbers = self._routine, self._numbers
        rows, columns = numbers["rows"], numbers["columns"]
        down = _groups(rows, self._height, numbers["rows_together"])
        with routine.pieces() as piece:
            first_row = piece % down * numbers["rows_together"] * self._height
            first_column = piece // down * numbers["columns_together"] * self._across
            last_row = least(first_row + numbers["rows_together"] * self._height, rows)
            last_column = least(first_column + numbers["columns_together"] * self._across, columns)
            with routine.loop(0, numbers["depth"], numbers["stretch"]) as k:
                self._block(k, first_row, last_row, first_column, last_column)
            with routine.when(numbers["epilogue"].compare("ne", 0)):
                given = (first_row, last_row, first_column, last_column)
                self._call_epilogue([*given, routine.parameter("worker")])
        return routine.function

    def _block(
        self, k: Lanes, first_row: Lanes, last_row: Lanes, first_column: Lanes, last_column: Lanes
    ) -> None:
        """What some steps from k on add to a piece."""
        routine, numbers, places = self._routine, self._numbers, self._places
        adds = numbers["adds"] + k
        count = least(numbers["depth"] - k, numbers["stretch"])
        with routine.loop(first_column, last_column, self._across) as column:
            right = (
                places["packed_right"] + column // self._across * numbers["right_panel"]
                + k * (self._across * self._item)
            )  # fmt: skip
            with routine.loop(first_row, last_row, self._height) as row:
                left = (
                    places["packed_left"] + row // self._height * numbers["left_panel"]
                    + k * (self._height * self._item)
                )  # fmt: skip
                routine.call(
                    "product_tile", left, right, count,
                    places["result"] + row * numbers["result_row"] + column * self._item,
                    numbers["result_row"], numbers["rows"] - row, numbers["columns"] - column, adds,
                )  # fmt: skip

    def _call_epilogue(self, given: list[Lanes]) -> None:
        places = self._places
        ranges = ", ".join(f"i64 {each.name}" for each in given)
        self._routine.function.line(
            f"call void {places['epilogue'].name}(ptr {places['argument'].name}, {ranges})"
        )


def _driver(kind: str, width: int, height: int) -> Function:
    """The whole product: `product(table)` has threads pack, then multiply."""
    routine = Routine("product", TABLE)
    numbers, _ = fields(routine, FIELDS)
    rows, columns = numbers["rows"], numbers["columns"]
    packed = _groups(rows, height, PACKED_TOGETHER) + _groups(columns, 2 * width, PACKED_TOGETHER)
    pieces = _groups(rows, height, numbers["rows_together"]) * _groups(
        columns, 2 * width, numbers["columns_together"]
    )
    routine.function.declare(pool_code.DECLARATION)
    for task, count in (("pack", packed), ("multiply", pieces)):
        given = f"i64 {count.name}, i64 1"
        routine.function.line(f"call void @{pool_code.PARALLEL}(ptr @{task}, ptr %table, {given})")
    return routine.function


def _groups(lines: Lanes, across: int, together: Lanes | int) -> Lanes:
    """How many groups of so many panels, of so many lines each, there are."""
    panels = (lines + (across - 1)) // across
    return (panels + together - 1) // together
