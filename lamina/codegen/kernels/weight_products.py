"""Gradients of convolutions' weights, by the library's tasks.

They are products too: of the gradient of the result, and of patches that are read where they lie.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.gathering import Planes, Table
from lamina.codegen.kernels.shapes import Shapes, entries, gathered, source_fields
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import weights as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of
from lamina.codegen.llvm import threads

POSITIONS: Final = 256
"""How many positions are summed up at a time: 32 KB of the gradient's panel."""

SLOTS: Final = 4
"""Parts of the batch whose gradients are summed up apart; fixed, so that all machines agree."""


@final
@dataclass(frozen=True)
class _WeightPlan:
    planes: Planes
    entries: Table
    rows: Table
    row_count: int
    positions: Table


@functools.lru_cache(256)
def _weight_plan(shapes: Shapes) -> _WeightPlan:
    planes, (meeting,) = gathered(shapes)
    item = np.dtype(shapes.char).itemsize
    channel = np.arange(shapes.channels, dtype=np.int64)[:, None]
    rows = ((channel * planes.size + meeting.offsets) * item).reshape(-1)
    padded = np.r_[rows, np.repeat(rows[-1:], heights_of(scattered=True)[0] - 1)]
    return _WeightPlan(planes, entries(planes, item), padded, len(rows), meeting.positions * item)


def weigh_by_products(source: Any, gradient: Any, result: Any, shapes: Shapes) -> None:
    """Write the gradient of a convolution's weight into `result`, which is contiguous."""
    char, item = shapes.char, source.itemsize
    outputs, groups, images = shapes.outputs, shapes.groups, shapes.images
    plan = _weight_plan(shapes)
    lanes, workers, batch = lanes_of(char), threads.capacity(), source.shape[0] // images
    slots = min(batch, SLOTS)
    row = -(-outputs // lanes) * lanes * item
    rows = -(-plan.row_count // lanes) * lanes
    depth = min(len(plan.positions), POSITIONS)
    panels = rounded(shapes.channels * plan.planes.size * item)
    per_worker = panels + rounded((outputs + 2 * lanes) * depth * item) + 128
    partial = {
        "partial_slot": row * rows * groups, "partial_group": row * rows, "partial_row": row,
        "row_count": plan.row_count, "outputs": outputs, "slots": slots,
    }  # fmt: skip
    size = rounded(row * rows * groups * slots)
    with scratch(size + workers * per_worker) as memory:
        partial["partial"] = memory
        table = {
            **partial, **source_fields(source, shapes, plan.planes, plan.entries),
            "gradient": gradient.ctypes.data, "scratch": memory + size, "batch": batch,
            "images": images, "gradient_batch": gradient.strides[0],
            "gradient_group": gradient.strides[1] * outputs,
            "gradient_channel": gradient.strides[1], "rows": plan.rows.ctypes.data,
            "positions": plan.positions.ctypes.data,
            "position_count": len(plan.positions) // images,
            "panels": panels, "scratch_step": per_worker, "depth": depth,
        }  # fmt: skip
        run(("convolution", "weigh", char), table, tasks.WEIGHT_FIELDS, slots * groups)
        columns = -(-outputs // lanes)
        squares = (rows // lanes) * columns
        run(
            ("convolution", "fold", char),
            {
                **partial, "result": result.ctypes.data, "column_blocks": columns,
                "result_group": result.strides[0] * outputs, "result_row": result.strides[0],
            },
            tasks.FOLD_FIELDS, squares * groups,
        )  # fmt: skip
