"""A backward pass that changes nothing: which gradient arrives where.

`dry` goes through the real rules of the graph with arrays that have a shape and a dtype and no
elements, so what it finds is what the engine would do, at no more cost than looking. `wet` computes
the numbers as well. Neither touches `.grad`, frees what is kept, or calls a hook on a gradient; the
code of a custom Function, and hooks that unpack kept values, are only called by `wet`.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from lamina.autograd.function import BackwardCFunction
from lamina.core.fast_nodes import PointwiseNode
from lamina.core.fast_products import ProductNode
from lamina.core.inplace import CopySlices, Overwrite
from lamina.core.node import NOTHING, Node, OutputEdge
from lamina.core.op import raw
from lamina.core.op_node import Context, OpNode
from lamina.core.saved import AliasBackward0, KeptResult, Packed, unpack
from lamina.core.tensor import Tensor, wrap
from lamina.core.views import AsStridedBackward0
from lamina.devices import backend_of, device_of
from lamina.devices.layouts import fresh
from lamina.devices.traced import TracedArray
from lamina.errors import LaminaError
from lamina.explain.graphs.model import Values


class Unknown(NamedTuple):
    """A gradient of which not all is known."""

    shape: tuple[int, ...] | None = None
    dtype: Any = None


Pull = Callable[[Any, Any], Sequence[Any]]
Arrivals = dict[tuple[Any, int], Any]
"""(node, number of the edge) -> the gradient that goes along it, None, or an `Unknown`."""


def dry(edges: Sequence[Any], gradients: Sequence[Any]) -> Arrivals:
    """The shapes and dtypes of all gradients; `gradients` are those of the roots, without values.

    Where a rule cannot say what it would give without the values, its inputs' geometry does.
    """
    return _pass(edges, [stand_in(gradient) for gradient in gradients], _dry_pull)


def wet(edges: Sequence[Any], gradients: Sequence[Any], seen: Callable[..., None]) -> None:
    """Compute all gradients; `seen(node, number of the edge, gradient)` is told of each.

    Raises:
        LaminaError: What a backward pass would raise, such as `GraphFreed`.
    """

    def pull(node: Any, gradient: Any) -> Sequence[Any]:
        found = list(node.pull(raw, gradient))
        for number, value in enumerate(found):
            if node.next[number] is not None:
                seen(node, number, value)
        return found

    with np.errstate(all="ignore"):  # nothing is noted: the program did not run this
        _pass(edges, gradients, pull)


def stand_in(array: Any) -> TracedArray:
    """An array with the shape, dtype and device of another one, and no elements."""
    return TracedArray(fresh(array.shape, array.dtype), device_of(array))


def _pass(edges: Sequence[Any], gradients: Sequence[Any], pull: Pull) -> Arrivals:
    """Visit the nodes newest first, as the engine does."""
    pending: dict[Any, list[Any]] = {}
    heap: list[tuple[int, Any]] = []
    found: Arrivals = {}

    def deliver(edge: Any, gradient: Any) -> None:
        node = edge.node if isinstance(edge, OutputEdge) else edge
        if not isinstance(node, Node):
            return
        if node not in pending:
            pending[node] = [None] * node.outputs
            heapq.heappush(heap, (-node.stamp, node))
        index = edge.index if isinstance(edge, OutputEdge) else 0
        pending[node][index] = _sum(pending[node][index], gradient)

    for edge, gradient in zip(edges, gradients, strict=True):
        deliver(edge, gradient)
    while heap:
        node = heapq.heappop(heap)[1]
        parts = pending.pop(node)
        sent = pull(node, parts[0] if node.outputs == 1 else parts)
        for number, (edge, gradient) in enumerate(zip(node.next, sent, strict=True)):
            if edge is not None:
                found[node, number] = gradient
                deliver(edge, gradient)
    return found


def _sum(old: Any, new: Any) -> Any:
    if old is None or new is None:
        return new if old is None else old
    if isinstance(old, Unknown) or isinstance(new, Unknown):
        return new if isinstance(old, Unknown) and old.shape is None else old
    return old + new


# --- without values -------------------------------------------------------------------------------


def _dry_pull(node: Any, gradient: Any) -> Sequence[Any]:
    parts = gradient if node.outputs > 1 else [gradient]
    if all(part is None for part in parts) and not isinstance(node, BackwardCFunction):
        return [None] * len(node.next)
    if _is_elementwise(node):
        return [gradient if edge is not None else None for edge in node.next]
    if not any(isinstance(part, Unknown) for part in parts):
        try:
            return list(_without_values(node).pull(raw, gradient))
        except Exception:
            pass  # a rule that looks at values, or a node that cannot be asked: its geometry can
    return [_geometry(node, number, parts[0]) for number in range(len(node.next))]


def _is_elementwise(node: Any) -> bool:
    """Whether the gradients of all inputs are like that of the result, as the node remembers."""
    return (
        isinstance(node, PointwiseNode)
        and not isinstance(node, ProductNode)
        and node.context is None
    )


_RULED: Final = (AliasBackward0, AsStridedBackward0, CopySlices, OpNode, Overwrite)
"""Nodes whose `pull` is made of rules. Others run the user's code, or that of the compiler."""


def _without_values(node: Any) -> Any:
    """A copy of a node whose kept values have no elements."""
    if not isinstance(node, _RULED):
        raise LookupError("its derivative is not made of rules")
    twin = copy.copy(node)
    if isinstance(node.saved, Node):  # the change in place of a part
        twin.saved = _without_values(node.saved)
    elif node.saved is None:
        raise LookupError("it was freed")
    elif node.saved is not NOTHING:
        twin.saved = tuple(_bare(entry) for entry in node.saved)
    return twin


def _bare(entry: Any) -> Any:
    if isinstance(entry, tuple):
        return tuple(_bare(item) for item in entry)
    if isinstance(entry, Packed):
        raise LookupError("only the user's hook can unpack it")
    if isinstance(entry, KeptResult):
        array = _bare_array(entry.array)
        return KeptResult(wrap(array, None), entry.index)
    return wrap(_bare_array(entry._array), None) if isinstance(entry, Tensor) else entry


def _bare_array(array: Any) -> Any:
    """Indices and masks stay: rules ask for their values, and do no arithmetic with them alone."""
    return stand_in(array) if array.dtype.kind not in "biu" else array


def _geometry(node: Any, number: int, gradient: Any) -> Any:
    """What is known of the gradient of an input from the geometry that the node remembers."""
    if node.next[number] is None:
        return None
    same = Unknown(getattr(gradient, "shape", None), getattr(gradient, "dtype", None))
    if isinstance(node, BackwardCFunction):
        place = number if node.order is None else node.order[number]
        known = node.geometry[place] if place < len(node.geometry) else None
        return Unknown() if known is None else Unknown(tuple(known[0]), known[1])
    context = node.context
    if isinstance(node, AsStridedBackward0):
        return Unknown(tuple(context[0]), context[1])
    if isinstance(node.saved, Node):
        return same if number == 0 else _geometry(node.saved, number, None)
    if isinstance(context, Context):
        shapes, kinds = _flat(node.op, context.shapes), _flat(node.op, context.dtypes)
        if number < len(shapes) and shapes[number] is not None:
            return Unknown(tuple(shapes[number]), kinds[number])
        return Unknown()
    if isinstance(context, tuple) and len(context) == len(node.next):
        known = context[number]
        if isinstance(known, tuple) and len(known) == 2 and isinstance(known[0], tuple):
            return Unknown(known[0], known[1] if known[1] is not None else same.dtype)
        if isinstance(known, tuple):
            return Unknown(known, same.dtype)
    return Unknown(None, same.dtype)


def _flat(op: Any, facts: Sequence[Any]) -> list[Any]:
    """Facts about an operation's tensors, one for each edge."""
    found: list[Any] = []
    for position, fact in zip(op.tensor_positions, facts, strict=True):
        if position in op.rules:
            found += fact if isinstance(fact, list) else [fact]
    return found


def problem_of(node: Any) -> str:
    """Which change in place makes a kept value useless; empty if none does."""
    saved = node.saved.saved if isinstance(node.saved, Node) else node.saved
    for entry in saved if isinstance(saved, tuple) else ():
        for item in entry if isinstance(entry, tuple) else (entry,):
            cell = item.cell if isinstance(item, KeptResult) else getattr(item, "_cell", None)
            if cell is not None and getattr(cell, "changed_at", 0) > node.stamp:
                return _words_for_change(node, item)
    return ""


def _words_for_change(node: Any, item: Any) -> str:
    try:
        unpack(node, item, raw)
    except LaminaError as error:
        return str(error)
    return "a value that it kept was changed in place"


def measured(array: Any) -> Values:
    """What the numbers of an array are like."""
    on_host = backend_of(device_of(array)).to_host(array)
    wide = np.complex128 if on_host.dtype.kind == "c" else np.float64
    size = np.abs(on_host.astype(wide))
    finite = size[np.isfinite(size)]
    nans = int(np.isnan(size).sum())
    return Values(
        norm=float(np.sqrt((finite * finite).sum())),
        largest=float(finite.max()) if finite.size else 0.0,
        nans=nans,
        infinities=int(size.size - finite.size - nans),
        zeros=int((size == 0).sum()),
        count=int(size.size),
    )
