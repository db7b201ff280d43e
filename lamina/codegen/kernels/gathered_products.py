"""Convolutions as products of matrices that are never made, by the library's tasks."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.gathering import Planes, Table, best_tiles_of
from lamina.codegen.kernels.shapes import Shapes, entries, gathered, source_fields
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import convolution as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of, panels_of
from lamina.codegen.llvm import threads

DEPTH: Final = 384
"""How much of the inner dimension is done at a time. Times from 192 to 576 differ by 3 %."""

MOST_TILES: Final = 8
"""Tiles of a chunk; with `DEPTH`, 393 KB of panels, which a second-level cache holds."""

MANY_PLANES: Final = 16
"""From how many planes on one worker does all of a plane, instead of several a chunk each."""


@final
@dataclass(frozen=True)
class _Plan:
    """The tables of a convolution. Those in `rows` and `columns` are named in others."""

    planes: Planes
    entries: Table
    chunks: Table
    tiles: Table
    runs: Table
    places: Table
    pack: Table
    rows: list[Table]
    columns: list[Table]
    left_size: int


@functools.lru_cache(256)
def _plan(shapes: Shapes, weight_steps: tuple[int, int]) -> _Plan:
    """The tables of a convolution whose weight has these steps for outputs and channels."""
    planes, meetings = gathered(shapes)
    item = np.dtype(shapes.char).itemsize
    channel = np.arange(shapes.channels, dtype=np.int64)[:, None]
    output_rows = np.arange(shapes.outputs, dtype=np.int64) * weight_steps[0]
    rows = [((channel * planes.size + m.offsets) * item).reshape(-1) for m in meetings]
    columns = [(channel * weight_steps[1] + m.kernel * item).reshape(-1) for m in meetings]
    lanes = lanes_of(shapes.char)
    made = [best_tiles_of(m, lanes, item, shapes.outputs) for m in meetings]
    heights = panels_of(shapes.outputs).heights
    group_step = weight_steps[1] * shapes.channels if shapes.transposed else (
        weight_steps[0] * shapes.outputs
    )  # fmt: skip
    chunks: list[tuple[int, ...]] = []
    pack: list[tuple[int, ...]] = []
    left_size = tile_count = run_count = 0
    for own, column, part in zip(rows, columns, made, strict=True):
        group_size = sum(heights) * len(own) * item
        chunks += _chunks(own, left_size, group_size, tile_count, len(part.tiles))
        for group in range(shapes.groups):
            at = left_size + group * group_size
            pack += _pieces(heights, group * group_step, output_rows, column, at, item)
        part.tiles[:, 0] += run_count
        left_size += group_size * shapes.groups
        tile_count += len(part.tiles)
        run_count += len(part.runs)
    return _Plan(
        planes, entries(planes, item), np.array(chunks, np.int64),
        np.concatenate([part.tiles for part in made]), np.concatenate([p.runs for p in made]),
        np.concatenate([part.places for part in made]), np.array(pack, np.int64),
        rows, [output_rows, *columns], left_size,
    )  # fmt: skip


def _pieces(
    heights: list[int], source: int, rows: Table, column: Table, target: int, item: int
) -> list[tuple[int, ...]]:
    """What `PACK_PIECE` names, for each panel of a group."""
    made: list[tuple[int, ...]] = []
    for height in heights:
        present = min(height, len(rows))
        made.append(
            (source, rows.ctypes.data, column.ctypes.data, present, height, len(column), target)
        )
        rows = rows[height:]
        target += height * len(column) * item
    return made


def _chunks(
    rows: Table, left: int, group_size: int, first: int, count: int
) -> list[tuple[int, ...]]:
    """What `CHUNK` names, for so many tiles in chunks of nearly equal size."""
    parts = -(-count // MOST_TILES)
    ends = [part * count // parts for part in range(parts + 1)] if parts else [0]
    return [
        (rows.ctypes.data, len(rows), left, group_size, first + begin, end - begin)
        for begin, end in pairwise(ends)
    ]


def convolve_by_products(source: Any, weight: Any, bias: Any, result: Any, shapes: Shapes) -> None:
    """Write a convolution (or its transpose) into `result`, which is contiguous."""
    char, item, workers = shapes.char, source.itemsize, threads.capacity()
    steps = weight.strides[1::-1] if shapes.transposed else weight.strides[:2]
    plan = _plan(shapes, steps)
    depth = _depth(max(map(len, plan.rows)))
    across = 2 * lanes_of(char) * item
    cut = panels_of(shapes.outputs)
    start = np.zeros((shapes.groups, sum(cut.heights)), source.dtype)
    if bias is not None:
        start[:, : shapes.outputs] = bias.reshape(shapes.groups, shapes.outputs)
    zeros, packed_steps = np.zeros(heights_of()[0], source.dtype), np.arange(depth) * across
    panels = rounded(shapes.channels * plan.planes.size * item)
    left = rounded(plan.left_size)
    # Behind the panels is room for a vector that is read or written past the end.
    per_worker = tasks.HEADER + panels + rounded(MOST_TILES * depth * across) + 128
    with scratch(left + workers * per_worker) as memory:
        _pack(weight, memory, plan.pack, char)
        for worker in range(workers):
            ctypes.c_int64.from_address(memory + left + worker * per_worker).value = -1
        table = {
            **source_fields(source, shapes, plan.planes, plan.entries),
            "result": result.ctypes.data, "weight": memory, "start": start.ctypes.data,
            "zeros": zeros.ctypes.data, "scratch": memory + left, "outputs": shapes.outputs,
            **cut._asdict(),
            "result_batch": result.strides[0] * shapes.images,
            "result_group": result.strides[1] * shapes.outputs,
            "result_channel": result.strides[1], "start_group": start.strides[0],
            "panels": panels, "scratch_step": per_worker, "depth": depth,
            "chunks": len(plan.chunks), "chunk_table": plan.chunks.ctypes.data,
            "tiles": plan.tiles.ctypes.data, "runs": plan.runs.ctypes.data,
            "places": plan.places.ctypes.data, "packed_steps": packed_steps.ctypes.data,
        }  # fmt: skip
        planes, chunks = source.shape[0] // shapes.images * shapes.groups, len(plan.chunks)
        task = ("convolution", "convolve", char)
        is_even = planes % workers == 0 or planes >= MANY_PLANES
        grain = chunks if is_even else 1
        run(task, table, tasks.CONVOLVE_FIELDS, planes * chunks, grain)


def _pack(weight: Any, target: int, pieces: Table, char: str) -> None:
    """Bring the weight into the order in which tiles read it."""
    run(
        ("convolution", "pack_weight", char),
        {"weight": weight.ctypes.data, "target": target, "pieces": pieces.ctypes.data},
        tasks.PACK_FIELDS, len(pieces), max(len(pieces) // 16, 1),
    )  # fmt: skip


def _depth(inner: int) -> int:
    """Stretches of nearly equal length."""
    return max(-(-inner // max(-(-inner // DEPTH), 1)), 1)
