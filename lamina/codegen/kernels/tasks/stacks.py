"""The task of stacks of products, and of single ones of middle size: factors are read as they lie.

Packing both factors and waiting for that takes as long as a small product itself. Here a tile reads
the numbers of its rows where they are, and the vectors of its columns too, where these lie side by
side and few rows want them; otherwise each thread packs a panel of columns for itself. So threads
wait for each other once, at the end.
"""

from __future__ import annotations

from typing import Final, final

from lamina.codegen.kernels.tasks.fields import fields
from lamina.codegen.kernels.tasks.packing import pack_lines, pack_turned
from lamina.codegen.kernels.tasks.products import PLACES
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    either,
    first_lanes,
    least,
)
from lamina.codegen.kernels.tasks.tiles import summed, write_sums
from lamina.codegen.llvm import pool_code
from lamina.codegen.llvm.ir import TABLE, Block, Function, Lanes
from lamina.codegen.llvm.machine import register_count

FIELDS: Final = (
    *PLACES, "left_row", "left_column", "right_row", "right_column", "result_row", "result_step",
    "rows", "columns", "depth", "adds", "stretch", "own_step", "packs", "row_piece", "column_piece",
    "row_pieces", "column_pieces", "middle", "inner", "left_outer", "left_middle", "left_inner",
    "right_outer", "right_middle", "right_inner", "pieces", "grain",
)  # fmt: skip
"""What the task finds in its table. Steps are in bytes.

The stack has three axes, of which the last two have the sizes `middle` and `inner`; results lie one
after another. A `stretch` is how many steps of the inner dimension are summed up in registers at a
time. A piece has `row_piece` rows and `column_piece` columns of one matrix. If the right factor
`packs`, each thread does so into memory of its own.
"""

_HEIGHTS: Final[dict[int, dict[int, tuple[int, ...]]]] = {
    32: {1: (16, 8, 4, 2, 1), 2: (12, 8, 4, 2, 1)},
    16: {1: (8, 4, 2, 1), 2: (6, 4, 2, 1)},
}

AHEAD: Final = 16
"""Steps after which a row of an unpacked right factor is wanted when it is asked for.

Rows that another core has just written come late else: 2 % of a training step.
"""

_TILE: Final = (
    "ptr %left, i64 %left_row, i64 %left_column, ptr %right, i64 %right_row, i64 %count, "
    "ptr %result, i64 %result_row, i64 %ahead, i64 %columns, i64 %adds"
)


def stack_functions(kind: str, width: int) -> list[Function]:
    """All functions for a kind of number."""
    tiles = [
        _tile(kind, width, height, vectors)
        for vectors, heights in heights_by_vectors().items()
        for height in heights
    ]
    across = 2 * width
    packing = [pack_lines(kind, width, across, "right"), pack_turned(kind, width, across, "right")]
    return [*tiles, *packing, _Stack(kind, width).write(), _driver()]


def heights_by_vectors() -> dict[int, tuple[int, ...]]:
    """Rows of tiles, by their vectors of columns: as many sums as there are registers for.

    All but the first are powers of two, of which any rest is the sum.
    """
    return _HEIGHTS[register_count()]


def _tile(kind: str, width: int, height: int, vectors: int) -> Function:
    """The sums of one tile, over `count` steps, into (or added to) the result.

    Columns from `columns` on are not there: nothing of them is read or written. The highest tiles,
    which come first, ask for what is `ahead` bytes further in the right factor.
    """
    routine = Routine(_name(height, vectors), _TILE)
    block, item = Block(routine.function, width), BYTES[kind]
    left, right, result = (routine.address(name) for name in ("left", "right", "result"))
    row, column = routine.parameter("left_row"), routine.parameter("left_column")
    down = routine.parameter("right_row")
    step, columns, adds = (routine.parameter(name) for name in ("result_row", "columns", "adds"))
    masks = [first_lanes(block, columns - v * width) for v in range(vectors)]
    is_first = height == heights_by_vectors()[vectors][0]

    def factor(k: Lanes, v: int) -> Lanes:
        here = right + k * down + v * width * item
        if is_first:
            (here + routine.parameter("ahead")).prefetch()
        return here.load_some(kind, masks[v])

    sums = summed(
        routine,
        [[block.constant(kind, 0)] * vectors] * height,
        routine.parameter("count"),
        lambda k, i: (left + k * column + row * i).spread(kind, block),
        factor,
    )
    is_whole = columns.compare("sge", vectors * width)
    write_sums(routine, sums, (result, step), is_whole, adds, lambda _, v: masks[v])
    return routine.function


def _name(height: int, vectors: int) -> str:
    return f"stack_tile_{height}_{vectors}"


@final
class _Stack:
    """Writes the task `multiply_stack`."""

    def __init__(self, kind: str, width: int) -> None:
        self._routine = Routine("multiply_stack")
        self._numbers, self._places = fields(self._routine, FIELDS)
        self._width, self._item = width, BYTES[kind]
        worker = self._routine.parameter("worker")
        self._own = self._places["scratch"] + worker * self._numbers["own_step"]

    def write(self) -> Function:
        """The function."""
        routine, numbers = self._routine, self._numbers
        with routine.pieces() as piece:
            matrix, place = _parted(piece, numbers["row_pieces"] * numbers["column_pieces"])
            beside, down = _parted(place, numbers["row_pieces"])
            first = down * numbers["row_piece"]
            column = beside * numbers["column_piece"]
            last = least(first + numbers["row_piece"], numbers["rows"])
            end = least(column + numbers["column_piece"], numbers["columns"])
            left, right = self._factor("left", matrix), self._factor("right", matrix)
            result = self._places["result"] + matrix * numbers["result_step"]
            with (
                routine.loop(0, numbers["depth"], numbers["stretch"]) as k,
                routine.loop(column, end, 2 * self._width) as at,
            ):
                here = left + k * numbers["left_column"]
                self._panel(here, right, result + at * self._item, (k, at), (first, last))
        return routine.function

    def _factor(self, side: str, matrix: Lanes) -> Address:
        """Where a factor of one product of the stack begins."""
        numbers = self._numbers
        rest, inner = _parted(matrix, numbers["inner"])
        outer, middle = _parted(rest, numbers["middle"])
        steps = zip(("outer", "middle", "inner"), (outer, middle, inner), strict=True)
        place = self._places[side]
        for name, index in steps:
            place = place + index * numbers[f"{side}_{name}"]
        return place

    def _panel(
        self, left: Address, right: Address, result: Address, start: tuple[Lanes, Lanes],
        rows: tuple[Lanes, Lanes],
    ) -> None:  # fmt: skip
        """The rows of a piece in two vectors of columns, from a step and a column on."""
        routine, numbers, (k, column) = self._routine, self._numbers, start
        count = least(numbers["depth"] - k, numbers["stretch"])
        row, across = numbers["right_row"], numbers["right_column"]
        source = right + k * row + column * across
        lanes = numbers["columns"] - column
        packs = numbers["packs"].compare("ne", 0)
        with routine.when(packs):
            for name, is_so in (("turned", "ne"), ("lines", "eq")):
                with routine.when(across.compare(is_so, self._item)):
                    routine.call(f"pack_right_{name}", source, across, row, lanes, count, self._own)
        panel = either(packs, self._own, source)
        step = packs.where(2 * self._width * self._item, row)
        ahead = packs.where(0, row * AHEAD)
        for vectors, is_so in ((1, "sle"), (2, "sgt")):
            with routine.when(lanes.compare(is_so, self._width)):
                how = ahead, lanes, numbers["adds"] + k
                self._rows(vectors, rows, left, result, (panel, step, count), how)

    def _rows(
        self, vectors: int, rows: tuple[Lanes, Lanes], left: Address, result: Address,
        right: tuple[Address, Lanes, Lanes], how: tuple[Lanes, Lanes, Lanes],
    ) -> None:  # fmt: skip
        """Tiles from the first row of a piece to its last: as high as possible, then the rest."""
        routine, numbers, (first, last) = self._routine, self._numbers, rows
        most, *rest = heights_by_vectors()[vectors]

        def tile(height: int, at: Lanes) -> None:
            down, step = numbers["left_row"], numbers["result_row"]
            routine.call(
                _name(height, vectors), left + at * down, down, numbers["left_column"], *right,
                result + at * step, step, *how,
            )  # fmt: skip

        over = (last - first) % most
        with routine.loop(first, last - over, most) as at:
            tile(most, at)
        for height in rest:  # the powers of two that the rest is the sum of
            with routine.when((over & height).compare("ne", 0)):
                tile(height, last - over % (2 * height))


def _driver() -> Function:
    """All of it, shared by threads: `stack(table)`."""
    routine = Routine("stack", TABLE)
    numbers, _ = fields(routine, FIELDS)
    routine.function.declare(pool_code.DECLARATION)
    pieces, grain = numbers["pieces"].name, numbers["grain"].name
    given = f"ptr @multiply_stack, ptr %table, i64 {pieces}, i64 {grain}"
    routine.function.line(f"call void @{pool_code.PARALLEL}({given})")
    return routine.function


def _parted(number: Lanes, size: Lanes) -> tuple[Lanes, Lanes]:
    """How often a size goes into a number, and what is left over."""
    return number // size, number % size
