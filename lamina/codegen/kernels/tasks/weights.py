"""The tasks of the gradients of convolutions' weights.

They are products of the result's gradient, packed with its rows turned to columns, and of patches,
whose elements are read where they lie in a copy of the image with zeros around.
"""

from __future__ import annotations

from typing import Final, final

from lamina.codegen.kernels.tasks.addresses import BYTES, Address, Routine, Whole
from lamina.codegen.kernels.tasks.fields import copy_image, fields
from lamina.codegen.kernels.tasks.packing import transposed
from lamina.codegen.kernels.tasks.tiles import heights_of, scattered_name
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
        self._wholes, self._places = fields(self._routine, WEIGHT_FIELDS)
        self._item, self._width = BYTES[kind], width
        self._across = 2 * width * self._item
        self._heights = heights_of(width * self._item, scattered=True)

    def write(self) -> Function:
        """The function."""
        routine, wholes, places = self._routine, self._wholes, self._places
        copy = places["scratch"] + routine.whole("worker") * wholes["scratch_step"]
        slots, batch = wholes["slots"], wholes["batch"]
        with routine.loop(routine.whole("begin"), routine.whole("end")) as piece:
            slot, group = piece // wholes["groups"], piece % wholes["groups"]
            first, last = slot * batch // slots, (slot + 1) * batch // slots
            partial = (
                places["partial"] + slot * wholes["partial_slot"] + group * wholes["partial_group"]
            )
            with routine.loop(first, last) as number:
                copy_image(routine, wholes, places, number, group, copy)
                gradient = (
                    places["gradient"]
                    + number * wholes["images"] * wholes["gradient_batch"]
                    + group * wholes["gradient_group"]
                )
                self._image(copy, gradient, partial, number - first)
        return routine.function

    def _image(self, copy: Address, gradient: Address, partial: Address, number: Whole) -> None:
        """What one image (or a few small ones) adds: stretches of positions in turn."""
        routine, wholes = self._routine, self._wholes
        depth, positions = wholes["depth"], wholes["position_count"]
        panels = copy + wholes["panels"]
        blocks = (wholes["outputs"] + (self._width - 1)) // self._width
        with routine.loop(0, positions, depth) as k:
            count = (positions - k).least(depth)
            with routine.loop(0, wholes["images"]) as i, routine.loop(0, blocks) as b:
                origin = gradient + i * wholes["gradient_batch"] + k * self._item
                home = panels + i * positions * self._across
                half = self._across // 2
                routine.call(
                    "turn", origin + b * self._width * wholes["gradient_channel"],
                    wholes["gradient_channel"], wholes["outputs"] - b * self._width, count,
                    home + (b // 2) * self._panel_size() + (b % 2) * half, self._across,
                )  # fmt: skip
            self._tiles(
                copy, panels, self._places["positions"] + k * 8, count * wholes["images"],
                partial, number + k,
            )  # fmt: skip

    def _panel_size(self) -> Whole:
        return self._wholes["depth"] * self._across

    def _tiles(
        self, copy: Address, panels: Address, steps: Address, count: Whole, partial: Address,
        adds: Whole,
    ) -> None:  # fmt: skip
        """All tiles for some positions: panels of channels in turn."""
        routine, wholes = self._routine, self._wholes
        most = self._heights[0]
        rows, full = wholes["row_count"], wholes["row_count"] // most
        blocks = (wholes["outputs"] + (self._width - 1)) // self._width
        pairs = blocks // 2

        def some(panel: Whole, height: int, t: Whole, vectors: int) -> None:
            first = panel * most
            routine.call(
                scattered_name(height, vectors), copy, self._places["rows"] + first * 8, steps,
                panels + t * self._panel_size(), count,
                partial + wholes["partial_row"] * first + t * self._across,
                wholes["partial_row"], rows - first, adds,
            )  # fmt: skip

        def column(t: Whole, vectors: int) -> None:
            with routine.loop(0, full) as panel:
                some(panel, most, t, vectors)
            rest = (rows - full * most + 3) // 4 * 4
            for height in self._heights:
                with routine.when(rest.is_("eq", height)):
                    some(full, height, t, vectors)

        with routine.loop(0, pairs) as t:
            column(t, 2)
        with routine.when((pairs * 2).is_("ne", blocks)):
            column(pairs, 1)


def fold_function(kind: str, width: int) -> Function:
    """Task: the sums of all slots, transposed; pieces are squares of a group's weight."""
    routine = Routine("fold")
    wholes, places = fields(routine, FOLD_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    row_step, rows, outputs = wholes["partial_row"], wholes["row_count"], wholes["outputs"]
    row_blocks = (rows + (width - 1)) // width
    with routine.loop(routine.whole("begin"), routine.whole("end")) as piece:
        group = piece // (row_blocks * wholes["column_blocks"])
        square = piece % (row_blocks * wholes["column_blocks"])
        across, down = square % wholes["column_blocks"], square // wholes["column_blocks"]
        source = (
            places["partial"] + group * wholes["partial_group"]
            + down * row_step * width + across * (width * item)
        )  # fmt: skip
        first = across * width
        target = (
            places["result"] + group * wholes["result_group"]
            + first * wholes["result_row"] + down * (width * item)
        )  # fmt: skip
        columns = transposed(
            [_slot_sum(routine, block, kind, source + row_step * i, wholes) for i in range(width)]
        )
        mask = routine.mask(block, rows - down * width)
        for i, lanes in enumerate(columns):
            with routine.when((outputs - first).is_("sgt", i)):
                (target + wholes["result_row"] * i).put_some(lanes, mask)
    return routine.function


def _slot_sum(
    routine: Routine, block: Block, kind: str, source: Address, wholes: dict[str, Whole]
) -> Lanes:
    """A vector of all slots, added up in order."""
    vector = block.vector(kind)
    total = routine.variable(vector)
    routine.function.line(f"store {vector} {source.lanes(block, kind).name}, ptr {total}")
    with routine.loop(1, wholes["slots"]) as slot:
        more = (source + slot * wholes["partial_slot"]).lanes(block, kind)
        before = block.give(kind, f"load {vector}, ptr {total}")
        routine.function.line(f"store {vector} {(before + more).name}, ptr {total}")
    return block.give(kind, f"load {vector}, ptr {total}")
