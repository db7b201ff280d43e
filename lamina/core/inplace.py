"""Changes in place: the out-of-place operation, a write, and a new place in the graph.

An in-place operation is not a second set of rules. The operation runs as ever; its result is
written over the old values; and the tensor takes over the result's node. For a view, the base takes
a `CopySlices` node, which applies that node to its part of the base's gradient; the view itself and
all other views of the base find their new node when next asked (`views.refresh`).

Everything that can fail is done before the write, so a failing operation leaves values, version and
graph as they were.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from lamina.codegen.later import Later
from lamina.codegen.vectorized import LEAST_SHARED, shared
from lamina.core import blame
from lamina.core.batches import note_before_write
from lamina.core.call import checked_tensors, compute, execute
from lamina.core.hooks import hooks_of
from lamina.core.modes import door, state
from lamina.core.node import NOTHING, Node, OutputEdge, public_edge
from lamina.core.op import KEEP, Op, camel
from lamina.core.op_node import edge_of
from lamina.core.origins import RECORDED
from lamina.core.plain_call import NOT_PLAIN, plain_result
from lamina.core.plain_writes import changed_by_ufunc, changed_plainly, note_written
from lamina.core.positions import here
from lamina.core.promotion import FLOAT32, FLOAT64
from lamina.core.saved import KeptResult, Overwritten
from lamina.core.tangents import carry_over, forget_tangents, innermost_level
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import INFERENCE, next_stamp
from lamina.core.views import refresh, replay
from lamina.devices import current_recorder
from lamina.devices.batched import recorded

if TYPE_CHECKING:
    from lamina.core import tangent_calls
else:
    tangent_calls = Later("lamina.core.tangent_calls")


def inplace(function: Callable[..., Any], doc: str | None = None) -> Callable[..., Any]:
    """The in-place form of a declared operation: `x.exp_()` from `exp`."""
    op: Op = function.op  # type: ignore[attr-defined]
    if op.ufunc is not None:
        return change_by_ufunc(op, doc)

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return apply_inplace(op, self, op.bind((self, *args), kwargs))

    change.__name__ = change.__qualname__ = op.name + "_"
    change.__doc__ = doc or f"In-place form of `{op.name}`: the result replaces the values."
    return change


def change_by_ufunc(op: Op, doc: str | None = None) -> Callable[..., Any]:
    """The in-place form of a ufunc, with a short way: it writes into its first operand itself.

    That way is for contiguous float tensors while nothing is recorded, as in an optimizer: 1.1 us
    instead of 12.
    """
    ufunc, is_unary = op.ufunc, len(op.tensor_positions) == 1
    of_large = shared(ufunc)

    def change(self: Tensor, *others: Any, **kwargs: Any) -> Tensor:
        if (
            kwargs
            or self.__class__ is not Tensor
            or self._view is not None
            or self._cell is INFERENCE
            or door.is_watched
            or len(others) != (not is_unary)
            or (self._requires_grad and state.grad_enabled)
        ):
            return apply_inplace(op, self, op.bind((self, *others), kwargs))
        x = self._array
        kind = x.dtype
        if (
            (kind is FLOAT32 or kind is FLOAT64)
            and x.__class__ is np.ndarray
            and x.flags.c_contiguous
        ):
            if is_unary:
                return changed_by_ufunc(self, ufunc, (x, x))
            other = others[0]
            change_all = ufunc if x.size < LEAST_SHARED else of_large
            if other.__class__ is float or other.__class__ is int:
                return changed_by_ufunc(self, change_all, (x, other, x))
            if other.__class__ is Tensor and not (other._requires_grad and state.grad_enabled):
                y = other._array
                # A larger result is an error, and an overlap would be read while it is written.
                if (
                    y.dtype is kind
                    and y.__class__ is np.ndarray
                    and (y.shape == x.shape or not y.ndim)
                    and (y.base is None or not np.may_share_memory(x, y))
                ):
                    return changed_by_ufunc(self, change_all, (x, y, x))
        return apply_inplace(op, self, op.bind((self, *others), kwargs))

    change.__name__ = change.__qualname__ = op.name + "_"
    change.__doc__ = doc or f"In-place form of `{op.name}`: the result replaces the values."
    return change


def apply_inplace(op: Op, target: Tensor, values: list[Any]) -> Tensor:
    """Run an operation and write its result over its first input."""
    if not isinstance(target, Tensor):
        raise blame.not_a_tensor(op, op.tensor_names[0], target)
    if not door.is_watched and changed_plainly(op, target, values):
        return target
    if target._view is not None:
        refresh(target)
    others = checked_tensors(op, values)[1:]
    if door.is_watched and state.duals:
        level = innermost_level([target, *others])
        if level is not None:
            return tangent_calls.change_with_tangents(
                execute, apply_inplace, op, target, values, level
            )
    wants = target.requires_grad or any(other.requires_grad for other in others)
    # An operation without derivatives, such as logical_not_, leaves the graph as it is.
    records = wants and state.grad_enabled and (op.is_differentiable or op.is_flat)
    records = records and target.dtype.is_differentiable
    blame.check_inplace(op.name, target, records)
    if op.dtypes is not KEEP or op.name == "copy":
        for other in others:
            blame.check_no_partial_overlap(target._array, other)
    if not records:
        result = _plain_result(op, values, [target, *others])
        _write(op.name, target, result)
        return target
    if op.is_flat:
        result = _plain_result(op, values, [target, *others])
        _write(op.name, target, result)
        name = f"{camel(op.name)}Backward{len(others)}"
        rebase(target, _overwritten(target, others, name))
        return target
    old = _frozen(op, target, values)
    result = execute(op, [old, *values[1:]])
    result = result[0] if isinstance(result, tuple) else result
    _write(op.name, target, result._array)
    rebase(target, result)
    return target


def replace_values(target: Tensor, array: Any, name: str) -> Tensor:
    """Overwrite a tensor with values that depend on nothing, such as random numbers.

    Recording, the new history is a node `<Name>Backward0` whose gradient is zero.
    """
    records = state.grad_enabled and target.requires_grad
    blame.check_inplace(name, target, records)
    _write(name, target, array)
    if door.is_watched and state.duals:
        forget_tangents(target)
    if records:
        node_name = _OVERWRITING.get(name, f"{camel(name)}Backward0")
        rebase(target, _overwritten(target, (), node_name))
    return target


def check_replaced(target: Tensor, name: str) -> None:
    """Raise what `replace_values` would, before values are drawn from a generator for it."""
    blame.check_inplace(name, target, state.grad_enabled and target.requires_grad)
    blame.check_write(name, target, target._array)


def is_filled_directly(target: Tensor, name: str) -> bool:
    """Whether values that depend on nothing may be written where the old ones lie, unrecorded.

    Whoever does so calls `note_written`. Elsewhere `replace_values` is the way.

    Raises:
        LaminaError: If the tensor must not be changed in place now.
    """
    array = target._array
    kind = array.dtype
    if (
        door.is_watched
        or array.__class__ is not np.ndarray
        or (kind is not FLOAT32 and kind is not FLOAT64)
        or not array.flags.c_contiguous
        or not array.flags.writeable
        or (state.grad_enabled and target.requires_grad)
    ):
        return False
    blame.check_inplace(name, target, False)
    return True


# Filling by these has several forms, of which PyTorch numbers the nodes.
_OVERWRITING: Final = {"random": "RandomBackward2", "bernoulli": "BernoulliBackward2"}


def _overwritten(target: Tensor, others: Sequence[Tensor], node_name: str) -> Tensor:
    """A tensor with the history of values that change in steps, or not at all, with the inputs."""
    result = wrap(target._array, None)
    node = _overwriting(node_name)()
    node.next = (edge_of(target), *map(edge_of, others))
    node.saved = NOTHING
    node.context = [(other._array.shape, other._array.dtype) for other in others]
    node.code, node.lasti = here()
    node._hooks = None
    node.stamp = next_stamp()
    result._node, result._requires_grad = node, True
    return result


@functools.cache
def _overwriting(node_name: str) -> type[Overwrite]:
    return type(node_name, (Overwrite,), {"__slots__": (), "__module__": __name__})


def _plain_result(op: Op, values: list[Any], tensors: list[Tensor]) -> Any:
    result = NOT_PLAIN if door.is_watched else plain_result(op, values, [])
    if result is NOT_PLAIN:
        result = compute(op, values, tensors)
    return result[0] if isinstance(result, tuple) else result


def _frozen(op: Op, target: Tensor, values: list[Any]) -> Tensor:
    """The target as an input: its place in the graph, and values that the write won't change.

    The old values are copied only if a rule that will be needed keeps them.
    """
    needs = tuple(
        isinstance(v, Tensor) and v.requires_grad for v in (values[p] for p in op.tensor_positions)
    )
    keeps_self = any(
        wanted and slot == ("in", 0)
        for slot, wanted in zip(op.slots, op.kept_slots(needs), strict=True)
    )
    stand_in = wrap(target._array.copy() if keeps_self else target._array, target._origin)
    stand_in._node = target._node if target._node is not None else None
    stand_in._requires_grad = target._requires_grad and target._node is not None
    if door.is_watched:
        carry_over(target, stand_in)
    return stand_in


def _write(name: str, target: Tensor, result: Any) -> None:
    """Replace the target's values and count the change."""
    array = target._array
    blame.check_write(name, target, result)
    if door.is_watched and state.mappings:
        note_before_write(target)
    if door.is_watched and (recorder := current_recorder()) is not None:
        array, result = recorded(array, recorder), recorded(result, recorder)
    np.copyto(array, result, casting="unsafe")
    note_written(target)


def rebase(target: Tensor, result: Tensor) -> None:
    """Put the target in the graph where `result` is: the history of its new values."""
    node = result._node
    if node is None:
        return
    node = node.node if isinstance(node, OutputEdge) else node
    _keep_written(node, target)
    node.stamp = next_stamp()
    view = target._view
    if view is None:
        _move_retained(target, node)
        _note_lost_leaf(target)
        target._node = result._node
        target._requires_grad = True
        target._origin = None
        return
    base = view.base
    slices = CopySlices()
    # The first edge of the wrapped node led to the view's old history: that is the base's now.
    slices.next = (edge_of(base), *node.next[1:])
    slices.saved = node
    slices.context = view.steps
    slices.freed_at = None
    slices._hooks = None
    slices.code, slices.lasti = node.code, node.lasti
    slices.stamp = next_stamp()
    _move_retained(base, slices)
    _note_lost_leaf(base)
    base._node = slices
    base._requires_grad = True
    base._origin = None
    view.creation = RECORDED
    view.version = -1
    refresh(target)


def _note_lost_leaf(tensor: Tensor) -> None:
    """Note where a tensor was made that is a leaf no more."""
    if tensor._node is None:
        tensor.__dict__["was_leaf"] = tensor._origin
        tensor.__dict__["lost_at"] = here()


def _keep_written(node: Any, target: Tensor) -> None:
    """Where the node keeps its own result: that is the target's memory now, at its new version.

    An input in the same memory, as in `x.mul_(x)`, has lost its values.
    """
    if node.saved:
        node.saved = tuple(_kept_again(target, entry) for entry in node.saved)


def _kept_again(target: Tensor, entry: Any) -> Any:
    if isinstance(entry, Tensor) and entry._cell is not None and entry._cell is target._cell:
        return Overwritten(entry)
    if not isinstance(entry, KeptResult):
        return entry
    # The result may have been converted on being written; then its own array stays the right one.
    return KeptResult(target, entry.index) if target._array.dtype == entry.array.dtype else entry


def _move_retained(tensor: Tensor, node: Node) -> None:
    """`retain_grad` means the newest version of a tensor: its entry moves to the new node."""
    old = tensor._node
    if old is None:
        return
    old_node = old.node if isinstance(old, OutputEdge) else old
    index = tensor.output_nr
    if old_node._hooks is not None and index in old_node._hooks.retained:
        del old_node._hooks.retained[index]
        hooks_of(node).retain(0, tensor)


class Overwrite(Node):
    """The node of a tensor filled in place with values that are flat in all inputs."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """Zeros: the old values have no influence any more."""
        if g is None:
            return (None,) * len(self.next)
        zeros = F.zeros_like(g)
        return zeros, *(
            F.cast_like_input(F.sum_to_size(zeros, shape), kind) for shape, kind in self.context
        )


@final
class CopySlices(Node):
    """The node of a base after one of its views was changed in place while recording."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The base's gradient with the changed part replaced, and the other inputs' gradients."""
        if g is None:
            return (None,) * len(self.next)
        node, steps = self.saved, self.context
        if node is None:
            raise blame.graph_freed(self)
        part = replay(F, g, steps)
        first, *others = node.pull(F, part)
        if self.next[0] is None:
            return (None, *others)
        return (F.overwrite_view(g, first, steps), *others)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Those of the wrapped node, the first of them the base's."""
        return tuple(map(public_edge, self.next[: len(self.saved.next_functions)]))

    def release(self, place: Any) -> None:
        """Forget what the wrapped node keeps; a node that keeps nothing can be run again."""
        if self.saved is not None:
            self.saved.release(place)
            self.freed_at = place
