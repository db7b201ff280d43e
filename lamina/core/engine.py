"""The backward engine: walks the graph from results to leaves and adds up gradients.

A node's stamp is larger than those of all nodes its inputs came from, since edges only ever lead to
what exists already. Taking the pending node with the largest stamp is therefore a topological
order, and the order that PyTorch keeps: newest first. Nothing recurses, so depth costs nothing.

Two loops, on purpose. `_run_plain` is for the everyday case: gradients of leaves, raw arrays, no
hooks anywhere. `GeneralRun` does all the rest: hooks, gradients of chosen tensors, and passes that
are themselves recorded (then the gradients are tensors and `F` is `traced`).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.later import Later
from lamina.codegen.vectorized import LEAST_SHARED, shared
from lamina.core import blame
from lamina.core.accumulation import add_to_leaves
from lamina.core.flags import noted_flags
from lamina.core.hooks import any_hooks
from lamina.core.modes import door, state
from lamina.core.node import NOTHING, Node, OutputEdge
from lamina.core.op import raw
from lamina.core.op_node import OpNode
from lamina.core.origins import CUT_BACKWARD
from lamina.core.positions import here
from lamina.core.records import note_pass
from lamina.core.tensor import Tensor, wrap
from lamina.core.views import refresh
from lamina.devices import NoValues

if TYPE_CHECKING:
    from lamina.core import general_run
else:
    general_run = Later("lamina.core.general_run")

ndarray: Final = np.ndarray


def root_edge(tensor: Tensor) -> Any:
    """Where a backward pass from a tensor starts."""
    if tensor._view is not None:
        refresh(tensor)
    return tensor if tensor._node is None else tensor._node


def _target_edge(tensor: Tensor, accumulate: bool) -> Any:
    """The edge to an input; where gradients are added to `.grad`, one that is no leaf keeps its."""
    if accumulate:
        tensor.retain_grad()
    return root_edge(tensor)


def run_backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Any],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Carry `gradients` from `roots` back through the graph; None stands for ones.

    With `inputs`, only what leads to them is run; with `accumulate` False their gradients are
    returned (None where nothing arrived) and no `.grad` is touched.
    """
    place = here()
    edges = list(map(root_edge, roots))
    note_pass(place, roots, not accumulate)
    if not (create_graph or inputs is not None or any_hooks() or door.is_watched):
        arrays = list(map(_first_array, roots, gradients))
        if len(edges) == 1 and isinstance(edges[0], Node) and edges[0].is_last:
            _run_last(edges[0], arrays[0], retain_graph, place)
            return []
        with noted_flags():
            _run_plain(edges, arrays, retain_graph, place)
        return []
    pairs = zip(roots, gradients, strict=True)
    gradients = [_one_for(root, place) if given is None else given for root, given in pairs]
    targets = None if inputs is None else [_target_edge(tensor, accumulate) for tensor in inputs]
    # Gradients that carry tangents are tensors too.
    run = general_run.GeneralRun(
        retain_graph, create_graph or bool(state.duals), targets, accumulate, place
    )
    before = state.grad_enabled
    door.set_grad_enabled(create_graph)
    try:
        with noted_flags():
            return run.go(edges, list(gradients))
    finally:
        door.set_grad_enabled(before)


def _ones_like(array: Any) -> Any:
    """The gradient of a root for which none was given (`np.ones_like` takes 1 us)."""
    is_number = array.__class__ is ndarray and not array.ndim
    return np.array(1, array.dtype) if is_number else np.ones_like(array)


def _first_array(root: Tensor, given: Tensor | None) -> Any:
    return _ones_like(root._array) if given is None else given._array


def _one_for(root: Tensor, place: Any) -> Tensor:
    return wrap(_ones_like(root._array), (*place, "backward", CUT_BACKWARD, None))


def free_graph(roots: Sequence[Tensor], inputs: Sequence[Tensor], place: Any) -> None:
    """Forget what the nodes between roots and inputs keep, as a pass over them would."""
    run = general_run.GeneralRun(False, False, list(map(root_edge, inputs)), False, place)
    run.forget(list(map(root_edge, roots)))


# --- the plain loop ------------------------------------------------------------------------------


def _run_last(node: Node, array: Any, retain_graph: bool, place: Any) -> None:
    """A pass over one node that says itself that it is the last one (see `Node.is_last`).

    Without tables of what is pending, and without a look at NumPy's flags: 3 us less.
    """
    gradients = node.pull(raw, array)
    if not retain_graph:
        node.release(place)
    entries = zip(node.next, gradients, repeat(True))
    for leaf in node.next:
        if leaf is not None and leaf._grad is not None:
            with noted_flags():
                add_to_leaves(entries, place)
            return
    add_to_leaves(entries, place)


def _run_plain(roots: list[Any], arrays: list[Any], retain_graph: bool, place: Any) -> None:
    """Gradients of all leaves, on raw arrays. Leaves are written last: an error changes nothing.

    The newest of the nodes that a gradient was just made for stays in `following`: if none of those
    that wait is newer it is next, and goes neither through the heap nor through `pending` (0.4 us a
    node in a chain, and 1.5 in a sum of many terms).
    """
    pending: dict[Any, Any] = {}  # node -> gradient, or list of gradients by output
    leaves: dict[Any, list[Any]] = {}  # leaf -> [leaf, gradient, whether the array is ours]
    owned: set[Any] = set()
    heap: list[tuple[int, Any]] = []
    node = gradient = None
    if len(roots) == 1 and isinstance(roots[0], Node):
        node, gradient = roots[0], arrays[0]
    else:
        for edge, array in zip(roots, arrays, strict=True):
            _deliver(edge, array, pending, leaves, owned, heap)
    while heap or node is not None:
        if node is None:
            node = heapq.heappop(heap)[1]
            gradient = pending.pop(node)
        while node is not None:
            try:
                if node.can_scatter:
                    node, grads = _pull_scattering(
                        node, gradient, pending, heap, retain_graph, place
                    )
                else:
                    grads = node.pull(raw, gradient)
            except NoValues as error:
                raise blame.rule_without_values(node, error, place) from None
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
                        is_ours = node.gives_own and gradient.base is None
                        leaves[edge] = [edge, gradient, is_ours]
                    elif entry[2]:
                        entry[1] += gradient
                    else:
                        entry[1] = total = entry[1] + gradient
                        entry[2] = total.__class__ is ndarray
                elif edge.__class__ is OutputEdge or isinstance(edge, Tensor) or edge in pending:
                    _deliver(edge, gradient, pending, leaves, owned, heap)
                elif following is None:
                    following, carried = edge, gradient
                elif edge is following:
                    _deliver(edge, carried, pending, leaves, owned, heap)
                    _deliver(edge, gradient, pending, leaves, owned, heap)
                    following = None
                elif edge.stamp > following.stamp:
                    heapq.heappush(heap, (-following.stamp, following))
                    pending[following] = carried
                    following, carried = edge, gradient
                else:
                    heapq.heappush(heap, (-edge.stamp, edge))
                    pending[edge] = gradient
            grads = None
            if following is not None:
                gradient = carried
                if heap and heap[0][0] < -following.stamp:
                    heapq.heappush(heap, (-following.stamp, following))
                    pending[following] = gradient
                    following = None
            node = following
    gradient = carried = None  # a leaf takes an array over that nobody else has
    add_to_leaves(leaves.values(), place)


def _pull_scattering(
    node: Any, gradient: Any, pending: dict[Any, Any], heap: list[tuple[int, Any]],
    retain_graph: bool, place: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Run a node whose gradient may stay scattered (see that file), and the next one too if so.

    Gives the node that ran last, and its gradients.
    """
    following = node.next[0]
    if isinstance(following, OpNode) and following.takes_scattered(gradient, pending, heap):
        scattered = node.scatter(gradient)
        if scattered is not None:
            if not retain_graph:
                node.release(place)
            return following, following.pull_scattered(scattered)
    return node, node.pull(raw, gradient)


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
    """The sum of gradients: the first is borrowed, the second allocates, others add in place."""
    if old is None or new is None:
        return new if old is None else old
    add = np.add if old.size < LEAST_SHARED else shared(np.add)
    if key in owned:
        add(old, new, old)
        return old
    total = add(old, new)
    if isinstance(total, np.ndarray):
        owned.add(key)
    return total
