"""The nodes of declared operations: what they keep, and how their rules run."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from lamina import errors
from lamina.core import blame
from lamina.core.modes import state
from lamina.core.node import NOTHING, Node, OutputEdge, public_edge
from lamina.core.op import KEEP, Op, raw, traced
from lamina.core.promotion import FLOAT32, FLOAT64, is_half
from lamina.core.saved import KeptResult, keep_input, keep_result, raw_saved, unpack
from lamina.core.scattered import Scattered
from lamina.core.tensor import (
    Tensor,
)
from lamina.core.versions import next_stamp


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
        memo: dict[int, Any] = {}
        if op.joint is not None:
            found = op.joint(F, g, *self._asked_for(F, op.steps_back[0][3], memo))
            kinds = self.context.dtypes
            if any(kind is not kinds[0] for kind in kinds) and len(found) == len(kinds):
                return [_in_its_kind(F, *pair) for pair in zip(found, kinds, strict=True)]
            return found
        grads: list[Any] = []
        shapes, edges = self.context.shapes, self.next
        edge = 0
        for _, k, rule, sources in op.steps_back:
            if shapes[k].__class__ is list:
                end = edge + len(shapes[k])
                if any(e is not None for e in edges[edge:end]):
                    grads += rule(F, g, *self._asked_for(F, sources, memo))
                else:
                    grads += [None] * (end - edge)
                edge = end
                continue
            found = None
            if edges[edge] is not None:
                found = self._fitted(F, rule(F, g, *self._asked_for(F, sources, memo)), k)
            grads.append(found)
            edge += 1
        return grads

    def scatter(self, g: Any) -> Scattered | None:
        """The input's gradient as `Scattered`, if it is of that form; for nodes that can."""
        if self.saved is None:
            raise blame.graph_freed(self)
        rule, sources = self.op.scattering["scattered"]
        found: Scattered | None = rule(raw, g, *self._asked_for(raw, sources, {}))
        return found

    def takes_scattered(self, g: Any, pending: Container[Any], heap: Sequence[Any]) -> bool:
        """Whether a pass may give the node a gradient like `g` scattered.

        It has a rule for that, which is for its own dtype; nothing else adds to the gradient: it is
        not pending, and nothing that is pending can lead to it, being older. Whatever would raise
        is left to `pull`.
        """
        if self.op.of_scattered is None or self in pending or self.saved.__class__ is not tuple:
            return False
        kind = self.context.dtypes[0]
        return (
            not (heap and heap[0][0] < -self.stamp)
            and (kind is FLOAT32 or kind is FLOAT64)
            and g is not None
            and g.dtype is kind
            and all(
                entry.__class__ is KeptResult and entry.cell.changed_at <= self.stamp
                for entry in self.saved
            )
        )

    def pull_scattered(self, g: Scattered) -> Any:
        """The gradients of the inputs, given a scattered one."""
        rule, sources = self.op.scattering["of_scattered"]
        return (rule(raw, g, *self._asked_for(raw, sources, {})),)

    def remember(self, values: list[Any], made: list[Any], needs: tuple[bool, ...]) -> None:
        """Keep what the rules of the wanted gradients ask for, and nothing else."""
        op = self.op
        self.context = context_of(op, values)
        kept = op.kept_slots(needs)
        if True not in kept:
            self.saved = NOTHING
            return
        entries: list[Any] = []
        for (kind, position), wanted in zip(op.slots, kept, strict=True):
            if not wanted:
                entries.append(None)
            elif kind == "out":
                entries.append(keep_result(made[position], position))
            elif values[position].__class__ is list:
                entries.append(tuple(keep_input(item) for item in values[position]))
            else:
                entries.append(keep_input(values[position]))
        self.saved = tuple(entries)

    def _fitted(self, F: Any, gradient: Any, k: int) -> Any:
        """Undo broadcasting and promotion of input `k` in a gradient."""
        if gradient is None:
            return None
        shape, kind = self.context.shapes[k], self.context.dtypes[k]
        if self.op.dtypes is KEEP:
            return _in_its_kind(F, gradient, kind)
        if shape is not None and gradient.shape != shape:
            gradient = F.sum_to_size(gradient, shape)
        if kind is not None and getattr(gradient, "_array", gradient).dtype != kind:
            gradient = F.cast_like_input(gradient, kind)
        return gradient

    def _asked_for(
        self, F: Any, sources: tuple[tuple[str, int], ...], memo: dict[int, Any]
    ) -> list[Any]:
        """What a rule's parameters stand for; `memo` has the kept values that were asked for."""
        found: list[Any] = []
        values, shapes, kinds = self.context
        for kind, place in sources:
            if kind == "kept":
                if place not in memo:
                    memo[place] = unpack(self, self.saved[place], F)
                found.append(memo[place])
            elif kind == "static":
                found.append(values[place])
            elif kind == "needs":
                found.append(tuple(edge is not None for edge in self.next))
            else:
                found.append((shapes if kind == "shape" else kinds)[place])
        return found


def _in_its_kind(F: Any, gradient: Any, kind: Any) -> Any:
    """A gradient in its input's dtype, where halves and others met: one may have become the other.

    So of a float32 weight beside halves, and of a half times a Python number.
    """
    own = None if gradient is None else getattr(gradient, "_array", gradient).dtype
    if own is None or kind is None or own is kind or isinstance(kind, list):
        return gradient
    return F.cast_like_input(gradient, kind) if is_half(kind) or is_half(own) else gradient


def edge_of(tensor: Any) -> Any:
    """The edge that leads a gradient to a tensor; None if it wants none, or is a number."""
    if not isinstance(tensor, Tensor) or not tensor._requires_grad:
        return None
    return tensor if tensor._node is None else tensor._node


def record(op: Op, values: list[Any], made: list[Any], place: tuple[Any, int]) -> Any:
    """The node of a call: edges, position, and what its rules need to remember."""
    node: Any = op.node_class()
    edges: list[Any] = []
    needs: list[bool] = []
    for position in op.tensor_positions:  # an input without a derivative, like an index: no edge
        value = values[position]
        found = [edge_of(v) for v in value] if value.__class__ is list else [edge_of(value)]
        needs.append(found[0] is not None if len(found) == 1 else any(e is not None for e in found))
        if position in op.rules:
            edges += found
    node.next = tuple(edges)
    node.code, node.lasti = place
    node._hooks = None
    node.outputs = len(made)
    node.stamp = next_stamp()
    if state.pack_hooks:  # they see results as what they are: computed from something
        for index, tensor in enumerate(made):
            if tensor is not None and tensor.dtype.is_differentiable:
                tensor._node = OutputEdge(node, index) if len(made) > 1 else node
                tensor._requires_grad = True
    node.remember(values, made, tuple(needs))
    return node


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
