"""Which elements of an image each position of a kernel meets, as tables for the tasks.

A convolution and its transpose are the same here. Along each dimension there are phases: sets of
results, one every `step`, that meet the same elements of the kernel. A convolution has one phase;
a transposed one with stride s has s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple, final

import numpy as np

PACKING: Final = 5
"""Packing a tile takes about as long as multiplying it with so many rows."""

Table = np.ndarray[Any, np.dtype[np.int64]]


class Phase(NamedTuple):
    """Results that meet the same elements of a kernel, along one dimension.

    Result `first + step * t`, for t below `length`, is the sum over `elements`, pairs (element of
    the kernel, offset), of what the source has at `t * stride + offset`.
    """

    first: int
    step: int
    length: int
    stride: int
    elements: tuple[tuple[int, int], ...]


def forward_phases(
    result: int, kernel: int, stride: int, padding: int, dilation: int
) -> list[Phase]:
    """The phase of a convolution."""
    elements = tuple((i, i * dilation - padding) for i in range(kernel))
    return [Phase(0, 1, result, stride, elements)]


def transposed_phases(
    result: int, kernel: int, stride: int, padding: int, dilation: int
) -> list[Phase]:
    """The phases of a transposed convolution."""
    made = []
    for first in range(min(stride, result)):
        here = first + padding
        elements = tuple(
            (i, (here - i * dilation) // stride)
            for i in range(kernel)
            if (here - i * dilation) % stride == 0
        )
        made.append(Phase(first, stride, len(range(first, result, stride)), 1, elements))
    return made


@final
@dataclass(frozen=True)
class Planes:
    """How a channel of an image is laid out, with zeros around, for kernels to go over.

    Attributes:
        size: How many elements a channel takes.
        entries: (source offset, target offset, count) for each stretch that is copied; elements.
        step: The distance of a stretch's elements in the source, in elements.
    """

    size: int
    entries: Table
    step: int


@final
@dataclass(frozen=True)
class Meeting:
    """A combination of one phase for each dimension.

    Attributes:
        kernel: The elements of the kernel that are met, flattened.
        offsets: Where in a plane they are for the first position.
        positions: Where each position is, relative to the first.
        places: Where each position's result is in the flattened result.
    """

    kernel: Table
    offsets: Table
    positions: Table
    places: Table


class Sizes(NamedTuple):
    """Dimensions that a kernel goes over, and the steps between elements along each.

    Attributes:
        source, kernel, result: The sizes.
        source_steps, result_steps: How far neighbours are apart, in elements.
    """

    source: tuple[int, ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]
    source_steps: tuple[int, ...]
    result_steps: tuple[int, ...]


def gather(sizes: Sizes, phases: Sequence[Sequence[Phase]]) -> tuple[Planes, list[Meeting]]:
    """The layout of planes for some phases along each dimension, and all their combinations."""
    source = sizes.source
    lows, lengths = [], []
    for own in phases:
        reached = [
            (offset, (phase.length - 1) * phase.stride + offset)
            for phase in own if phase.length for _, offset in phase.elements
        ]  # fmt: skip
        low = max([0, *(-first for first, _ in reached)])
        lows.append(low)
        lengths.append(max([1, *(last + low + 1 for _, last in reached)]))
    stride = phases[-1][0].stride
    width = -(-lengths[-1] // stride)  # elements that a strided kernel meets lie side by side
    steps = [0] * len(source)
    size = stride * width
    for k in reversed(range(len(source) - 1)):
        steps[k], size = size, size * lengths[k]
    planes = Planes(_apart(size), _entries(sizes, lows, lengths, steps, stride, width), stride)
    meetings = [
        _meeting(combination, sizes, lows, steps, stride, width) for combination in product(*phases)
    ]
    return planes, meetings


def _apart(size: int) -> int:
    """At least so many elements, but no multiple of 256.

    Planes whose distance is a multiple of a power of two share few lines of a cache.
    """
    return size if size % 256 else size + 16


def _grid(parts: Sequence[Table]) -> Table:
    """Sums of one number from each part, in row-major order."""
    total: Table = np.zeros(1, np.int64)
    for part in parts:
        total = (total[:, None] + part[None, :]).reshape(-1)
    return total


def _entries(
    sizes: Sizes, lows: Sequence[int], lengths: Sequence[int], steps: Sequence[int],
    stride: int, width: int,
) -> Table:  # fmt: skip
    source = sizes.source
    origins, homes = [], []
    for k in range(len(source) - 1):
        count = max(min(source[k], lengths[k] - lows[k]), 0)
        origins.append(np.arange(count, dtype=np.int64) * sizes.source_steps[k])
        homes.append((np.arange(count, dtype=np.int64) + lows[k]) * steps[k])
    rows, places = _grid(origins), _grid(homes)
    low, size = lows[-1], source[-1]
    made = []
    for first in range(min(stride, size)):
        phase, column = (first + low) % stride, (first + low) // stride
        count = min(len(range(first, size, stride)), width - column)
        if count > 0:
            part = np.empty((len(rows), 3), np.int64)
            part[:, 0], part[:, 1] = rows + first, places + phase * width + column
            part[:, 2] = count
            made.append(part)
    found = np.concatenate(made) if made else np.empty((0, 3), np.int64)
    return np.ascontiguousarray(found)


def _meeting(
    combination: Sequence[Phase], sizes: Sizes, lows: Sequence[int], steps: Sequence[int],
    stride: int, width: int,
) -> Meeting:  # fmt: skip
    elements, offsets, positions, places = [], [], [], []
    last = len(combination) - 1
    kernel_step = 1
    for k in reversed(range(len(combination))):
        phase = combination[k]
        t = np.arange(phase.length, dtype=np.int64)
        places.append((phase.first + phase.step * t) * sizes.result_steps[k])
        elements.append(np.array([i for i, _ in phase.elements], np.int64) * kernel_step)
        reach = np.array([offset for _, offset in phase.elements], np.int64) + lows[k]
        if k == last:
            offsets.append(reach % stride * width + reach // stride)
            positions.append(t)
        else:
            offsets.append(reach * steps[k])
            positions.append(t * phase.stride * steps[k])
        kernel_step *= sizes.kernel[k]
    return Meeting(*(_grid(part[::-1]) for part in (elements, offsets, positions, places)))


class Tiles(NamedTuple):
    """Columns in tiles of two vectors, and the runs that each is gathered from, in bytes.

    Attributes:
        tiles: For each what `TILE` names: its runs; where its vectors can be read in place, -1 if
            not; places and lanes of the results of both, below zero where results do not lie
            side by side.
        runs: For each what `RUN` names.
        places: Where each lane's result is, relative to the first of its vector.
    """

    tiles: Table
    runs: Table
    places: Table


def tiles_of(meeting: Meeting, lanes: int, item: int) -> Tiles:
    """The positions of a meeting in tiles."""
    positions, places, across = meeting.positions, meeting.places, 2 * lanes
    count = len(positions)
    lane = np.arange(count) % across
    starts = run_starts((lane == 0) | np.r_[True, np.diff(positions) != 1][:count], lanes)
    firsts = np.arange(0, count, across)
    room = across - lane[starts]
    runs = np.stack(
        [positions[starts] * item, lane[starts], np.where(room < lanes, room, 0)], 1
    )  # fmt: skip
    first_run = np.searchsorted(starts, firsts)
    run_count = np.searchsorted(starts, np.r_[firsts[1:], count]) - first_run
    begins = np.minimum(np.stack([firsts, firsts + lanes], 1), count - 1)
    widths = np.clip(count - np.stack([firsts, firsts + lanes], 1), 0, lanes)
    ends = np.maximum(begins + widths - 1, begins)
    is_run = (positions[ends] - positions[begins] == lanes - 1) & (widths == lanes)
    # Positions only grow, so a vector whose ends are a vector apart is one run.
    is_direct = is_run[:, 0] & (is_run[:, 1] | (widths[:, 1] == 0))
    direct = np.where(is_direct[:, None], positions[begins] * item, -1)
    side_by_side = places[ends] - places[begins] == np.maximum(widths - 1, 0)
    width = np.where(side_by_side, widths, -widths)
    tiles = np.stack(
        [first_run, run_count, *direct.T, places[begins[:, 0]] * item, width[:, 0],
         places[begins[:, 1]] * item, width[:, 1]],
        1,
    )  # fmt: skip
    each = np.minimum(firsts[:, None] + np.arange(across), count - 1).reshape(-1, 2, lanes)
    relative = (places[each] - places[begins][:, :, None]) * item
    return Tiles(tiles.astype(np.int64), runs.astype(np.int64), relative.astype(np.int64))


def strip_tiles_of(meeting: Meeting, lanes: int, item: int) -> Tiles:
    """The positions of a meeting in tiles of two strips, which are read in place.

    Nothing is packed for them, but the last lanes of each row of positions may be idle.
    """
    strips, step = strips_of(meeting, lanes, item)
    if len(strips) % 2:
        strips = np.concatenate([strips, [[strips[-1, 0], strips[-1, 1], 0]]])
    widths = strips[:, 2] if step == item else -strips[:, 2]
    columns = np.stack([strips[:, 0], strips[:, 1], widths], 1).reshape(-1, 2, 3)
    none = np.zeros(len(columns), np.int64)
    tiles = np.stack(
        [none, none, *columns[:, :, 0].T, *columns[:, 0, 1:].T, *columns[:, 1, 1:].T], 1
    )  # fmt: skip
    places = np.broadcast_to(np.arange(lanes) * step, (len(columns), 2, lanes))
    runs = np.empty((0, 3), np.int64)
    return Tiles(tiles.astype(np.int64), runs, np.ascontiguousarray(places, np.int64))


def best_tiles_of(meeting: Meeting, lanes: int, item: int, rows: int) -> Tiles:
    """The tiles that take less time, for a product with so many rows."""
    packed = tiles_of(meeting, lanes, item)
    if not len(packed.tiles) or (packed.tiles[:, 2] >= 0).all():
        return packed
    strips = strip_tiles_of(meeting, lanes, item)
    time_packed = np.count_nonzero(packed.tiles[:, [5, 7]]) * (rows + PACKING)
    return strips if np.count_nonzero(strips.tiles[:, [5, 7]]) * rows < time_packed else packed


def run_starts(is_start: Any, most: int) -> Table:
    """Where runs start that are at most so long."""
    starts = np.flatnonzero(is_start)
    lengths = np.diff(np.r_[starts, len(is_start)])
    parts = -(-lengths // most)
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    return (np.repeat(starts, parts) + within * most).astype(np.int64)


def strips_of(meeting: Meeting, lanes: int, item: int) -> tuple[Table, int]:
    """The positions of a meeting as strips side by side, and the step between their results.

    A strip is (offset, place of the first result, count of lanes), in bytes.
    """
    positions, places = meeting.positions, meeting.places
    count = len(positions)
    steps = np.diff(places)
    step = int(steps[0]) if count > 1 and positions[1] - positions[0] == 1 else 1
    is_apart = (np.diff(positions) != 1) | (steps != step)
    starts = run_starts(np.r_[True, is_apart][:count], lanes)
    widths = np.diff(np.r_[starts, count])
    strips = np.stack([positions[starts] * item, places[starts] * item, widths], 1)
    return strips.astype(np.int64), step * item
