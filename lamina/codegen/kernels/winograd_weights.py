"""Gradients of convolutions' kernels by Winograd's minimal filtering, on NumPy arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.shapes import Shapes
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import winograd_weights as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of, panels_of
from lamina.codegen.kernels.tasks.winograd import POINTS
from lamina.codegen.kernels.winograd import is_minimal
from lamina.codegen.llvm import threads

LEAST_KERNELS: Final = 1 << 14
"""From how many kernels on transforms are little of the work."""

MOST_SQUARES: Final = 16 << 20
"""Bytes of transformed squares at a time."""


def weigh_by_winograd(source: Any, gradient: Any, result: Any, shapes: Shapes) -> bool:
    """Write the gradient of a convolution's weight into `result`, if it is faster so.

    Returns whether that is done: not where results are not finite.
    """
    if not is_minimal(shapes) or shapes.channels * shapes.outputs < LEAST_KERNELS:
        return False
    char, item, lanes = shapes.char, source.itemsize, lanes_of(shapes.char)
    vector, workers, height = lanes * item, threads.capacity(), heights_of()[0]
    channels, outputs = shapes.channels, shapes.outputs
    down, across = (-(-size // 2) for size in shapes.result)
    low, left = shapes.padding
    room = max(2 * across + 2, left + shapes.source[1])
    cut = panels_of(outputs)
    blocks, panels = -(-channels // lanes), cut.full + cut.rest_count
    pairs = -(-blocks // 2)
    per_square = (pairs * 2 * vector + panels * height * item) * POINTS
    rows = source.shape[0] * down
    stretches = -(-rows * across * per_square // MOST_SQUARES)
    stretch = -(-rows // stretches)
    most = stretch * across
    right_panel, left_panel = most * 2 * vector + vector, most * height * item + vector
    right_point, left_point = pairs * right_panel, panels * left_panel
    sums_row = blocks * vector
    sums_point = sums_row * outputs + vector
    per_worker = rounded(4 * room * vector)
    parts = np.cumsum(
        [0, *map(rounded, (POINTS * right_point, POINTS * left_point, POINTS * sums_point))]
    ).tolist()
    zeros = np.zeros(max(height, 2 * lanes), source.dtype)
    steps, flag = np.arange(most) * (2 * vector), np.zeros(1, np.int64)
    with scratch(parts[3] + workers * per_worker) as memory:
        right, left_factor, sums, own = (memory + part for part in parts)
        common = {
            "down": down, "across": across, "room": room, "scratch": own,
            "scratch_step": per_worker, **cut._asdict(),
        }  # fmt: skip
        of_input = {
            **common, **_image(source), "low": low, "left": left, "target": right,
            "panel_step": right_panel, "point_step": right_point,
        }  # fmt: skip
        of_gradient = {
            **common, **_image(gradient), "low": 0, "left": 0, "target": left_factor,
            "panel_step": left_panel, "point_step": left_point,
        }  # fmt: skip
        products = {
            "left": left_factor, "left_panel": left_panel, "left_point": left_point,
            "right": right, "right_panel": right_panel, "right_point": right_point,
            "sums": sums, "sums_point": sums_point, "sums_row": sums_row, "outputs": outputs,
            "channels": channels, "panels": pairs, "packed_steps": steps.ctypes.data,
            "zeros": zeros.ctypes.data, **cut._asdict(),
        }  # fmt: skip
        for first in range(0, rows, stretch):
            last = min(first + stretch, rows)
            span = {"first": first, "last": last}
            run(
                ("winograd", "input_squares", char),
                {**of_input, **span},
                tasks.SQUARE_FIELDS,
                blocks,
            )
            run(
                ("winograd", "gradient_squares", char),
                {**of_gradient, **span},
                tasks.SQUARE_FIELDS,
                panels,
            )
            products |= {"squares": (last - first) * across, "adds": first}
            run(
                ("winograd", "multiply_squares", char),
                products,
                tasks.MULTIPLY_FIELDS,
                POINTS * pairs,
            )
        run(
            ("winograd", "fold_squares", char),
            {
                "sums": sums, "sums_point": sums_point, "sums_row": sums_row,
                "result": result.ctypes.data, "result_row": result.strides[0],
                "channels": channels, "not_finite": flag.ctypes.data,
            },
            tasks.FOLD_FIELDS, outputs,
        )  # fmt: skip
    return not flag[0]


def _image(array: Any) -> dict[str, int]:
    """What the tasks must know of an array whose rows lie side by side."""
    height, width = array.shape[2:]
    return {
        "source": array.ctypes.data, "source_batch": array.strides[0],
        "source_channel": array.strides[1], "source_row": width * array.itemsize,
        "channels": array.shape[1], "height": height, "width": width,
    }  # fmt: skip
