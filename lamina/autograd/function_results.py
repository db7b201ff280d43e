"""What comes out of a custom Function: outputs put into the graph, gradients fitted to inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lamina import errors
from lamina.autograd import function_blame
from lamina.core.inplace import rebase
from lamina.core.node import OutputEdge
from lamina.core.op import traced
from lamina.core.op_node import edge_of
from lamina.core.origins import CUT_NO_GRAD, CUT_NOT_DIFFERENTIABLE, FUNCTION, MULTIPLE
from lamina.core.promotion import as_array
from lamina.core.saved import keep_input, keep_result
from lamina.core.tensor import Tensor, cell_of, root_of, wrap
from lamina.core.versions import INFERENCE, next_stamp
from lamina.core.views import View
from lamina.core.warning import warn
from lamina.devices import device_of

__all__ = [
    "Call",
    "as_array",
    "edge_of",
    "fitted_gradients",
    "geometry_of",
    "plain_outputs",
    "recorded_outputs",
    "zeros",
]


class Call(NamedTuple):
    """One call of a Function."""

    cls: Any
    ctx: Any
    args: tuple[Any, ...]
    place: Any

    @property
    def tensors(self) -> list[Tensor]:
        """The arguments that are tensors."""
        return [argument for argument in self.args if isinstance(argument, Tensor)]


class Geometry(NamedTuple):
    """What a gradient must fit: shape, dtype, and an array to make others like it from."""

    shape: tuple[int, ...]
    dtype: Any
    model: Any


def geometry_of(value: Any) -> Geometry | None:
    """The geometry of a tensor; None for anything else."""
    if not isinstance(value, Tensor):
        return None
    array = value._array
    if array.__class__ is np.ndarray or value.is_sparse:  # whose gradients are dense
        return Geometry(array.shape, array.dtype, None)
    # An empty slice keeps the device in mind, and no more than that.
    return Geometry(array.shape, array.dtype, array[..., :0] if array.ndim else array)


def zeros(kind: Geometry, origin: Any) -> Tensor:
    """Zeros in place of a gradient that did not arrive."""
    if kind.model is None:
        return wrap(np.zeros(kind.shape, kind.dtype), origin)
    return wrap(np.zeros_like(kind.model, shape=kind.shape, dtype=kind.dtype), origin)


def _is_among(tensor: Any, tensors: Any) -> bool:
    return any(tensor is other for other in tensors or ())


# --- outputs --------------------------------------------------------------------------------------


def plain_outputs(call: Call, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The outputs of a call that is not recorded: none of them requires grad."""
    reason = CUT_NO_GRAD if any(call.ctx.needs_input_grad) else None
    return tuple(
        _without_gradient(call, output, reason) if isinstance(output, Tensor) else output
        for output in outputs
    )


def _without_gradient(call: Call, output: Tensor, reason: Any) -> Tensor:
    """An output as a tensor outside the graph; itself, if it is that already."""
    is_dirty = _is_among(output, call.ctx.dirty_tensors)
    if not output.requires_grad and (is_dirty or not _is_among(output, call.tensors)):
        return output
    root = None if reason else root_of(*call.tensors)
    made = wrap(output._array, (*call.place, call.cls.__name__, reason, root))
    if output._cell is not INFERENCE:
        made._cell = cell_of(output)
    return made


def recorded_outputs(call: Call, node: Any, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The outputs as results of `node`, which keeps what was to be saved."""
    ctx = call.ctx
    for tensor in ctx.dirty_tensors or ():
        if not _is_among(tensor, outputs):
            raise function_blame.dirty_not_returned(call, tensor)
        if not _is_among(tensor, call.tensors):
            warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors "
                "that have been mutated should be passed to ctx.mark_dirty()."
            )
    node.outputs = len(outputs)
    node.kinds = tuple(geometry_of(output) for output in outputs)
    differentiable = [
        isinstance(output, Tensor)
        and output.dtype.is_differentiable
        and not _is_among(output, ctx.non_differentiable)
        for output in outputs
    ]
    _check_dirty(call, outputs)
    made = []
    for index, output in enumerate(outputs):
        if differentiable[index]:
            edge = node if len(outputs) == 1 else OutputEdge(node, index)
            made.append(_recorded(call, node, edge, output, sum(differentiable) > 1))
        elif isinstance(output, Tensor):
            made.append(_without_gradient(call, output, CUT_NOT_DIFFERENTIABLE))
        else:
            made.append(output)
    _keep(node, outputs, made)
    return tuple(made)


def _check_dirty(call: Call, outputs: tuple[Any, ...]) -> None:
    for tensor in call.ctx.dirty_tensors or ():
        if tensor._requires_grad and tensor._node is None and tensor._view is None:
            raise function_blame.dirty_leaf(call, tensor)
        if tensor._view is not None and tensor._view.base._requires_grad:
            base = tensor._view.base
            if base._node is None:
                raise function_blame.dirty_leaf(call, base)
        if tensor._view is not None and len(outputs) > 1:
            raise function_blame.dirty_view_of_many(call, tensor)


def _recorded(call: Call, node: Any, edge: Any, output: Tensor, is_one_of_many: bool) -> Tensor:
    """One output in its place in the graph: the same object where that may be changed."""
    if _is_among(output, call.ctx.dirty_tensors) and _is_among(output, call.tensors):
        _rebase(call, node, edge, output)
        return output
    made = output
    cell = cell_of(output)
    if _is_among(output, call.tensors):
        made = wrap(output._array, None)
        made._cell = cell
        base, steps = (
            (output, ()) if output._view is None else (output._view.base, output._view.steps)
        )
        made._view = View(base, steps, FUNCTION, cell.version, (*call.place, call.cls.__name__))
    elif made._view is not None:
        made._view.creation = MULTIPLE if is_one_of_many else FUNCTION
        made._view.version = cell.version
        made._view.origin = (*call.place, call.cls.__name__)
    made._node = edge
    made._requires_grad = True
    made._origin = None
    return made


def _rebase(call: Call, node: Any, edge: Any, target: Tensor) -> None:
    """Give a changed input its new history; for a view, that of its base changes."""
    if target._view is not None:
        # The base's gradient must go through the edge of this input first.
        first = next(k for k, argument in enumerate(call.args) if argument is target)
        node.order = (first, *(k for k in range(len(call.args)) if k != first))
        node.next = tuple(node.next[k] for k in node.order)
    history = wrap(target._array, None)
    history._node = edge
    rebase(target, history)
    if target._view is None:
        target._node = edge
    cell_of(target).bump(*call.place)
    if target._view is not None:
        target._view.version = cell_of(target).version


def _keep(node: Any, outputs: tuple[Any, ...], made: list[Any]) -> None:
    """Keep what was given to `save_for_backward`; an output without a reference cycle."""
    if not node.ctx.to_save:
        return
    entries: list[Any] = []
    for tensor in node.ctx.to_save:
        index = next((k for k, output in enumerate(outputs) if output is tensor), None)
        if tensor is None:
            entries.append(None)
        elif index is not None and made[index]._node is not None and _leads_to(made[index], node):
            entries.append(keep_result(made[index], index))
        else:
            entries.append(keep_input(tensor))
    node.saved = tuple(entries)
    node.ctx.to_save = None
    node.stamp = next_stamp()


def _leads_to(tensor: Tensor, node: Any) -> bool:
    return getattr(tensor._node, "node", tensor._node) is node


# --- gradients ------------------------------------------------------------------------------------


def fitted_gradients(node: Any, found: Any) -> list[Any]:
    """What the user's backward returned, as one gradient for each argument that fits it."""
    gradients = list(found) if isinstance(found, tuple) else [found]
    expected = len(node.geometry)
    while len(gradients) > expected and gradients[-1] is None:
        gradients.pop()
    if len(gradients) != expected:
        raise function_blame.wrong_number(node, len(gradients))
    edges = _edges_by_argument(node)
    return [
        _fitted(node, index, gradient, edges[index]) for index, gradient in enumerate(gradients)
    ]


def _edges_by_argument(node: Any) -> list[Any]:
    edges = list(node.next)
    if node.order is not None:
        for position, argument in enumerate(node.order):
            edges[argument] = node.next[position]
    return edges


def _fitted(node: Any, index: int, gradient: Any, edge: Any) -> Any:
    """One gradient, summed and cast to the shape and dtype of its argument."""
    kind: Geometry | None = node.geometry[index]
    if gradient is None:
        return None
    if kind is None:
        raise function_blame.not_a_variable(node, index)
    if not isinstance(gradient, Tensor):
        raise function_blame.not_a_gradient(node, gradient)
    if edge is None:
        return None
    array = gradient._array
    if array.shape != kind.shape:
        if not _broadcasts(kind.shape, array.shape):
            raise function_blame.wrong_shape(node, index, array.shape, kind.shape)
        gradient = traced.sum_to_size(gradient, kind.shape)
    if array.dtype != kind.dtype:
        if array.dtype.kind == "c" and np.dtype(kind.dtype).kind != "c":
            raise function_blame.complex_for_real(node, index)
        gradient = traced.cast_like_input(gradient, kind.dtype)
    _check_device(node, index, array, kind)
    return gradient


def _broadcasts(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    """Whether a tensor of `shape` can be expanded to the shape `larger`."""
    if len(shape) > len(larger):
        return False
    return all(a in (b, 1) for a, b in zip(reversed(shape), reversed(larger), strict=False))


def _check_device(node: Any, index: int, array: Any, kind: Geometry) -> None:
    expected = device_of(np.empty(0) if kind.model is None else kind.model)
    if device_of(array) != expected:
        raise errors.InvalidGradient(
            f"Function {node.name()} returned an invalid gradient at index {index} - expected "
            f"device {expected} but got {device_of(array)}",
            function_blame.notes(node),
            [f"move it: `.to({str(expected)!r})`"],
        )
