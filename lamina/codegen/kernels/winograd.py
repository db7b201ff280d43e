"""Convolutions by Winograd's minimal filtering, on NumPy arrays.

A 3 x 3 kernel takes 2.25 times fewer multiplications so (see `tasks.winograd_squares`).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.gathering import Table, run_starts
from lamina.codegen.kernels.products import has_tiles
from lamina.codegen.kernels.shapes import Shapes, together
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import winograd as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of, panels_of
from lamina.codegen.llvm import threads

LEAST_CHANNELS: Final = 16
"""Channels, before and after, from which on transforms are little enough of the work."""

LEAST_RESULTS: Final = 48
LEAST_FILLED: Final = 2.125
"""Results, and results for each square of at most four, from which on transforms are worth it."""

MOST_KERNELS: Final = 1 << 20
"""Kernels of a convolution whose transforms, 67 MB, may be kept meanwhile."""

TOGETHER: Final = 2048
"""Squares of small images that are done together: few lanes are idle, and tables are small."""


def is_minimal(batch: int, shapes: Shapes) -> bool:
    """Whether a convolution has the form that the tasks are made for, and images large enough.

    Results of float64 would gain less, and other machines have not been measured. (With vectors of
    32 bytes it takes 0.5 to 0.8 of the direct way's time too.)
    """
    results = batch * math.prod(shapes.result)
    squares = batch * math.prod(-(-size // 2) for size in shapes.result)
    return (
        shapes.char == "f"
        and shapes.kernel == (3, 3)
        and shapes.stride == shapes.dilation == (1, 1)
        and shapes.groups == 1
        and shapes.channels * shapes.outputs <= MOST_KERNELS
        and results >= max(LEAST_RESULTS, LEAST_FILLED * squares)
        and has_tiles(shapes.char)
    )


@final
@dataclass(frozen=True)
class _Plan:
    """The tables of a convolution: how many images are done together, and their blocks."""

    images: int
    blocks: Table
    reads: Table
    writes: Table


@functools.lru_cache(256)
def _plan(
    batch: int, source: tuple[int, ...], result: tuple[int, ...], low: tuple[int, ...],
    source_step: int, result_step: int, lanes: int, item: int,
) -> _Plan:  # fmt: skip
    """The blocks of a convolution whose first result meets `low` elements before the source.

    The steps lead from image to image, in bytes.
    """
    down, across = (-(-size // 2) for size in result)
    images = together(batch, down * across, TOGETHER)
    count, size = images * down * across, 2 * lanes
    lane = np.arange(count) % size
    starts = run_starts((lane == 0) | (np.arange(count) % across == 0), lanes)
    lengths = np.diff(np.r_[starts, count])
    image, square = np.divmod(starts, down * across)
    y, x = (2 * at for at in np.divmod(square, across))
    places = image * source_step, y - low[0], x - low[1]
    reads = _reads(places, lane[starts], lengths, source, lanes, item)
    widths = np.minimum(2 * lengths, result[1] - x)
    place = image * result_step + (y * result[1] + x) * item
    writes = np.stack(
        [place, place + result[1] * item, lane[starts] * (2 * item), y + 1 < result[0],
         _bits(0 * widths, widths, lanes), _bits(0 * widths, widths - lanes, lanes)], 1,
    ).astype(np.int64)  # fmt: skip
    begins = np.arange(0, count, size)
    firsts = np.searchsorted(starts, begins)
    counts = np.diff(np.r_[firsts, len(starts)])
    present = np.minimum(count - begins, size)
    read_counts = counts.copy()
    if present[-1] % lanes:  # lanes without a square are zero
        idle = np.zeros((1, reads.shape[1]), np.int64)
        idle[0, tasks.READ.index("lane")] = present[-1] * item
        reads = np.concatenate([reads, idle])
        read_counts[-1] += 1
    blocks = np.stack([firsts, read_counts, firsts, counts, -(-present // lanes)], 1)
    return _Plan(images, blocks.astype(np.int64), reads, writes)


def _reads(
    places: tuple[Any, Any, Any], lane: Any, lengths: Any, source: tuple[int, ...], lanes: int,
    item: int,
) -> Table:  # fmt: skip
    """What `READ` names, for runs of squares that begin at places (image, top, left)."""
    image, top, left = places
    made = np.empty((len(lengths), len(tasks.READ)), np.int64)
    made[:, 0] = image + (top * source[1] + left) * item
    made[:, 1] = lane * item
    for i in range(4):
        is_inside = (top + i >= 0) & (top + i < source[0])
        for k, begin in enumerate((0, lanes, 2, lanes + 2)):
            end = np.minimum(source[1] - left, 2 * lengths + 2)
            bits = _bits(-left - begin, end - begin, lanes)
            made[:, 2 + 4 * i + k] = np.where(is_inside, bits, 0)
    return made


def _bits(first: Any, end: Any, lanes: int) -> Any:
    """Numbers with a bit for each lane, set from `first` up to `end`."""
    first, end = np.clip(first, 0, lanes), np.clip(end, 0, lanes)
    return np.where(first < end, (1 << end) - (1 << first), 0)


def convolve_by_winograd(source: Any, weight: Any, bias: Any, result: Any, shapes: Shapes) -> bool:
    """Write a convolution (or its transpose) into `result`, if it is faster so.

    Returns whether that is done. It is not where results are not finite: sums of neighbours spread
    an infinite element further than it reaches.
    """
    char, item, lanes = shapes.char, source.itemsize, lanes_of(shapes.char)
    least = LEAST_CHANNELS if lanes >= 16 else 2 * LEAST_CHANNELS
    if not is_minimal(source.shape[0], shapes) or min(shapes.channels, shapes.outputs) < least:
        return False
    vector, workers, most = lanes * item, threads.capacity(), heights_of()[0]
    low = tuple(2 - p if shapes.transposed else p for p in shapes.padding)
    plan = _plan(
        source.shape[0], shapes.source, shapes.result, low, source.strides[0],
        result.strides[0], lanes, item,
    )  # fmt: skip
    cut = panels_of(shapes.outputs)
    start = np.zeros(sum(cut.heights), source.dtype)
    if bias is not None:
        start[: shapes.outputs] = bias
    zeros, flag = np.zeros(max(most, 2 * lanes), source.dtype), np.zeros(1, np.int64)
    steps = np.arange(shapes.channels) * (2 * vector)
    # Behind each part is room for a vector that is read or written past its end.
    filters = rounded(
        (len(start) * shapes.channels * item + len(cut.heights) * vector) * tasks.POINTS
    )
    square_step = (shapes.channels * 2 + 1) * vector
    sums = square_step * tasks.POINTS
    per_worker = sums + (tasks.POINTS * (most * 2 + 1) + most * 8 + 2) * vector
    with scratch(filters + workers * per_worker) as memory:
        _transform_filters(weight, memory, shapes)
        table = {
            "source": source.ctypes.data, "result": result.ctypes.data, "weight": memory,
            "start": start.ctypes.data, "zeros": zeros.ctypes.data, "scratch": memory + filters,
            "not_finite": flag.ctypes.data, "source_batch": source.strides[0] * plan.images,
            "source_channel": source.strides[1], "source_row": shapes.source[1] * item,
            "channels": shapes.channels, "result_batch": result.strides[0] * plan.images,
            "result_channel": result.strides[1], "outputs": shapes.outputs, **cut._asdict(),
            "blocks": len(plan.blocks), "block_table": plan.blocks.ctypes.data,
            "reads": plan.reads.ctypes.data, "writes": plan.writes.ctypes.data,
            "packed_steps": steps.ctypes.data, "square_step": square_step, "sums": sums,
            "scratch_step": per_worker,
        }  # fmt: skip
        pieces = source.shape[0] // plan.images * len(plan.blocks)
        run(("winograd", "filter_squares", char), table, tasks.SQUARE_FIELDS, pieces)
    return not flag[0]


def _transform_filters(weight: Any, target: int, shapes: Shapes) -> None:
    """Bring the transforms of all kernels into panels; a transpose has them turned around."""
    item, vector = weight.itemsize, lanes_of(shapes.char) * weight.itemsize
    output_step, channel_step = weight.strides[:2]
    first, onward = 0, vector
    if shapes.transposed:
        output_step, channel_step = channel_step, output_step
        first, onward = 8 * vector, -vector
    cut = panels_of(shapes.outputs)
    table = {
        "weight": weight.ctypes.data, "target": target, "outputs": shapes.outputs,
        "channels": shapes.channels, "output_step": output_step, "channel_step": channel_step,
        "together": tasks.TURNED_CHANNELS if channel_step == 9 * item else 1,
        "first_element": first, "element_step": onward,
        "full": cut.full, "rest_height": cut.rest_height,
    }  # fmt: skip
    run(
        ("winograd", "transform_filters", shapes.char), table, tasks.FILTER_FIELDS,
        cut.full + cut.rest_count,
    )  # fmt: skip
