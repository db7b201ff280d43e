"""The tasks of the gradients of convolutions' weights.

They are products of the result's gradient, packed with its rows turned to columns, and of patches,
whose elements are read where they lie in a copy of the image with zeros around.
"""

from __future__ import annotations

from typing import Final, final

from lamina.codegen.kernels.tasks.fields import copy_image, fields
from lamina.codegen.kernels.tasks.packing import transposed
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    Variable,
    first_lanes,
    least,
)
from lamina.codegen.kernels.tasks.tiles import each_panel, heights_of, scattered_name
from lamina.codegen.llvm.ir import Block, Function, Lanes

WEIGHT_FIELDS: Final = (
    "source", "gradient", "partial", "scratch",
    "groups", "batch", "slots", "source_batch", "source_group", "source_channel", "source_step",
    "channels", "entries", "entry_count", "plane",
    "gradient_batch", "gradient_group", "gradient_channel", "outputs", "images",
    "rows", "row_count", "positions", "position_count",
    "partial_slot", "partial_group", "partial_row", "panels", "scratch_step", "depth",
)  # fmt: skip
"""What the task `weigh` finds in its table."""

FOLD_FIELDS: Final = (
    "partial", "result", "slots", "partial_slot", "partial_group", "partial_row",
    "row_count", "outputs", "result_group", "result_row", "column_blocks",
)  # fmt: skip
"""What the task `fold` finds in its table."""


@final
class WeighWriter:
    """Writes the task `weigh`; its pieces are groups of slots, which are parts of the batch."""

    def __init__(self, kind: str, width: int) -> None:
        self._routine = Routine("weigh")
        self._numbers, self._places = fields(self._routine, WEIGHT_FIELDS)
        self._item, self._width = BYTES[kind], width
        self._across = 2 * width * self._item
        self._heights = heights_of(scattered=True)

    def write(self) -> Function:
        """The function."""
        routine, numbers, places = self._routine, self._numbers, self._places
        copy = places["scratch"] + routine.parameter("worker") * numbers["scratch_step"]
        slots, batch = numbers["slots"], numbers["batch"]
        with routine.pieces() as piece:
            slot, group = piece // numbers["groups"], piece % numbers["groups"]
            first, last = slot * batch // slots, (slot + 1) * batch // slots
            partial = (
                places["partial"]
                + slot * numbers["partial_slot"]
                + group * numbers["partial_group"]
            )
            with routine.loop(first, last) as number:
                copy_image(routine, numbers, places, number, group, copy)
                gradient = (
                    places["gradient"]
                    + number * numbers["images"] * numbers["gradient_batch"]
                    + group * numbers["gradient_group"]
                )
                self._image(copy, gradient, partial, number - first)
        return routine.function

    def _image(self, copy: Address, gradient: Address, partial: Address, number: Lanes) -> None:
        """What one image (or a few small ones) adds: stretches of positions in turn."""
        routine, numbers = self._routine, self._numbers
        depth, positions = numbers["depth"], numbers["position_count"]
        panels = copy + numbers["panels"]
        blocks = (numbers["outputs"] + (self._width - 1)) // self._width
        with routine.loop(0, positions, depth) as k:
            count = least(positions - k, depth)
            with routine.loop(0, numbers["images"]) as i, routine.loop(0, blocks) as b:
                origin = gradient + i * numbers["gradient_batch"] + k * self._item
                home = panels + i * positions * self._across
                half = self._across // 2
                routine.call(
                    "turn", origin + b * self._width * numbers["gradient_channel"],
                    numbers["gradient_channel"], numbers["outputs"] - b * self._width, count,
                    home + (b // 2) * self._panel_size() + (b % 2) * half, self._across,
                )  # fmt: skip
            self._tiles(
                copy, panels, self._places["positions"] + k * 8, count * numbers["images"],
                partial, number + k,
            )  # fmt: skip

    def _panel_size(self) -> Lanes:
        return self._numbers["depth"] * self._across

    def _tiles(
        self, copy: Address, panels: Address, steps: Address, count: Lanes, partial: Address,
        adds: Lanes,
    ) -> None:  # fmt: skip
        """All tiles for some positions: panels of channels in turn."""
        routine, numbers = self._routine, self._numbers
        rows = numbers["row_count"]
        blocks = (numbers["outputs"] + (self._width - 1)) // self._width
        pairs = blocks // 2

        def some(first: Lanes, height: int, t: Lanes, vectors: int) -> None:
            routine.call(
                scattered_name(height, vectors), copy, self._places["rows"] + first * 8, steps,
                panels + t * self._panel_size(), count,
                partial + numbers["partial_row"] * first + t * self._across,
                numbers["partial_row"], rows - first, adds,
            )  # fmt: skip

        def column(t: Lanes, vectors: int) -> None:
            each_panel(
                routine, self._heights, rows,
                lambda first, height: some(first, height, t, vectors),
            )  # fmt: skip

        with routine.loop(0, pairs) as t:
            column(t, 2)
        with routine.when((pairs * 2).compare("ne", blocks)):
            column(pairs, 1)


def fold_function(kind: str, width: int) -> Function:
    """Task: the sums of all slots, transposed; pieces are squares of a group's weight."""
    routine = Routine("fold")
    numbers, places = fields(routine, FOLD_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    row_step, rows, outputs = numbers["partial_row"], numbers["row_count"], numbers["outputs"]
    row_blocks = (rows + (width - 1)) // width
    with routine.pieces() as piece:
        group = piece // (row_blocks * numbers["column_blocks"])
        square = piece % (row_blocks * numbers["column_blocks"])
        across, down = square % numbers["column_blocks"], square // numbers["column_blocks"]
        source = (
            places["partial"] + group * numbers["partial_group"]
            + down * row_step * width + across * (width * item)
        )  # fmt: skip
        first = across * width
        target = (
            places["result"] + group * numbers["result_group"]
            + first * numbers["result_row"] + down * (width * item)
        )  # fmt: skip
        columns = transposed(
            [_slot_sum(routine, block, kind, source + row_step * i, numbers) for i in range(width)]
        )
        mask = first_lanes(block, rows - down * width)
        for i, lanes in enumerate(columns):
            with routine.when((outputs - first).compare("sgt", i)):
                (target + numbers["result_row"] * i).store_some(lanes, mask)
    return routine.function


def _slot_sum(
    routine: Routine, block: Block, kind: str, source: Address, numbers: dict[str, Lanes]
) -> Lanes:
    """A vector of all slots, added up in order."""
    total = Variable(source.lanes(kind, block))
    with routine.loop(1, numbers["slots"]) as slot:
        more = (source + slot * numbers["partial_slot"]).lanes(kind, block)
        total.set(total.get() + more)
    return total.get()
