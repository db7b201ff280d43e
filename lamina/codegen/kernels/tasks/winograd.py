"""The tasks of convolutions by minimal filtering.

Lanes are squares of 2 x 2 results, side by side. Those of a block are transformed for all channels
and stay in the second-level cache. Panels of outputs pass by: 16 products, and at once the
transform of their sums, which stay in the first-level cache.
"""

from __future__ import annotations

from typing import Final, final

from lamina.codegen.kernels.tasks import winograd_squares as squares
from lamina.codegen.kernels.tasks.fields import fields, row_at
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    Variable,
    chosen_lanes,
    least,
)
from lamina.codegen.kernels.tasks.tiles import (
    each_cut_panel,
    height_of_panel,
    heights_of,
    packed_name,
    rows_before,
)
from lamina.codegen.llvm.ir import Block, Function, Lanes

POINTS: Final = 16
"""Numbers that a square is transformed to."""

TURNED_CHANNELS: Final = 32
"""Channels of a kernel that are brought into order at a time: 18 KB."""

FILTER_FIELDS: Final = (
    "weight", "target", "outputs", "channels", "output_step", "channel_step",
    "together", "first_element", "element_step", "full", "rest_height",
)  # fmt: skip
"""What the task `transform_filters` finds in its table."""

SQUARE_FIELDS: Final = (
    "source", "result", "weight", "start", "zeros", "scratch", "not_finite",
    "source_batch", "source_channel", "source_row", "channels", "result_batch", "result_channel",
    "outputs", "full", "rest_height", "rest_count",
    "blocks", "block_table", "reads", "writes", "packed_steps",
    "square_step", "sums", "scratch_step",
)  # fmt: skip
"""What the task `filter_squares` finds in its table."""

BLOCK: Final = ("first_read", "read_count", "first_write", "write_count", "vectors")
"""Squares that are done together, one or two vectors of them."""

READ: Final = ("source", "lane", *(f"mask_{i}_{k}" for i in range(4) for k in range(4)))
"""Squares side by side: where the first is, where its lane is, and what is inside the image.

For each row there are bits for four vectors: two side by side, and the same two elements further.
"""

WRITE: Final = ("place", "second_place", "lane", "is_second", "left", "right")
"""A run of results: places of its two rows, where it is, and bits for its two vectors."""


def woven(first: Lanes, second: Lanes) -> list[Lanes]:
    """Lanes of two vectors in turns."""
    width = first.block.width
    places = [place for lane in range(width) for place in (lane, width + lane)]
    return [chosen_lanes(first, each, second) for each in (places[:width], places[width:])]


def note_not_finite(routine: Routine, check: Lanes, place: Address) -> None:
    """Set the number at a place to 1 if a lane is no number."""
    width = check.block.width
    bits = check.compare("uno", 0)
    text = f"bitcast <{width} x i1> {bits.name} to i{width}"
    found = Lanes(routine.numbers, f"i{width}", routine.function.give(text))
    with routine.when(found.compare("ne", 0)):
        place.store(routine.number(1))


def filters_function(kind: str, width: int) -> Function:
    """Task: the transforms of all kernels, for the left factors of products; pieces are panels.

    A panel has, for each of the 16 numbers, `height` outputs for each channel.
    """
    routine = Routine("transform_filters")
    numbers, places = fields(routine, FILTER_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    vector = width * item
    heights = heights_of()
    room = routine.room(block.vector(kind), TURNED_CHANNELS * 9)
    channels, together = numbers["channels"], numbers["together"]
    with routine.pieces() as panel:
        height = height_of_panel(heights, numbers, panel)
        row = rows_before(heights, numbers, panel)
        # More than a panel's rows are turned where there are more: whole squares take less time.
        present = least(numbers["outputs"] - row, width)
        source = places["weight"] + row * numbers["output_step"]
        # Behind each of the 16 parts is room for a vector that is written past its end.
        target = places["target"] + (row * channels * item + panel * vector) * POINTS
        point_step = height * channels * item + vector
        with routine.loop(0, channels, together) as first:
            count = least(channels - first, together)
            routine.call(
                "turn", source + first * numbers["channel_step"], numbers["output_step"], present,
                count * 9, room, vector,
            )  # fmt: skip
            with routine.loop(0, count) as c:
                start = room + c * (9 * vector) + numbers["first_element"]
                at = [start + numbers["element_step"] * k for k in range(9)]
                lanes = [each.lanes(kind, block) for each in at]
                made = squares.transformed(squares.kernel, lanes)
                home = target + (first + c) * height * item
                for point, out in enumerate(made):
                    (home + point_step * point).store(out)
    return routine.function


@final
class FilterWriter:
    """Writes the task `filter_squares`; its pieces are blocks of squares."""

    def __init__(self, kind: str, width: int) -> None:
        self._routine = Routine("filter_squares")
        self._numbers, self._places = fields(self._routine, SQUARE_FIELDS)
        self._kind, self._block = kind, Block(self._routine.function, width)
        self._width, self._item = width, BYTES[kind]
        self._vector = width * self._item
        self._heights = heights_of()
        self._sum_step = self._heights[0] * 2 * self._vector + self._vector
        self._check = Variable(self._block.constant(kind, 0))

    def write(self) -> Function:
        """The function."""
        routine, numbers, places = self._routine, self._numbers, self._places
        own = places["scratch"] + routine.parameter("worker") * numbers["scratch_step"]
        with routine.pieces() as piece:
            group = piece // numbers["blocks"]
            block = row_at(places["block_table"], piece % numbers["blocks"], BLOCK)
            source = places["source"] + group * numbers["source_batch"]
            result = places["result"] + group * numbers["result_batch"]
            self._read(block, source, own)
            for vectors in (1, 2):
                with routine.when(block["vectors"].compare("eq", vectors)):
                    self._panels(block, vectors, own, result)
        note_not_finite(routine, self._check.get(), places["not_finite"])
        return routine.function

    # --- the squares -----------------------------------------------------------------------------

    def _read(self, block: dict[str, Lanes], source: Address, target: Address) -> None:
        """Transform a block's squares, channel by channel; what is behind a run is overwritten."""
        routine, numbers = self._routine, self._numbers
        last = block["first_read"] + block["read_count"]
        with (
            routine.loop(0, numbers["channels"]) as c,
            routine.loop(block["first_read"], last) as r,
        ):
            run = row_at(self._places["reads"], r, READ)
            start = source + c * numbers["source_channel"] + run["source"]
            home = target + c * (2 * self._vector) + run["lane"]
            for point, lanes in enumerate(self._squares(start, run)):
                (home + numbers["square_step"] * point).store(lanes)

    def _squares(self, start: Address, run: dict[str, Lanes]) -> list[Lanes]:
        """The transforms of a run of squares: columns first, before they are taken apart."""
        two, vector = 2 * self._item, self._vector
        places = 0, vector, two, vector + two
        rows = [start + self._numbers["source_row"] * i for i in range(4)]
        near = [
            squares.elements(*(
                (row + place).load_some(self._kind, self._bits(run[f"mask_{i}_{k}"]))
                for i, row in enumerate(rows)
            ))
            for k, place in enumerate(places)
        ]  # fmt: skip
        columns = [
            [
                chosen_lanes(one, range(k, 2 * self._width, 2), other)
                for one, other in zip(first, second, strict=True)
            ]
            for first, second in (near[:2], near[2:]) for k in (0, 1)
        ]  # fmt: skip
        return squares.in_rows(squares.elements, columns)

    def _bits(self, number: Lanes) -> Lanes:
        narrow = number.convert("trunc", f"i{self._width}")
        text = f"bitcast i{self._width} {narrow.name} to <{self._width} x i1>"
        return self._block.give("i1", text)

    # --- the products ----------------------------------------------------------------------------

    def _panels(self, block: dict[str, Lanes], vectors: int, own: Address, result: Address) -> None:
        def some(row: Lanes, panel: Lanes, height: int) -> None:
            self._products(row, panel, height, vectors, own)
            self._finish(row, height, vectors, own)
            self._write(block, row, height, own, result)

        each_cut_panel(self._routine, self._heights, self._numbers, some)

    def _products(self, row: Lanes, panel: Lanes, height: int, vectors: int, own: Address) -> None:
        """The sums of products of a panel and a block, for all 16 numbers."""
        routine, numbers, places = self._routine, self._numbers, self._places
        channels = numbers["channels"]
        left = places["weight"] + (row * channels * self._item + panel * self._vector) * POINTS
        point_step = channels * (height * self._item) + self._vector
        with routine.loop(0, POINTS) as point:
            right = own + point * numbers["square_step"]
            target = own + numbers["sums"] + point * self._sum_step
            routine.call(
                packed_name(height, vectors), left + point * point_step,
                right, right + self._vector, places["packed_steps"], channels,
                target, target + self._vector, self._width, self._width, 2 * self._vector,
                height, places["zeros"], 0, places["zeros"],
            )  # fmt: skip

    def _finish(self, row: Lanes, height: int, vectors: int, own: Address) -> None:
        """Transform sums to results: for each output two rows of up to four vectors."""
        routine, block, kind = self._routine, self._block, self._kind
        sums = own + self._numbers["sums"]
        made = sums + POINTS * self._sum_step
        zero = block.constant(kind, 0)
        with routine.loop(0, height) as i:
            start = (self._places["start"] + (row + i) * self._item).spread(kind, block)
            for v in range(vectors):
                at = sums + i * (2 * self._vector) + v * self._vector
                square = [(at + k * self._sum_step).lanes(kind, block) for k in range(POINTS)]
                found = [each + start for each in squares.transformed(squares.results, square)]
                self._check.set(sum(found[1:], found[0]).times_plus(zero, self._check.get()))
                for k in (0, 1):
                    home = made + i * (8 * self._vector) + (4 * k + 2 * v) * self._vector
                    for half, lanes in enumerate(woven(found[2 * k], found[2 * k + 1])):
                        (home + half * self._vector).store(lanes)

    def _write(
        self, block: dict[str, Lanes], row: Lanes, height: int, own: Address, result: Address
    ) -> None:
        """Bring results to where they belong: run by run, two rows of each output."""
        routine, numbers = self._routine, self._numbers
        made = own + numbers["sums"] + POINTS * self._sum_step
        last = block["first_write"] + block["write_count"]
        present = least(numbers["outputs"] - row, height)
        with routine.loop(block["first_write"], last) as w:
            run = row_at(self._places["writes"], w, WRITE)
            left, right = self._bits(run["left"]), self._bits(run["right"])
            with routine.loop(0, present) as i:
                home = result + (row + i) * numbers["result_channel"]
                here = made + i * (8 * self._vector) + run["lane"]
                self._move(here, home + run["place"], left, right, run)
                with routine.when(run["is_second"].compare("ne", 0)):
                    below = here + 4 * self._vector
                    self._move(below, home + run["second_place"], left, right, run)

    def _move(
        self, source: Address, target: Address, left: Lanes, right: Lanes, run: dict[str, Lanes]
    ) -> None:
        kind, block = self._kind, self._block
        target.store_some(source.lanes(kind, block), left)
        with self._routine.when(run["right"].compare("ne", 0)):
            far = self._vector
            (target + far).store_some((source + far).lanes(kind, block), right)
