"""What becomes of a kernel's arrays: tensors, views of their bases, or contents of `out=`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core import blame
from lamina.core.modes import state
from lamina.core.node import OutputEdge
from lamina.core.op import Op
from lamina.core.op_node import record
from lamina.core.origins import (
    CUT_INTEGER,
    CUT_NOT_DIFFERENTIABLE,
    INFERENCE_VIEW,
    MULTIPLE,
    NO_GRAD_VIEW,
    RECORDED,
)
from lamina.core.positions import here
from lamina.core.promotion import as_array
from lamina.core.records import note_cut, note_unrecorded
from lamina.core.tensor import (
    Tensor,
    cell_of,
    root_of,
    set_array,
    wrap,
)
from lamina.core.versions import INFERENCE
from lamina.core.views import Steps, View


def wrap_results(
    op: Op, values: list[Any], tensors: list[Tensor], result: Any, records: bool, wants: bool
) -> Any:
    """Tensors for the kernel's results, recorded if wanted."""
    many = isinstance(result, tuple | list)
    parts = result if many else (result,)
    arrays = [part if part.__class__ is np.ndarray else as_array(part) for part in parts]
    place = here()
    differentiable = [
        a is not None and a.dtype.kind in "fcV" and k not in op.constants
        for k, a in enumerate(arrays)
    ]
    records = records and any(differentiable)
    origin = None if records else origin_of(op, place, tensors, wants)
    made = [None if a is None else wrap(a, origin) for a in arrays]
    if op.is_view and tensors:
        for index, tensor in enumerate(made):
            if tensor is not None:
                attach_view(op, tensor, tensors[0], values, index if many else None, records)
    if records:
        node = record(op, values, made, place)
        for index, tensor in enumerate(made):
            if tensor is not None and differentiable[index]:
                tensor._node = OutputEdge(node, index) if len(made) > 1 else node
                tensor._requires_grad = True
            elif tensor is not None:
                tensor._origin = (*place, op.name, CUT_INTEGER, None)
    if not many:
        return made[0]
    return op.result(*made) if op.result is not None else tuple(made)


def origin_of(op: Op, place: tuple[Any, int], tensors: list[Tensor], wants: bool) -> Any:
    """Where an unrecorded result came from, and what cut the graph if anything did."""
    reason = None
    if wants:
        if state.inference:
            reason = state.off_reason
        elif not state.grad_enabled:
            reason = state.off_reason
            note_unrecorded(place, op.name, reason, tensors)
        elif not op.is_differentiable:
            reason = CUT_NOT_DIFFERENTIABLE
        else:
            reason = CUT_INTEGER
        if reason is CUT_INTEGER or reason is CUT_NOT_DIFFERENTIABLE:
            note_cut(place, op.name, reason, tensors)
    return (*place, op.name, reason, None if reason else root_of(*tensors))


def attach_view(
    op: Op, made: Tensor, source: Tensor, values: list[Any], index: int | None, records: bool
) -> None:
    """Tell a view its base and the step that makes it; it shares the base's version cell."""
    if source._cell is INFERENCE:
        made._cell = INFERENCE
        return
    if made._array is source._array and not op.is_view:
        return
    cell = cell_of(source)
    made._cell = cell
    args = tuple(values[1:])
    step = (op.name, args) if index is None else ("view_of_outputs", (op.name, args, index))
    parent = source._view
    creation = RECORDED
    if index is not None:
        creation = MULTIPLE
    if not state.grad_enabled:
        creation = INFERENCE_VIEW if state.inference else NO_GRAD_VIEW
    base = source
    steps: Steps = (step,)
    if parent is not None:
        base, steps = parent.base, (*parent.steps, step)
        if creation is RECORDED:
            creation = parent.creation
    made._view = View(base, steps, creation, cell.version, (*here(), op.name))
    if not records and base._requires_grad and made.dtype.is_differentiable:
        made._requires_grad = True


def write_out(op: Op, out: Any, result: Any) -> Any:
    """Write results into the tensors given as `out=`; wrong sizes are resized, as PyTorch does."""
    if isinstance(result, tuple | list):
        for target, part in zip(out, result, strict=True):
            write_out(op, target, part)
        return out
    result = as_array(result)
    blame.check_out_dtype(op.name, out, result)
    if out._array.shape != result.shape:
        blame.warn_of_resize(out, result.shape)
        set_array(out, result.astype(out._array.dtype))
    else:
        out._array[...] = result
    cell_of(out).bump(*here())
    return out
