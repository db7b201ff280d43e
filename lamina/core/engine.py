"""The backward engine: walks the graph from results to leaves and adds up gradients.

A node's stamp is larger than those of all nodes its inputs came from, since edges only ever lead to
what exists already. Taking the pending node with the largest stamp is therefore a topological
order, and the order that PyTorch keeps: newest first. Nothing recurses, so depth costs nothing.

Two loops, on purpose. `_run_plain` is for the everyday case: gradients of leaves, raw arrays, no
hooks anywhere. `_run_general` does all the rest: hooks, gradients of chosen tensors, and passes
that are themselves recorded (then the gradients are tensors and `F` is `traced`).
"""

from __future__ import annotations

import heapq
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from lamina.core import blame
from lamina.core.modes import door, state
from lamina.core.node import NOTHING, Node, OutputEdge
from lamina.core.op import raw, traced
from lamina.core.provenance import here
from lamina.core.origins import CUT_BACKWARD
from lamina.core.tensor import Tensor, refresh, wrap

ndarray: Final = np.ndarray
# Threads may add to the same leaf. One lock for all: it is held for one addition.
_leaf_lock: Final = threading.Lock()


def root_edge(tensor: Tensor) -> Any:
    """Where a backward pass from a tensor starts."""
    refresh(tensor)
    return tensor if tensor._node is None else tensor._node


def run_backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Any],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Carry `gradients` from `roots` back through the graph.

    With `inputs`, only what leads to them is run; with `accumulate` False their gradients are
    returned (None where nothing arrived) and no `.grad` is touched.
    """
    place = here()
    edges = [root_edge(root) for root in roots]
    plain = not (create_graph or inputs is not None or door.has_hooks or door.is_watched)
    if plain:
        _run_plain(edges, [g._array for g in gradients], retain_graph, place)
        return []
    run = _GeneralRun(retain_graph, create_graph, inputs, accumulate, place)
    before = state.grad_enabled
    door.set_grad_enabled(create_graph)
    try:
        return run.go(edges, list(gradients))
    finally:
        door.set_grad_enabled(before)


# --- the plain loop ------------------------------------------------------------------------------


def _run_plain(roots: list[Any], arrays: list[Any], retain_graph: bool, place: Any) -> None:
    """Gradients of all leaves, on raw arrays. Leaves are written last: an error changes nothing.

    In a chain the next node is known at once: it stays in `node`, and goes neither through the heap
    nor through `pending` (0.4 us a node).
    """
    pending: dict[Any, Any] = {}  # node -> gradient, or list of gradients by output
    leaves: dict[Any, list[Any]] = {}  # leaf -> [leaf, gradient, whether the sum is ours]
    owned: set[Any] = set()
    heap: list[tuple[int, Any]] = []
    for edge, array in zip(roots, arrays, strict=True):
        _deliver(edge, array, pending, leaves, owned, heap)
    while heap:
        node = heapq.heappop(heap)[1]
        gradient = pending.pop(node)
        while node is not None:
            grads = node.pull(raw, gradient)
            gradient = following = None
            if not retain_graph:
                if node.saved.__class__ is tuple:
                    if node.saved is not NOTHING:
                        node.saved = None
                        node.freed_at = place
                else:
                    node.release(place)
            edges, position = node.next, 0
            while position < len(edges):  # not zip(): 0.1 us a node
                edge, gradient = edges[position], grads[position]
                position += 1
                if edge is None:
                    continue
                if edge.__class__ is Tensor and gradient is not None:
                    entry = leaves.get(edge)
                    if entry is None:
                        leaves[edge] = [edge, gradient, False]
                    elif entry[2]:
                        entry[1] += gradient
                    else:
                        entry[1] = total = entry[1] + gradient
                        entry[2] = total.__class__ is ndarray
                elif following is None and not heap and edge.__class__ is not OutputEdge and edge.__class__ is not Tensor:
                    following, carried = edge, gradient
                else:
                    if following is not None:
                        _deliver(following, carried, pending, leaves, owned, heap)
                        following = None
                    _deliver(edge, gradient, pending, leaves, owned, heap)
            grads = None
            node = following
            if node is not None:
                gradient = carried
    for entry in leaves.values():
        _add_to_leaf(entry, place)


def _deliver(
    edge: Any, gradient: Any, pending: dict[Any, Any], leaves: dict[Any, list[Any]],
    owned: set[Any], heap: list[Any],
) -> None:  # fmt: skip
    """Add a gradient to what is pending at the far end of an edge (the general case)."""
    if isinstance(edge, Tensor):
        if gradient is not None:
            entry = leaves.setdefault(edge, [edge, None, False])
            entry[1] = gradient if entry[1] is None else entry[1] + gradient
            entry[2] = False
        return
    node, index = (edge.node, edge.index) if edge.__class__ is OutputEdge else (edge, None)
    if node not in pending:
        heapq.heappush(heap, (-node.stamp, node))
        pending[node] = gradient if index is None else [None] * node.outputs
        if index is None:
            return
    if index is not None:
        parts = pending[node]
        parts[index] = _sum(parts[index], gradient, owned, (node, index))
    else:
        pending[node] = _sum(pending[node], gradient, owned, node)


def _sum(old: Any, new: Any, owned: set[Any], key: Any) -> Any:
    """The sum of gradients: the first is borrowed, the second allocates, later ones add in place."""
    if old is None or new is None:
        return new if old is None else old
    if key in owned:
        np.add(old, new, out=old)
        return old
    total = old + new
    if isinstance(total, np.ndarray):
        owned.add(key)
    return total


def _add_to_leaf(entry: list[Any], place: Any) -> None:
    """Add a finished gradient to a leaf's `.grad`, taking the array over if nobody else has it."""
    leaf, gradient, is_owned = entry
    entry[1] = None
    with _leaf_lock:
        grad = leaf._grad
        if grad is None:
            # Besides this function's two references, somebody may hold the array: a saved value, a
            # user, another leaf. A view's memory may be shared without such a reference.
            if not is_owned and (
                gradient.__class__ is not np.ndarray
                or sys.getrefcount(gradient) > 2
                or gradient.base is not None
                or not gradient.flags.c_contiguous
            ):
                gradient = _copied_like(gradient, leaf)
            leaf._grad = wrap(gradient, (*place, "backward", CUT_BACKWARD, None))
            leaf.grad_filled_at = (place,)
        else:
            np.add(grad._array, gradient, out=grad._array)
            if grad._cell is not None:
                grad._cell.bump(*place)
            leaf.grad_filled_at = (*(leaf.grad_filled_at or ())[-7:], place)


def _copied_like(gradient: Any, leaf: Tensor) -> Any:
    """A fresh array with the leaf's layout: its strides if dense, else row-major."""
    if gradient.__class__ is not np.ndarray or gradient.shape != leaf._array.shape:
        return np.array(gradient) if isinstance(gradient, np.generic) else gradient.copy()
    target = np.empty_like(leaf._array, dtype=gradient.dtype)
    np.copyto(target, gradient)
    return target


# --- the general loop ----------------------------------------------------------------------------


@final
class _GeneralRun:
    """One backward pass with hooks, chosen inputs, or a recorded derivative."""

    def __init__(
        self, retain_graph: bool, create_graph: bool, inputs: Sequence[Tensor] | None,
        accumulate: bool, place: Any,
    ) -> None:  # fmt: skip
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.place = place
        self.F = traced if create_graph else raw
        self.inputs = inputs
        self.wanted: dict[Any, list[int]] = {}  # node, or id of a leaf -> positions in `inputs`
        self.found: list[Any] = [None] * len(inputs or ())
        for position, tensor in enumerate(inputs or ()):
            edge = root_edge(tensor)
            node = edge.node if edge.__class__ is OutputEdge else edge
            key = id(node) if isinstance(node, Tensor) else node
            self.wanted.setdefault(key, []).append(position)
        self.pending: dict[Any, list[Any]] = {}
        self.heap: list[tuple[int, Any]] = []
        self.leaf_sums: dict[int, Any] = {}
        self.leaf_count: dict[int, int] = {}
        self.runs: set[Any] | None = None

    def go(self, edges: list[Any], gradients: list[Any]) -> list[Any]:
        """Run the pass; the gradients of `inputs` in their order."""
        self._survey(edges)
        for edge, gradient in zip(edges, gradients, strict=True):
            self._deliver(edge, gradient if self.create_graph else gradient._array)
        while self.heap:
            node = heapq.heappop(self.heap)[1]
            self._run_node(node, self.pending.pop(node))
        return self.found

    def _survey(self, edges: list[Any]) -> None:
        """Count the edges into each leaf; find which nodes lead to the chosen inputs."""
        seen: set[Any] = set()
        stack = list(edges)
        while stack:
            edge = stack.pop()
            node = edge.node if edge.__class__ is OutputEdge else edge
            if node is None or isinstance(node, Tensor) or node in seen:
                continue
            seen.add(node)
            stack.extend(node.next)
        if self.inputs is not None:
            self.runs = self._nodes_that_lead_to_inputs(seen)
        for edge in [*edges, *(e for node in seen if self._is_run(node) for e in node.next)]:
            if isinstance(edge, Tensor):
                self.leaf_count[id(edge)] = self.leaf_count.get(id(edge), 0) + 1

    def _nodes_that_lead_to_inputs(self, nodes: set[Any]) -> set[Any]:
        leads: set[Any] = set()
        for node in sorted(nodes, key=lambda n: n.stamp):
            for edge in node.next:
                target = edge.node if edge.__class__ is OutputEdge else edge
                key = id(target) if isinstance(target, Tensor) else target
                if key is not None and (key in self.wanted or key in leads):
                    leads.add(node)
                    break
            if self.accumulate and node in self.wanted:
                leads.add(node)
        return leads

    def _is_run(self, node: Any) -> bool:
        return self.runs is None or node in self.runs

    def _deliver(self, edge: Any, gradient: Any) -> None:
        """Add a gradient at the far end of an edge; a leaf that has all of its own is finished."""
        if isinstance(edge, Tensor):
            key = id(edge)
            self.leaf_sums[key] = self._sum(self.leaf_sums.get(key), gradient)
            self.leaf_count[key] -= 1
            if self.leaf_count[key] == 0:
                self._finish_leaf(edge, self.leaf_sums.pop(key))
            return
        node, index = (edge.node, edge.index) if edge.__class__ is OutputEdge else (edge, 0)
        if not self._is_run(node) and node not in self.wanted:
            return
        parts = self.pending.get(node)
        if parts is None:
            parts = self.pending[node] = [None] * node.outputs
            heapq.heappush(self.heap, (-node.stamp, node))
        parts[index] = self._sum(parts[index], gradient)

    def _sum(self, old: Any, new: Any) -> Any:
        if old is None or new is None:
            return new if old is None else old
        return old + new

    def _run_node(self, node: Node, parts: list[Any]) -> None:
        hooks = node._hooks
        if hooks is not None:
            self._before_node(hooks, parts)
        for position in self.wanted.get(node, ()):
            index = self.inputs[position].output_nr  # type: ignore[index]
            self._capture(position, parts[index])
        if not self._is_run(node):
            return
        try:
            grads = node.pull(self.F, parts[0] if node.outputs == 1 else parts)
        finally:
            if not self.retain_graph:
                node.release(self.place)
        if state.anomaly and state.check_nan:
            blame.check_nan(node, [self._array(g) for g in grads])
        if hooks is not None and hooks.after:
            grads = self._after_node(hooks.after, grads, parts)
        for edge, gradient in zip(node.next, grads, strict=True):
            if edge is not None and not (isinstance(edge, Tensor) and id(edge) not in self.leaf_count):
                self._deliver(edge, gradient)

    def _before_node(self, hooks: Any, parts: list[Any]) -> None:
        """Tensor hooks, then node pre-hooks, then what `retain_grad` keeps."""
        for index, registry in hooks.tensor.items():
            parts[index] = self._call_tensor_hooks(registry, parts[index])
        if hooks.before:
            grad_outputs = tuple(self._tensor(part) for part in parts)
            for hook in list(hooks.before.values()):
                answer = hook(grad_outputs)
                if answer is not None:
                    grad_outputs = answer if isinstance(answer, tuple) else (answer,)
            parts[:] = [self._value(part) for part in grad_outputs]
        for index, reference in hooks.retained.items():
            tensor = reference()
            if tensor is not None and parts[index] is not None:
                kept = self._tensor(parts[index])
                tensor._grad = kept if self.create_graph or tensor._grad is None else kept
                if not self.create_graph:
                    tensor._grad = wrap(self._array(parts[index]).copy(), kept._origin)

    def _after_node(self, registry: Any, grads: Any, parts: list[Any]) -> list[Any]:
        grad_inputs = tuple(self._tensor(g) for g in grads)
        grad_outputs = tuple(self._tensor(part) for part in parts)
        for hook in list(registry.values()):
            answer = hook(grad_inputs, grad_outputs)
            if answer is not None:
                grad_inputs = answer if isinstance(answer, tuple) else (answer,)
        return [self._value(g) for g in grad_inputs]

    def _call_tensor_hooks(self, registry: Any, gradient: Any) -> Any:
        if gradient is None:
            return None
        for hook in list(registry.values()):
            answer = hook(self._tensor(gradient))
            if answer is not None:
                blame.check_hook_result(answer, gradient)
                gradient = self._value(answer)
        return gradient

    def _finish_leaf(self, leaf: Tensor, gradient: Any) -> None:
        """A leaf has received all its gradient: hooks, then capture or accumulation."""
        if gradient is None:
            return
        hooks = leaf._hooks
        if hooks is not None:
            for registry in hooks.tensor.values():
                gradient = self._call_tensor_hooks(registry, gradient)
        positions = self.wanted.get(id(leaf), ())
        if self.inputs is not None and not self.accumulate:
            for position in positions:
                self._capture(position, gradient)
            return
        if self.inputs is not None and not positions:
            return
        if hooks is not None and hooks.before:
            for hook in list(hooks.before.values()):
                answer = hook((self._tensor(gradient),))
                if answer is not None:
                    gradient = self._value(answer[0] if isinstance(answer, tuple) else answer)
        self._accumulate(leaf, gradient)
        if hooks is not None:
            for hook in list(hooks.post_accumulate.values()):
                hook(leaf)
            for hook in list(hooks.after.values()):
                hook((), (self._tensor(gradient),))

    def _accumulate(self, leaf: Tensor, gradient: Any) -> None:
        if not self.create_graph:
            entry = [leaf, gradient, False]
            del gradient
            _add_to_leaf(entry, self.place)
            return
        with _leaf_lock:
            leaf._grad = gradient if leaf._grad is None else leaf._grad + gradient
        leaf.grad_filled_at = (*(leaf.grad_filled_at or ())[-7:], self.place)

    def _capture(self, position: int, gradient: Any) -> None:
        if gradient is None:
            return
        if not self.accumulate:
            self.found[position] = self._tensor(gradient)
            return
        tensor = self.inputs[position]  # type: ignore[index]
        if not (tensor.grad_fn is not None and tensor.retains_grad):
            self._accumulate(tensor, gradient)

    def _tensor(self, value: Any) -> Any:
        """A gradient as users see it."""
        if value is None or isinstance(value, Tensor):
            return value
        array = np.asarray(value) if isinstance(value, np.generic) else value
        return wrap(array, (*self.place, "backward", CUT_BACKWARD, None))

    def _value(self, tensor: Any) -> Any:
        """A gradient as the loop carries it."""
        return tensor if tensor is None or self.create_graph else tensor._array

    def _array(self, value: Any) -> Any:
        return value._array if isinstance(value, Tensor) else value
