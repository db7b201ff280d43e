"""Gradients of convolutions' kernels by Winograd's minimal filtering, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import addressof, c_int64
from typing import Any, Final, NamedTuple

import numpy as np

from lamina.codegen.kernels.shapes import Shapes
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import winograd_weights as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of, panels_of
from lamina.codegen.kernels.tasks.winograd import POINTS
from lamina.codegen.kernels.winograd import is_minimal
from lamina.codegen.llvm import threads

LEAST_CHANNELS: Final = 16
LEAST_KERNELS: Final = 1 << 9
"""From how many channels, before and after, and kernels on transforms are little of the work."""

LEAST_SQUARES: Final = 128
"""With fewer squares than these, adding up the slots is much of the work."""

MOST_SQUARES: Final = 16 << 20
"""Bytes of transformed squares at a time."""

MOST_OWN_SUMS: Final = 5 << 18
MOST_OWN_SQUARES: Final = 1 << 19
"""Bytes of a slot's sums, and of transformed squares beside them, that a second-level cache holds.

With larger sums, threads share each step.
"""

SLOTS: Final = 4
"""Parts of the batch that are summed up apart; fixed, so that all machines agree."""


class _Layout(NamedTuple):
    """How transformed squares and sums lie in memory.

    Attributes:
        rows, down, across: Rows of squares, those of an image, and the squares of a row.
        slots: How many sums there are of everything.
        stretch: Rows of squares that are done at a time.
        blocks, pairs, panels: Vectors of channels, pairs of them, panels of outputs.
        right, left: Bytes of such pairs and panels, for one of the 16 numbers.
        sums_row, sums_point: Steps of the sums, in bytes.
    """

    rows: int
    down: int
    across: int
    slots: int
    stretch: int
    blocks: int
    pairs: int
    panels: int
    right: int
    left: int
    sums_row: int
    sums_point: int

    @property
    def right_size(self) -> int:
        """Bytes of all transformed squares of the input."""
        return rounded(POINTS * self.pairs * self.right)

    @property
    def left_size(self) -> int:
        """Bytes of all transformed squares of the gradient."""
        return rounded(POINTS * self.panels * self.left)

    @property
    def sums_size(self) -> int:
        """Bytes of a slot's sums."""
        return rounded(POINTS * self.sums_point)


def _layout(batch: int, shapes: Shapes) -> _Layout:
    item, lanes, height = np.dtype(shapes.char).itemsize, lanes_of(shapes.char), heights_of()[0]
    vector = lanes * item
    down, across = (-(-size // 2) for size in shapes.result)
    cut = panels_of(shapes.outputs)
    blocks, panels = -(-shapes.channels // lanes), cut.full + cut.rest_count
    pairs, rows = -(-blocks // 2), batch * down
    of_row = (pairs * 2 * vector + panels * height * item) * POINTS * across
    sums_row = blocks * vector
    sums_point = sums_row * shapes.outputs + vector
    slots = min(rows, SLOTS) if sums_point * POINTS <= MOST_OWN_SUMS else 1
    most = MOST_SQUARES if slots == 1 else MOST_OWN_SQUARES
    of_slot = -(-rows // slots)
    stretch = -(-of_slot // -(-of_slot * of_row // most))
    count = stretch * across  # behind all of them is room for a vector
    return _Layout(
        rows, down, across, slots, stretch, blocks, pairs, panels, (count * 2 + 1) * vector,
        count * height * item + vector, sums_row, sums_point,
    )  # fmt: skip


def weigh_by_winograd(source: Any, gradient: Any, result: Any, shapes: Shapes) -> bool:
    """Write the gradient of a convolution's weight into `result`, if it is faster so.

    Returns whether that is done: not where results are not finite.
    """
    channels, outputs = shapes.channels, shapes.outputs
    if min(channels, outputs) < LEAST_CHANNELS or channels * outputs < LEAST_KERNELS:
        return False
    if not is_minimal(source.shape[0], shapes):
        return False
    layout = _layout(source.shape[0], shapes)
    if layout.slots > 1 and layout.rows * layout.across < LEAST_SQUARES:
        return False
    char, item, workers = shapes.char, source.itemsize, threads.capacity()
    vector = lanes_of(char) * item
    room = max(2 * layout.across + 2, shapes.padding[1] + shapes.source[1])
    squares_size, rows_size = layout.right_size + layout.left_size, rounded(4 * room * vector)
    copies = workers if layout.slots > 1 else 1
    flag = np.zeros(1, np.int64)
    with scratch(
        layout.sums_size * layout.slots + squares_size * copies + rows_size * workers
    ) as sums:
        squares = sums + layout.sums_size * layout.slots
        common = {
            "down": layout.down, "across": layout.across, "room": room,
            "scratch": squares + squares_size * copies, "scratch_step": rows_size,
            **panels_of(outputs)._asdict(),
        }  # fmt: skip
        low, left = shapes.padding
        inputs = {
            **common, **_image(source), "low": low, "left": left, "target": squares,
            "panel_step": layout.right, "point_step": layout.right * layout.pairs,
        }  # fmt: skip
        gradients = {
            **common, **_image(gradient), "low": 0, "left": 0,
            "target": squares + layout.right_size,
            "panel_step": layout.left, "point_step": layout.left * layout.panels,
        }  # fmt: skip
        _sum_up(inputs, gradients, sums, layout, shapes)
        table = {
            "sums": sums, "sums_point": layout.sums_point, "sums_row": layout.sums_row,
            "slots": layout.slots, "sums_slot": layout.sums_size,
            "result": result.ctypes.data, "result_row": result.strides[0],
            "channels": channels, "not_finite": flag.ctypes.data,
        }  # fmt: skip
        run(("winograd", "fold_squares", char), table, tasks.FOLD_FIELDS, outputs)
    return not flag[0]


def _sum_up(
    inputs: dict[str, int], gradients: dict[str, int], sums: int, layout: _Layout, shapes: Shapes
) -> None:
    """Write the sums of products over all squares, of each slot."""
    item, lanes = np.dtype(shapes.char).itemsize, lanes_of(shapes.char)
    cut = panels_of(shapes.outputs)
    steps = np.arange(layout.stretch * layout.across) * (2 * lanes * item)
    zeros = np.zeros(max(heights_of()[0], 2 * lanes), shapes.char)
    products = {
        "left": gradients["target"], "left_panel": gradients["panel_step"],
        "left_point": gradients["point_step"], "right": inputs["target"],
        "right_panel": inputs["panel_step"], "right_point": inputs["point_step"],
        "sums": sums, "sums_point": layout.sums_point, "sums_row": layout.sums_row,
        "outputs": shapes.outputs, "channels": shapes.channels, "panels": layout.pairs,
        "packed_steps": steps.ctypes.data, "zeros": zeros.ctypes.data, **cut._asdict(),
    }  # fmt: skip
    work = (
        ("input_squares", inputs, tasks.SQUARE_FIELDS, layout.blocks),
        ("gradient_squares", gradients, tasks.SQUARE_FIELDS, layout.panels),
        ("multiply_squares", products, tasks.MULTIPLY_FIELDS, POINTS * layout.pairs),
    )
    if layout.slots > 1:
        tables = [_numbers(table, names) for _, table, names, _ in work]
        slots = {
            "inputs": addressof(tables[0]), "gradients": addressof(tables[1]),
            "products": addressof(tables[2]), "input_pieces": work[0][3],
            "gradient_pieces": work[1][3], "product_pieces": work[2][3],
            "rows": layout.rows, "slots": layout.slots, "stretch": layout.stretch,
            "across": layout.across, "squares": inputs["target"],
            "squares_step": layout.right_size + layout.left_size,
            "gradients_at": layout.right_size, "sums": sums, "sums_slot": layout.sums_size,
        }  # fmt: skip
        run(("winograd", "weigh_slots", shapes.char), slots, tasks.SLOT_FIELDS, layout.slots)
        return
    for first in range(0, layout.rows, layout.stretch):
        last = min(first + layout.stretch, layout.rows)
        changed = {
            "first": first, "last": last, "squares": (last - first) * layout.across, "adds": first
        }  # fmt: skip
        for name, table, names, pieces in work:
            run(("winograd", name, shapes.char), {**table, **changed}, names, pieces)


def _numbers(table: Mapping[str, int], names: tuple[str, ...]) -> Any:
    """A table as machine code reads it; what is not there yet is zero."""
    return (c_int64 * len(names))(*(table.get(name, 0) for name in names))


def _image(array: Any) -> dict[str, int]:
    """What the tasks must know of an array whose rows lie side by side."""
    height, width = array.shape[2:]
    return {
        "source": array.ctypes.data, "source_batch": array.strides[0],
        "source_channel": array.strides[1], "source_row": width * array.itemsize,
        "channels": array.shape[1], "height": height, "width": width,
    }  # fmt: skip
