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
        attach_views(op, made, tensors[0], values, many, records, place)
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


def attach_views(
    op: Op, made: list[Tensor | None], source: Tensor, values: list[Any], many: bool, records: bool,
    place: tuple[Any, int],
) -> None:  # fmt: skip
    """Tell views their base and the step that makes each; they share the base's version cell.

    Args:
        op: What made them.
        made: The views: one, or with `many` all results in order.
        source: Of what they are views.
        values: The arguments.
        many, records: Whether there may be several, and whether they get a node.
        place: Where the program is.
    """
    if source._cell is INFERENCE:
        for tensor in made:
            if tensor is not None:
                tensor._cell = INFERENCE
        return
    cell, parent, args = cell_of(source), source._view, tuple(values[1:])
    creation = MULTIPLE if many else RECORDED
    if not state.grad_enabled:
        creation = INFERENCE_VIEW if state.inference else NO_GRAD_VIEW
    base: Tensor = source
    before: Steps = ()
    if parent is not None:
        base, before = parent.base, parent.steps
        if creation is RECORDED:
            creation = parent.creation
    position = (*place, op.name)
    for index, tensor in enumerate(made):
        if tensor is None:
            continue
        step = ("view_of_outputs", (op.name, args, index)) if many else (op.name, args)
        tensor._cell = cell
        tensor._view = View(base, (*before, step), creation, cell.version, position)
        if not records and base._requires_grad and tensor.dtype.is_differentiable:
            tensor._requires_grad = True


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
