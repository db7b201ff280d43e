"""A backward pass with hooks, chosen inputs, or a recorded derivative.

Where the plain loop of `engine` carries bare arrays and looks at nothing else, this one follows all
rules about what happens at a node, in this order: hooks on tensors (as registered, each sees what
the one before returned), what `retain_grad` keeps, hooks before the node, the node itself,
hooks after it. At a leaf: hooks on it, hooks before its accumulator, the addition to `.grad`,
post-accumulate hooks, hooks after its accumulator. A leaf is served as soon as it has all of its
gradient, before any other node.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lamina.core import blame
from lamina.core.accumulation import add_recorded_to_leaf, add_to_leaves
from lamina.core.modes import state
from lamina.core.node import Node, OutputEdge
from lamina.core.op import raw, traced
from lamina.core.op_node import OpNode
from lamina.core.origins import CUT_BACKWARD
from lamina.core.records import note_answer
from lamina.core.saved import lift_saved
from lamina.core.tensor import Tensor, set_array, wrap
from lamina.core.views import inherits_flag
from lamina.devices import NoValues, current_recorder
from lamina.devices.batched import recorded


def key_of(edge: Any) -> Any:
    """What tables of nodes and leaves are keyed by: a node itself, or the id of a leaf."""
    if edge.__class__ is OutputEdge:
        return edge.node
    return id(edge) if isinstance(edge, Tensor) else edge


@final
class GeneralRun:
    """One pass. `inputs` are the edges to which gradients are wanted, or None for all leaves."""

    def __init__(
        self, retain_graph: bool, create_graph: bool, inputs: Sequence[Any] | None,
        accumulate: bool, place: Any,
    ) -> None:  # fmt: skip
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.place = place
        self.F = traced if create_graph else raw
        self.limited = inputs is not None
        # node, or id of a leaf -> (position in `inputs`, number of the output) of what is wanted
        self.wanted: dict[Any, list[tuple[int, int]]] = {}
        self.found: list[Any] = [None] * len(inputs or ())
        for position, edge in enumerate(inputs or ()):
            if isinstance(edge, Tensor) and inherits_flag(edge):
                continue  # no gradient reaches it
            index = edge.index if edge.__class__ is OutputEdge else 0
            self.wanted.setdefault(key_of(edge), []).append((position, index))
        self.pending: dict[Any, list[Any]] = {}
        self.heap: list[tuple[int, Any]] = []
        self.ready: list[Tensor] = []
        self.leaf_sums: dict[int, Any] = {}
        self.leaf_count: dict[int, int] = {}
        self.runs: set[Any] = set()
        # A pass that is recorded calls operations, which lift their inputs themselves.
        self.recorder = None if create_graph else current_recorder()

    def go(self, edges: list[Any], gradients: list[Any]) -> list[Any]:
        """Run the pass; the gradients of `inputs` in their order."""
        self._survey(edges)
        outer, state.run = state.run, self
        try:
            for edge, gradient in zip(edges, gradients, strict=True):
                self._deliver(edge, self._value(gradient))
            self._finish_ready()
            while self.heap:
                node = heapq.heappop(self.heap)[1]
                self._run_node(node, self.pending.pop(node))
                self._finish_ready()
        finally:
            state.run = outer
        return self.found

    def forget(self, edges: list[Any]) -> None:
        """Let the nodes that a pass would run forget what they keep."""
        self._survey(edges)
        for node in self.runs:
            node.release(self.place)

    def reaches(self, edge: Any) -> bool:
        """Whether a gradient, perhaps None, will arrive at the far end of an edge."""
        key = key_of(edge)
        return key in self.leaf_count or key in self.runs or key in self.wanted

    # --- before ----------------------------------------------------------------------------------

    def _survey(self, edges: list[Any]) -> None:
        """Find which nodes will run, and count the edges into each leaf."""
        seen: set[Any] = set()
        stack = list(edges)
        while stack:
            edge = stack.pop()
            node = edge.node if edge.__class__ is OutputEdge else edge
            if node is None or isinstance(node, Tensor) or node in seen:
                continue
            seen.add(node)
            stack.extend(node.next)
        self.runs = self._leading_to_inputs(seen) if self.limited else seen
        for edge in [*edges, *(edge for node in self.runs for edge in node.next)]:
            if isinstance(edge, Tensor) and (not self.limited or id(edge) in self.wanted):
                self.leaf_count[id(edge)] = self.leaf_count.get(id(edge), 0) + 1

    def _leading_to_inputs(self, nodes: set[Any]) -> set[Any]:
        """The nodes with a path to one of the inputs; stamps grow towards the roots."""
        leads: set[Any] = set()
        for node in sorted(nodes, key=lambda n: n.stamp):
            keys = [key_of(edge) for edge in node.next]
            if any(key in self.wanted or key in leads for key in keys if key is not None) or (
                self.accumulate and node in self.wanted
            ):
                leads.add(node)
        return leads

    # --- gradients on their way ------------------------------------------------------------------

    def _deliver(self, edge: Any, gradient: Any) -> None:
        """Add a gradient at the far end of an edge; a leaf that has all of its own is ready."""
        key = key_of(edge)
        if isinstance(edge, Tensor):
            if key in self.leaf_count:
                self.leaf_sums[key] = self._sum(self.leaf_sums.get(key), gradient)
                self.leaf_count[key] -= 1
                if self.leaf_count[key] == 0:
                    self.ready.append(edge)
            return
        if key not in self.runs and key not in self.wanted:
            return
        parts = self.pending.get(key)
        if parts is None:
            parts = self.pending[key] = [None] * key.outputs
            heapq.heappush(self.heap, (-key.stamp, key))
        index = edge.index if edge.__class__ is OutputEdge else 0
        parts[index] = self._sum(parts[index], gradient)

    def _sum(self, old: Any, new: Any) -> Any:
        if old is None or new is None:
            return new if old is None else old
        return old + new

    # --- nodes ------------------------------------------------------------------------------------

    def _run_node(self, node: Node, parts: list[Any]) -> None:
        hooks = node._hooks
        runs = node in self.runs
        if runs:
            self._capture(node, parts)
        if hooks is not None:
            for index, registry in hooks.tensor.items():
                parts[index] = self._call_tensor_hooks(registry, parts[index])
            for index, reference in hooks.retained.items():
                self._retain(reference(), parts[index])
        if not runs:
            # Only asked for: then its gradient is what the hooks on the tensor made of it.
            self._capture(node, parts)
            return
        if hooks is not None and hooks.before:
            parts = self._call_node_hooks(hooks.before, parts, None)
        node, grads = self._pulled(node, parts[0] if node.outputs == 1 else parts)
        if not self.retain_graph:
            node.release(self.place)
        if state.anomaly and state.check_nan:
            blame.check_nan(node, [getattr(g, "_array", g) for g in grads])
        if hooks is not None and hooks.after:
            grads = self._call_node_hooks(hooks.after, grads, parts)
        for edge, gradient in zip(node.next, grads, strict=True):
            if edge is not None:
                self._deliver(edge, gradient)

    def _pulled(self, node: Any, gradient: Any) -> tuple[Any, Any]:
        """Run a node, and the next one too if the gradient between them may stay scattered.

        Gives the one that ran last, and its gradients.
        """
        if node.can_scatter and self._may_scatter(node, gradient):
            scattered = self._called(node, node.scatter, gradient)
            if scattered is not None:
                if not self.retain_graph:
                    node.release(self.place)
                node = node.next[0]
                return node, self._called(node, node.pull_scattered, scattered)
        return node, self._called(node, node.pull, self.F, gradient)

    def _may_scatter(self, node: Any, gradient: Any) -> bool:
        """Whether the gradient that a node gives may stay scattered: nobody asks to see it."""
        following = node.next[0]
        return (
            isinstance(following, OpNode)
            and following in self.runs
            and following not in self.wanted
            and node._hooks is None
            and following._hooks is None
            and not (self.create_graph or state.anomaly)
            and following.takes_scattered(gradient, self.pending, self.heap)
        )

    def _called(self, node: Node, rule: Any, *given: Any) -> Any:
        """What a node's rule gives."""
        restore = None if self.recorder is None else lift_saved(node, self.recorder)
        if state.clock is not None:
            rule = state.clock.around(rule, node.name())
        try:
            return rule(*given)
        except NoValues as error:
            raise blame.rule_without_values(node, error, self.place) from None
        finally:
            if restore is not None:
                restore()

    def _capture(self, key: Any, parts: list[Any]) -> None:
        """Remember gradients that the caller of `grad` asked for."""
        if self.accumulate:
            return
        tensors: dict[int, Any] = {}  # a tensor named twice has one gradient
        for position, index in self.wanted.get(key, ()):
            if index not in tensors:
                found = tensors[index] = self._tensor(parts[index])
                array = None if found is None else found._array
                if array.__class__ is np.ndarray and not array.flags.writeable:
                    # An expanded number: the caller may want to write to it.
                    set_array(found, array.copy())
            self.found[position] = tensors[index]

    def _retain(self, tensor: Tensor | None, gradient: Any) -> None:
        """Add to the `.grad` of a computed tensor that was asked to keep its gradient."""
        if tensor is None or gradient is None:
            return
        if self.create_graph:
            add_recorded_to_leaf(tensor, gradient, self.place)
            return
        old = tensor._grad
        array = np.array(gradient) if isinstance(gradient, np.generic) else gradient.copy()
        tensor._grad = self._tensor(array if old is None else old._array + gradient)

    # --- leaves -----------------------------------------------------------------------------------

    def _finish_ready(self) -> None:
        while self.ready:
            leaf = pop_equal(self.ready)
            self._finish_leaf(leaf, self.leaf_sums.pop(id(leaf)))

    def _finish_leaf(self, leaf: Tensor, gradient: Any) -> None:
        """A leaf has received all its gradient (None if nothing but None came)."""
        if inherits_flag(leaf):
            return
        hooks = leaf._hooks
        if hooks is not None:
            for registry in hooks.tensor.values():
                gradient = self._call_tensor_hooks(registry, gradient)
        if self.limited and not self.accumulate:
            self._capture(id(leaf), [gradient])
            return
        if hooks is not None and hooks.before:
            (gradient,) = self._call_node_hooks(hooks.before, [gradient], None)
        if gradient is not None:
            self._accumulate(leaf, gradient)
        if hooks is not None:
            for hook in list(hooks.post_accumulate.values()):
                hook(leaf)
            if hooks.after:
                self._call_node_hooks(hooks.after, (), [gradient])

    def _accumulate(self, leaf: Tensor, gradient: Any) -> None:
        if self.create_graph:
            add_recorded_to_leaf(leaf, gradient, self.place)
            return
        entry = [leaf, gradient, False]
        del gradient
        add_to_leaves([entry], self.place)

    # --- hooks ------------------------------------------------------------------------------------

    def _call_tensor_hooks(self, registry: Any, gradient: Any) -> Any:
        for hook in list(registry.values()):
            answer = hook(self._tensor(gradient))
            if answer is not None:
                blame.check_hook_result(hook, answer, gradient)
                note_answer(hook, registry)
                gradient = self._value(answer)
        return gradient

    def _call_node_hooks(self, registry: Any, values: Sequence[Any], outputs: Any) -> list[Any]:
        """Hooks before a node are called with its gradients, hooks after it also with `outputs`."""
        tensors = tuple(self._tensor(value) for value in values)
        more = () if outputs is None else (tuple(self._tensor(part) for part in outputs),)
        for hook in list(registry.values()):
            answer = hook(tensors, *more)
            if answer is not None:
                blame.check_node_hook_result(hook, answer, tensors)
                tensors = answer
        return [self._value(tensor) for tensor in tensors]

    def _tensor(self, value: Any) -> Any:
        """A gradient as users see it."""
        if value is None or isinstance(value, Tensor):
            return value
        array = np.asarray(value) if isinstance(value, np.generic) else value
        return wrap(array, (*self.place, "backward", CUT_BACKWARD, None))

    def _value(self, tensor: Any) -> Any:
        """A gradient as the loop carries it."""
        if tensor is None or self.create_graph:
            return tensor
        array = tensor._array
        return array if self.recorder is None else recorded(array, self.recorder)


def pop_equal(queue: list[Any]) -> Any:
    """Take the first of several leaves that are ready together, and move up the next.

    PyTorch's queue is a binary heap in which these are equal. Hooks show the order in which they
    leave it: 0, 2, 4, 1, 3 for five.
    """
    first, last = queue[0], queue.pop()
    if not queue:
        return first
    hole, size = 0, len(queue)
    while 2 * hole + 2 < size:
        queue[hole] = queue[2 * hole + 2]
        hole = 2 * hole + 2
    if 2 * hole + 2 == size:
        queue[hole] = queue[2 * hole + 1]
        hole = 2 * hole + 1
    queue[hole] = last
    return first
