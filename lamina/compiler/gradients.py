"""Gradients of compiled functions: captured with the function, and run from one node.

While a function is captured, the backward pass from its results is captured too. A result then has
a `CompiledBackward0` as its `grad_fn`, whose edges lead to the tensors that the function took.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from lamina import errors
from lamina.codegen.executable import Executable
from lamina.compiler.existing import Boundary, Existing, NotCaptured
from lamina.core import blame
from lamina.core.engine import run_backward
from lamina.core.node import NOTHING, Node, OutputEdge
from lamina.core.op import raw
from lamina.core.saved import unpack
from lamina.core.tensor import Tensor, wrap
from lamina.devices.traced import Recorder


@final
class Derivative(NamedTuple):
    """A captured backward pass.

    Attributes:
        targets: The tensors that gradients are for.
        cotangents: The traced arrays that stand for the results' gradients.
        gradients: For each target a traced array, or None.
    """

    targets: list[Tensor]
    cotangents: list[Any]
    gradients: list[Any]


def capture_gradients(
    recorder: Recorder, results: Sequence[Tensor], existing: Existing, start: int
) -> Derivative | None:
    """Capture the backward pass from results; None if the graph was used up inside.

    Args:
        results: Tensors that require grad, computed while capturing.
        existing: What exists outside: the pass ends there.
        start: A stamp: nodes that are not younger are outside.
    """
    targets = _targets(results, existing, start)
    cotangents = [recorder.input(np.empty(r.shape, r._array.dtype)) for r in results]
    given = [wrap(array, None) for array in cotangents]
    # Hooks on what is outside run outside, in the pass that brings it its gradient.
    hooks = [(target, target._hooks) for target in targets]
    for target in targets:
        target._hooks = None
    try:
        found = run_backward(
            list(results), given, retain_graph=True, create_graph=False, inputs=targets,
            accumulate=False,
        )  # fmt: skip
    except errors.GraphFreed:
        return None
    finally:
        for target, own in hooks:
            target._hooks = own
    return Derivative(targets, cotangents, [None if t is None else t._array for t in found])


def _targets(results: Sequence[Tensor], existing: Existing, start: int) -> list[Tensor]:
    """The tensors outside that results were computed from, in the order of discovery."""
    found: dict[int, Tensor] = {}
    stack = [result._node for result in results]
    seen: set[int] = set()
    while stack:
        edge = stack.pop()
        if edge is None or id(edge) in seen:
            continue
        seen.add(id(edge))
        if isinstance(edge, Tensor):
            if edge in existing:
                found[id(edge)] = edge
            continue
        node = edge.node if edge.__class__ is OutputEdge else edge
        if isinstance(node, Boundary) or node.stamp <= start:
            tensor = existing.with_edge(edge)
            if tensor is None:
                raise NotCaptured("a result leads to a graph outside whose tensor is not known")
            found[id(tensor)] = tensor
            continue
        stack += node.next
    return list(found.values())


@final
class CompiledBackward0(Node):
    """The derivative of a call of a compiled function."""

    __slots__ = ("is_last",)

    is_last: bool
    gives_own = True

    def pull(self, F: Any, g: Any) -> Any:
        """The gradients of all that the function took, from one run of the captured pass."""
        if self.saved is None:
            raise blame.graph_freed(self)
        if F is not raw:
            raise errors.NotDifferentiable(
                "the derivative of a compiled function has no derivative itself",
                [(blame.node_place(self), "this call is compiled")],
                ["call the function without `compile` where you need create_graph=True"],
            )
        backward = self.context
        kept, tensors = self.saved
        kinds, stamp = backward.kinds, self.stamp
        cotangents = [_fitted(g, kinds[0])] if len(kinds) == 1 else list(map(_fitted, g, kinds))
        inputs = [
            # As `unpack` looks, without a call for each: 0.1 us a tensor.
            tensor._array
            if tensor.__class__ is Tensor
            and (tensor._cell is None or tensor._cell.changed_at < stamp)
            else unpack(self, tensor, raw)
            for tensor in tensors
        ]
        with backward.lock:
            found = backward.executable.run([*kept, *inputs, *cotangents])
        return tuple([None if k is None else found[k] for k in backward.positions])


def _fitted(part: Any, kind: Any) -> Any:
    """A result's gradient as the captured pass reads it: there, and row by row in memory."""
    shape, dtype = kind
    if part.__class__ is np.ndarray and part.dtype is dtype and part.flags.c_contiguous:
        return part
    if part is None:
        return np.zeros(shape, dtype)
    array = np.asarray(part, dtype=dtype)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def used_up_node(place: Any, stamp: int) -> CompiledBackward0:
    """The node of a result whose graph was used up by a backward pass inside the function."""
    node = new_node(place, stamp, (), 1)
    node.context = None
    node.saved = None
    node.freed_at = place
    return node


def new_node(place: Any, stamp: int, edges: tuple[Any, ...], outputs: int) -> CompiledBackward0:
    """A node for one call."""
    node = CompiledBackward0()
    node.next = edges
    node.code, node.lasti = place
    node.stamp = stamp
    node._hooks = node.freed_at = None
    node.outputs = outputs
    node.is_last = False
    node.saved = NOTHING
    return node


__all__ = [
    "CompiledBackward0",
    "Derivative",
    "Executable",
    "capture_gradients",
    "new_node",
    "used_up_node",
]
