"""Callers: what runs when a declared operation is called on tensors.

`execute` is the general way and does everything: promotion, devices, recording, views, `out=`.
`fast.py` has the short ways that small operations take.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.modes import door, state
from lamina.core.node import NOTHING, Node, OutputEdge, public_edge
from lamina.core.op import KEEP, TO_FLOAT, Declared, Joint, Op, Rule, catalogue, raw, traced
from lamina.core.origins import (
    CUT_INTEGER,
    CUT_NOT_DIFFERENTIABLE,
    INFERENCE_VIEW,
    MULTIPLE,
    NO_GRAD_VIEW,
    RECORDED,
)
from lamina.core.promotion import as_array, is_array, is_half, narrow, promote, widen_halves
from lamina.core.provenance import here
from lamina.core.records import note_cut, note_unrecorded
from lamina.core.saved import keep_input, keep_result, raw_saved, unpack
from lamina.core.tensor import (
    Tensor,
    cell_of,
    root_of,
    set_array,
    wrap,
)
from lamina.core.versions import INFERENCE, next_stamp
from lamina.core.views import Steps, View, refresh
from lamina.devices import CPU, current_recorder, device_of


class Context(NamedTuple):
    """What a node remembers beside kept values: the call's values, and the inputs' geometry."""

    values: tuple[Any, ...]
    shapes: tuple[Any, ...]
    dtypes: tuple[Any, ...]


class OpNode(Node):
    """A node of a declared operation: its rules compute the gradients of the inputs."""

    __slots__ = ()

    op: Op

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the gradients go to, each with the number of its output."""
        return tuple(map(public_edge, self.next[:1] if self.op.takes_number else self.next))

    def __call__(self, *gradients: Tensor) -> Any:
        """The gradients of the inputs, as tensors, given those of the outputs."""
        if len(gradients) != self.outputs:
            raise errors.ArgumentTypeError(
                f"expected {self.outputs} arguments, got {len(gradients)} instead: a gradient for "
                "each output"
            )
        found = self.pull(traced, gradients[0] if self.outputs == 1 else list(gradients))
        return found[0] if len(found) == 1 else tuple(found)

    def unpack(self, F: Any, slot: int) -> Any:
        """The kept value of one slot, checked."""
        if self.saved is None:
            raise blame.graph_freed(self)
        return unpack(self, self.saved[slot], F)

    def raw_saved(self, slot: int) -> Any:
        """The handle on the kept value of one slot, on which hooks can be put."""
        return raw_saved(self, slot)

    def pull(self, F: Any, g: Any) -> Any:
        """Run the rule of each input that wants a gradient."""
        op = self.op
        if g is None or (self.outputs > 1 and all(part is None for part in g)):
            return (None,) * len(self.next)
        if self.saved is None:
            raise blame.graph_freed(self)
        values: dict[tuple[str, Any], Any] = {}
        if op.joint is not None:
            position = op.tensor_positions[0]
            return op.joint(F, g, *[self._value(F, s, values) for s in op.getters[position]])
        grads: list[Any] = []
        shapes = self.context.shapes
        edge = 0
        for k, position in enumerate(op.tensor_positions):
            if position not in op.rules:
                continue
            count = len(shapes[k]) if isinstance(shapes[k], list) else 1
            if any(e is not None for e in self.next[edge : edge + count]):
                rule = op.rules[position]
                found = rule(F, g, *[self._value(F, s, values) for s in op.getters[position]])
                grads += found if isinstance(shapes[k], list) else [self._fitted(F, found, k)]
            else:
                grads += [None] * count
            edge += count
        return grads

    def remember(self, values: list[Any], made: list[Any], needs: tuple[bool, ...]) -> None:
        """Keep what the rules of the wanted gradients ask for, and nothing else."""
        op = self.op
        self.context = context_of(op, values)
        entries: list[Any] = []
        kept = op.kept_slots(needs)
        for (kind, position), wanted in zip(op.slots, kept, strict=True):
            if not wanted:
                entries.append(None)
            elif kind == "out":
                entries.append(keep_result(made[position], position))
            elif isinstance(values[position], list):
                entries.append(tuple(keep_input(item) for item in values[position]))
            else:
                entries.append(keep_input(values[position]))
        self.saved = tuple(entries) if any(kept) else NOTHING

    def _fitted(self, F: Any, gradient: Any, k: int) -> Any:
        """Undo broadcasting and promotion of input `k` in a gradient."""
        if gradient is None:
            return None
        shape, kind = self.context.shapes[k], self.context.dtypes[k]
        if self.op.dtypes is KEEP:
            # A half times a Python number may have become float32 on the way.
            lost = kind is not None and is_half(kind)
            return F.cast_like_input(gradient, kind) if lost else gradient
        if shape is not None and gradient.shape != shape:
            gradient = F.sum_to_size(gradient, shape)
        if kind is not None and getattr(gradient, "_array", gradient).dtype != kind:
            gradient = F.cast_like_input(gradient, kind)
        return gradient

    def _value(self, F: Any, source: tuple[str, Any], memo: dict[tuple[str, Any], Any]) -> Any:
        """What a rule's parameter stands for."""
        kind, position = source
        if kind in ("in", "out"):
            if source not in memo:
                memo[source] = unpack(self, self.saved[self.op.slots.index(source)], F)
            return memo[source]
        if kind == "static":
            return self.context.values[position]
        if kind == "needs":
            return tuple(edge is not None for edge in self.next)
        k = self.op.tensor_positions.index(position)
        return (self.context.shapes if kind == "shape" else self.context.dtypes)[k]


def operation(
    name: str,
    kernel: Callable[..., Any],
    *,
    tensors: str | None = None,
    grad: Mapping[str, Rule] | Joint | Rule | None = None,
    node_name: str | None = None,
    dtypes: str = KEEP,
    is_view: bool = False,
    result: type | None = None,
    halves_in_float: bool = True,
    samples: Any = None,
    doc: str = "",
) -> Declared:
    """Declare an operation; returns the function that users call on tensors.

    `tensors` names the tensor parameters in order ("input other"): a `*` before a name marks a
    list of tensors, a `?` one that may be None, a `#` one that may be a Python number; a `~` after
    it one that may be a number in host memory beside tensors of another device. The kernel
    becomes `raw.<name>` and the function `traced.<name>`.
    """
    op = Op(
        name,
        kernel,
        tensors=None if tensors is None else tensors.split(),
        grad=grad,
        node_name=node_name,
        dtypes=dtypes,
        is_view=is_view,
        result=result,
        halves_in_float=halves_in_float,
        samples=samples,
        doc=doc,
        node_base=OpNode,
    )

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return execute(op, op.bind(args, kwargs), out)

    return publish(op, call)


def publish(op: Op, call: Any) -> Declared:
    """Give a caller its public face, and put kernel and caller where rules find them."""
    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = op.doc
    call.op = op
    catalogue[op.name] = op
    setattr(raw, op.name, op.kernel)
    setattr(traced, op.name, call)
    public: Declared = call
    return public


# --- the general way ---------------------------------------------------------------------------


def execute(op: Op, values: list[Any], out: Any = None) -> Any:
    """Run an operation on bound values: check, promote, compute, wrap, record."""
    tensors = checked_tensors(op, values)
    if op.is_differentiable:
        for tensor in tensors:
            if tensor._view is not None:
                refresh(tensor)
    wants = any(tensor._requires_grad for tensor in tensors)
    if out is not None:
        blame.check_out(op.name, out, wants and state.grad_enabled, tensors)
        blame.check_out_device(op.name, out, tensors)
    if wants and state.grad_enabled and op.is_differentiable:
        for tensor in tensors:
            if tensor._array.__class__ is not tensors[0]._array.__class__:
                _bring_numbers(op, values, tensors)
                break
    result = compute(op, values, tensors)
    if out is not None:
        return write_out(op, out, result)
    records = wants and state.grad_enabled and op.is_differentiable
    if records:
        blame.check_derivatives(op, values)
    return _wrap_results(op, values, tensors, result, records, wants)


def checked_tensors(op: Op, values: list[Any]) -> list[Tensor]:
    """The tensors among the inputs, in order; lists are flattened. Bad kinds of input raise."""
    found: list[Tensor] = []
    for declared, position in zip(op.tensor_names, op.tensor_positions, strict=True):
        value = values[position]
        if isinstance(value, Tensor) and declared[0] != "*":
            found.append(value)
        elif declared[0] == "*" and isinstance(value, list | tuple):
            values[position] = value = list(value)
            for index, item in enumerate(value):
                if not isinstance(item, Tensor):
                    raise blame.not_a_tensor(op, declared, item, index)
            found += value
        elif isinstance(value, np.ndarray) and declared[0] != "*":
            values[position] = made = wrap(value, (*here(), "from_numpy", None, None))
            found.append(made)
        elif not _is_allowed(declared, value):
            raise blame.not_a_tensor(op, declared, value)
    return found


def _bring_numbers(op: Op, values: list[Any], tensors: list[Tensor]) -> None:
    """Move numbers in host memory that want a gradient to the device of the other inputs.

    Their gradients come back the same way. What wants none takes part as it is.
    """
    blame.check_devices(op, values, tensors)
    places = {device_of(tensor._array) for tensor in tensors} - {CPU}
    for position in op.tensor_positions:
        value = values[position]
        if isinstance(value, Tensor) and value._requires_grad and places:
            values[position] = value.to(next(iter(places)))


def _is_allowed(declared: str, value: Any) -> bool:
    if value is None:
        return declared[0] == "?"
    return declared[0] == "#" and isinstance(value, numbers.Number | np.generic)


def compute(op: Op, values: list[Any], tensors: Sequence[Tensor]) -> Any:
    """Run the kernel on the arrays of bound values, promoted as the op says."""
    for tensor in tensors:
        if tensor._array.__class__ is not np.ndarray:
            blame.check_devices(op, values, tensors)
            break
    arrays = list(values)
    for position in op.tensor_positions:
        value = arrays[position]
        if isinstance(value, Tensor):
            arrays[position] = value._array
        elif isinstance(value, list):
            arrays[position] = [item._array for item in value]
    half = None
    try:
        if op.check is not None:
            op.check(*[arrays[position] for position in op.tensor_positions])
        if op.dtypes is not KEEP:
            promote(arrays, op.tensor_positions, op.dtypes is TO_FLOAT)
        if op.halves_in_float:
            half = widen_halves(arrays, op.tensor_positions)
        if door.is_watched and (recorder := current_recorder()) is not None:
            arrays = [_lift(recorder, a) for a in arrays]
        by_name = dict(zip(op.names[op.positional :], arrays[op.positional :], strict=True))
        # Infinities and NaNs are results like any other; NumPy would warn of them.
        with np.errstate(all="ignore"):
            result = op.kernel(*arrays[: op.positional], **by_name)
    except errors.LaminaError:
        raise
    except Exception as error:
        raise blame.kernel_failed(op, values, tensors, error) from None
    if half is not None and ("dtype" not in op.names or values[op.names.index("dtype")] is None):
        result = narrow(result, half)
    return result


def _lift(recorder: Any, value: Any) -> Any:
    """While a step is captured: what stands for a concrete array in the program."""
    if isinstance(value, list):
        return [_lift(recorder, item) for item in value]
    return recorder.input(value) if is_array(value) else value


def _wrap_results(
    op: Op, values: list[Any], tensors: list[Tensor], result: Any, records: bool, wants: bool
) -> Any:
    """Tensors for the kernel's results, recorded if wanted."""
    many = isinstance(result, tuple | list)
    arrays = [as_array(part) for part in result] if many else [as_array(result)]
    place = here()
    differentiable = [
        a is not None and a.dtype.kind in "fcV" and k not in op.constants
        for k, a in enumerate(arrays)
    ]
    records = records and any(differentiable)
    origin = None if records else _origin(op, place, tensors, wants, arrays)
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


def _origin(op: Op, place: tuple[Any, int], tensors: list[Tensor], wants: bool, arrays: Any) -> Any:
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


def edge_of(tensor: Any) -> Any:
    """The edge that leads a gradient to a tensor; None if it wants none, or is a number."""
    if not isinstance(tensor, Tensor) or not tensor._requires_grad:
        return None
    return tensor if tensor._node is None else tensor._node


def record(op: Op, values: list[Any], made: list[Any], place: tuple[Any, int]) -> Any:
    """The node of a call: edges, position, and what its rules need to remember."""
    node: Any = op.node_class()
    node.next = tuple(edge_of(tensor) for tensor in _all_inputs(op, values))
    node.code, node.lasti = place
    node._hooks = None
    node.outputs = len(made)
    node.stamp = next_stamp()
    if state.pack_hooks:  # they see results as what they are: computed from something
        for index, tensor in enumerate(made):
            if tensor is not None and tensor.dtype.is_differentiable:
                tensor._node = OutputEdge(node, index) if len(made) > 1 else node
                tensor._requires_grad = True
    node.remember(values, made, tuple(_needs(values[p]) for p in op.tensor_positions))
    return node


def _all_inputs(op: Op, values: list[Any]) -> list[Any]:
    """One entry for each edge: tensors, and stand-ins for inputs that are no tensors.

    An input without a derivative, such as an index, has no edge.
    """
    found: list[Any] = []
    for position in op.tensor_positions:
        if position not in op.rules:
            continue
        value = values[position]
        found += value if isinstance(value, list) else [value]
    return found


def _needs(value: Any) -> bool:
    if isinstance(value, list):
        return any(item._requires_grad for item in value)
    return isinstance(value, Tensor) and value._requires_grad


def context_of(op: Op, values: list[Any]) -> Context:
    """The call's plain values and the geometry of its tensor inputs."""
    plain = list(values)
    shapes: list[Any] = []
    kinds: list[Any] = []
    for position in op.tensor_positions:
        value = values[position]
        if isinstance(value, Tensor):
            shapes.append(value._array.shape)
            kinds.append(value._array.dtype)
            plain[position] = None
        elif isinstance(value, list):
            shapes.append([item._array.shape for item in value])
            kinds.append([item._array.dtype for item in value])
            plain[position] = None
        else:
            shapes.append(None)
            kinds.append(None)
    return Context(tuple(plain), tuple(shapes), tuple(kinds))


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
        set_array(out, result.astype(out._array.dtype))
    else:
        out._array[...] = result
    cell_of(out).bump(*here())
    return out


# The door is read by the short ways; nothing else of it is needed here.
__all__ = [
    "Context",
    "OpNode",
    "as_array",
    "checked_tensors",
    "compute",
    "context_of",
    "door",
    "edge_of",
    "execute",
    "operation",
    "publish",
    "record",
]
