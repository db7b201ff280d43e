"""Pooling by the library's tasks, on NumPy arrays."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from lamina.codegen.kernels.depthwise import convolve_depthwise
from lamina.codegen.kernels.gathering import Planes, Table, strips_of
from lamina.codegen.kernels.shapes import Shapes, dense_rows, entries, gathered, source_fields
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import pooling as tasks
from lamina.codegen.llvm import threads


class Windows(NamedTuple):
    """Windows over the last dimensions; `counts` is how many there are along each."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    counts: tuple[int, ...]


@final
@dataclass(frozen=True, eq=False)
class Places:
    """Where elements are in a flattened plane. What is made of them is remembered by the object.

    Attributes:
        starts: Where each window starts.
        steps: How far each element of a window is from there.
        firsts: How far the first element that is not in the padding is, for each window.
    """

    starts: Table
    steps: Table
    firsts: Table


@final
@dataclass(frozen=True)
class _Plan:
    planes: Planes
    entries: Table
    offsets: Table
    strips: Table


@functools.lru_cache(256)
def _plan(shapes: Shapes) -> _Plan:
    planes, (meeting,) = gathered(shapes)
    item, lanes = np.dtype(shapes.char).itemsize, lanes_of(shapes.char)
    strips, _ = strips_of(meeting, lanes, item)
    return _Plan(planes, entries(planes, item), meeting.offsets * item, strips)


def _as_planes(array: Any, rank: int) -> Any:
    """The array with exactly two dimensions, (N, C), before the last `rank`."""
    if array.ndim == rank + 2:
        return dense_rows(array)
    lead = array.shape[: array.ndim - rank]
    whole = np.ascontiguousarray(array)
    return whole.reshape(1, math.prod(lead), *array.shape[array.ndim - rank :])


def _shapes(array: Any, windows: Windows) -> Shapes:
    return Shapes(
        array.shape[2:], windows.size, windows.counts, windows.stride, windows.padding,
        windows.dilation, 1, 1, array.shape[1], 1, 0, 0, False, array.dtype.char,
    )  # fmt: skip


def _lanes(values: Any, strips: Table, item: int, lanes: int, kind: Any) -> Any:
    """What windows have, for each lane of each strip; the last again for lanes left over."""
    at = strips[:, 1, None] // item + np.minimum(np.arange(lanes), strips[:, 2, None] - 1)
    return np.ascontiguousarray(values[at].astype(kind))


@functools.lru_cache(256)
def _constant_fields(shapes: Shapes, fill: float) -> dict[str, int]:
    """What the tasks find in their table for all arrays of the same shapes."""
    plan, item = _plan(shapes), np.dtype(shapes.char).itemsize
    bits = np.zeros(8, np.uint8)
    bits[:item] = np.frombuffer(np.array(fill, shapes.char).tobytes(), np.uint8)
    return {
        **dict.fromkeys(tasks.POOL_FIELDS, 0), "fill": int(bits.view(np.int64)[0]),
        "scratch_step": rounded((plan.planes.size + lanes_of(shapes.char)) * item) + 64,
        "offsets": plan.offsets.ctypes.data, "count": len(plan.offsets),
        "strips": plan.strips.ctypes.data, "strip_count": len(plan.strips),
        "result_plane": math.prod(shapes.result) * item,
    }  # fmt: skip


def _run(name: str, array: Any, shapes: Shapes, fill: float, table: dict[str, int]) -> None:
    plan, constant = _plan(shapes), _constant_fields(shapes, fill)
    pieces = array.shape[0] * array.shape[1]
    with scratch(threads.capacity() * constant["scratch_step"]) as memory:
        complete = constant | table | source_fields(array, shapes, plan.planes, plan.entries)
        complete["scratch"] = memory
        address = ("pooling", name, shapes.char)
        run(address, complete, tasks.POOL_FIELDS, pieces, max(pieces // 64, 1))


@functools.lru_cache(256)
def _place_tables(shapes: Shapes, places: Places) -> tuple[Table, Table]:
    """Where strips start in a plane, and how far the first element inside is for each lane."""
    strips, item = _plan(shapes).strips, np.dtype(shapes.char).itemsize
    starts = np.ascontiguousarray(places.starts[strips[:, 1] // item])
    return starts, _lanes(places.firsts, strips, item, lanes_of(shapes.char), np.int32)


def largest(
    array: Any, windows: Windows, places: Places, wants_values: bool, wants_indices: bool
) -> tuple[Any, Any]:
    """The largest element of each window, its index in the flattened plane, or both; else None."""
    rank = len(windows.size)
    shape = (*array.shape[: array.ndim - rank], *windows.counts)
    values = np.empty(shape, array.dtype) if wants_values else None
    indices = np.empty(shape, np.int64) if wants_indices else None
    planes = _as_planes(array, rank)
    shapes = _shapes(planes, windows)
    starts, firsts = _place_tables(shapes, places)
    table = {
        "starts": starts.ctypes.data, "steps": places.steps.ctypes.data,
        "firsts": firsts.ctypes.data, "index_step": windows.stride[-1],
        "result": 0 if values is None else values.ctypes.data,
        "indices": 0 if indices is None else indices.ctypes.data,
    }  # fmt: skip
    _run("pool_largest", planes, shapes, -math.inf, table)
    return values, indices


@functools.lru_cache(256)
def _same_divisors(shapes: Shapes, divisor: float) -> Table:
    return _divisors(shapes, np.full(math.prod(shapes.result), divisor))


def _divisors(shapes: Shapes, divisors: Any) -> Table:
    strips, kind = _plan(shapes).strips, np.dtype(shapes.char)
    return _lanes(divisors.reshape(-1), strips, kind.itemsize, lanes_of(shapes.char), kind)


def means(array: Any, windows: Windows, divisor: Any) -> Any:
    """The sum of each window, divided by a number, or by one for each window."""
    rank = len(windows.size)
    shape = (*array.shape[: array.ndim - rank], *windows.counts)
    result = np.empty(shape, array.dtype)
    planes = _as_planes(array, rank)
    shapes = _shapes(planes, windows)
    if isinstance(divisor, np.ndarray):
        of_lanes = _divisors(shapes, np.broadcast_to(divisor, windows.counts))
    else:
        of_lanes = _same_divisors(shapes, divisor)
    table = {"result": result.ctypes.data, "divisors": of_lanes.ctypes.data}
    _run("pool_mean", planes, shapes, 0, table)
    return result


def spread(gradient: Any, windows: Windows, sizes: tuple[int, ...]) -> Any:
    """Each window's number, added to all elements of the window: (*lead, *sizes).

    That is a depthwise transposed convolution with a kernel of ones.
    """
    rank = len(windows.size)
    shape = (*gradient.shape[: gradient.ndim - rank], *sizes)
    result = np.empty(shape, gradient.dtype)
    planes = _as_planes(gradient, rank)
    channels = planes.shape[1]
    shapes = Shapes(
        planes.shape[2:], windows.size, sizes, windows.stride, windows.padding, windows.dilation,
        1, 1, channels, 1, 0, 0, True, gradient.dtype.char,
    )  # fmt: skip
    ones = np.broadcast_to(np.ones(windows.size, gradient.dtype), (channels, 1, *windows.size))
    target = result.reshape(planes.shape[0], channels, *sizes)
    convolve_depthwise(planes, ones, None, target, shapes)
    return result


def scatter(values: Any, indices: Any, sizes: tuple[int, ...]) -> Any:
    """Zero planes (*lead, *sizes) with elements added at indices; None if one is outside."""
    lead = values.shape[: values.ndim - len(sizes)]
    values, indices = np.ascontiguousarray(values), np.ascontiguousarray(indices)
    result = np.empty((*lead, *sizes), values.dtype)
    outside = np.zeros(1, np.int64)
    pieces = math.prod(lead)
    table = {
        "source": values.ctypes.data, "indices": indices.ctypes.data,
        "result": result.ctypes.data, "count": values.size // pieces, "area": math.prod(sizes),
        "outside": outside.ctypes.data,
    }  # fmt: skip
    address = ("pooling", "scatter_planes", values.dtype.char)
    run(address, table, tasks.SCATTER_FIELDS, pieces, max(pieces // 64, 1))
    return None if outside[0] else result
