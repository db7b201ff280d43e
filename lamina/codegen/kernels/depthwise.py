"""Depthwise convolutions by the library's tasks, on NumPy arrays."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lamina.codegen.kernels.gathering import Planes, Table, strips_of
from lamina.codegen.kernels.shapes import Shapes, entries, gathered, source_fields
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import depthwise as tasks
from lamina.codegen.llvm import threads


@final
@dataclass(frozen=True)
class _Plan:
    planes: Planes
    entries: Table
    phases: Table
    strips: Table
    offsets: list[Table]
    elements: list[Table]


@functools.lru_cache(256)
def _plan(shapes: Shapes) -> _Plan:
    planes, meetings = gathered(shapes)
    item, lanes = np.dtype(shapes.char).itemsize, lanes_of(shapes.char)
    phases, strips, offsets, elements = [], [], [], []
    count = 0
    for meeting in meetings:
        offsets.append(meeting.offsets * item)
        elements.append(meeting.kernel * item)
        made, step = strips_of(meeting, lanes, item)
        spare = -len(made) % tasks.VECTORS
        idle = np.array([[0, 0, 0]] * spare, np.int64).reshape(spare, 3)
        made = np.concatenate([made, idle])
        phases.append(
            (offsets[-1].ctypes.data, elements[-1].ctypes.data, len(meeting.kernel), count,
             len(made), step)
        )  # fmt: skip
        count += len(made)
        strips.append(made)
    return _Plan(
        planes, entries(planes, item), np.array(phases, np.int64), np.concatenate(strips),
        offsets, elements,
    )  # fmt: skip


def convolve_depthwise(source: Any, weight: Any, bias: Any, result: Any, shapes: Shapes) -> None:
    """Write a convolution whose groups have one channel each, and one result."""
    char, item = shapes.char, source.itemsize
    plan = _plan(shapes)
    start = np.zeros(shapes.groups, source.dtype) if bias is None else np.ascontiguousarray(bias)
    # Strips may read a vector past a plane's end.
    per_worker = rounded((plan.planes.size + lanes_of(char)) * item) + 64
    with scratch(threads.capacity() * per_worker) as memory:
        table = {
            **source_fields(source, shapes, plan.planes, plan.entries),
            "result": result.ctypes.data, "weight": weight.ctypes.data,
            "start": start.ctypes.data, "scratch": memory, "result_batch": result.strides[0],
            "result_group": result.strides[1], "weight_group": weight.strides[0],
            "scratch_step": per_worker, "phases": len(plan.phases),
            "phase_table": plan.phases.ctypes.data, "strips": plan.strips.ctypes.data,
        }  # fmt: skip
        pieces = source.shape[0] * shapes.groups
        run(
            ("depthwise", "convolve_depthwise", char), table, tasks.DEPTHWISE_FIELDS,
            pieces, max(pieces // 64, 1),
        )  # fmt: skip


def convolve_depthwise_for_weight(source: Any, gradient: Any, result: Any, shapes: Shapes) -> None:
    """Write the gradient of the weight of a convolution with one channel a group."""
    char, item = shapes.char, source.itemsize
    plan, lanes = _plan(shapes), lanes_of(char)
    (offsets,) = plan.offsets
    padded = np.r_[offsets, np.repeat(offsets[-1:], -len(offsets) % tasks.ELEMENTS)]
    sums = rounded((plan.planes.size + lanes) * item)
    per_worker = sums + len(padded) * lanes * item + 64
    with scratch(threads.capacity() * rounded(per_worker)) as memory:
        table = {
            **source_fields(source, shapes, plan.planes, plan.entries),
            "gradient": gradient.ctypes.data, "result": result.ctypes.data, "scratch": memory,
            "batch": source.shape[0], "gradient_batch": gradient.strides[0],
            "gradient_group": gradient.strides[1], "offsets": padded.ctypes.data,
            "count": len(offsets), "strips": plan.strips.ctypes.data,
            "strip_count": len(plan.strips), "result_group": result[0].nbytes,
            "sums": sums, "scratch_step": rounded(per_worker),
        }  # fmt: skip
        run(
            ("depthwise", "weigh_depthwise", char), table,
            tasks.DEPTHWISE_WEIGHT_FIELDS, shapes.groups,
        )  # fmt: skip
