"""Graph nodes: what a recorded operation leaves behind for the backward pass.

A node keeps what its derivative needs, the edges to where its inputs came from, its stamp and its
position in the user's program. It never keeps its own output tensor, so a graph has no cycles and
its memory goes when the last name goes.

An edge is one of: a `Node` (its only output), an `OutputEdge` (one of several outputs), a leaf
`Tensor` that collects `.grad`, or None (no gradient wanted). An AccumulateGrad object is made only
when somebody reads `next_functions`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, Final, final

from lamina.core.hooks import Hooks, RemovableHandle, add_hook, hooks_of

NOTHING: Final[tuple[Any, ...]] = ()
"""What a node keeps whose derivative needs no values: it can be run any number of times."""


# PyTorch gives these nodes' names with the namespace before them.
_IN_NAMESPACE: Final = frozenset(
    ("AccumulateGrad", "CopyBackwards", "CopySlices", "NotImplemented", "WarnNotImplemented")
)


class Node:
    """One step of the graph; each operation has its own final subclass, named as in PyTorch.

    `pull(F, g)` computes the gradients of the inputs. `F` is the namespace to compute with: raw
    arrays, or tensors when the backward pass is recorded itself.
    """

    __slots__ = (
        "__weakref__", "_hooks", "_metadata", "_outputs", "code", "context", "freed_at", "lasti",
        "next", "saved", "stamp",
    )  # fmt: skip

    next: tuple[Any, ...]
    saved: Any
    context: Any
    stamp: int
    code: CodeType
    lasti: int
    freed_at: Any
    _hooks: Hooks | None
    _metadata: dict[Any, Any]
    _outputs: int

    op: Any = None
    _word: str | None = None
    """What users call the operation, where its class does not say it."""
    gives_own = False
    """Whether the arrays that `pull` gives are made for it, and written by nobody else."""
    can_scatter = False
    """Whether its one gradient can also be given as numbers and their places: see `scattered`."""
    is_last = False
    """Whether all edges lead to different leaves, `pull` gives arrays of its own, and its
    arithmetic raises no flags of NumPy's."""

    @property
    def outputs(self) -> int:
        """How many outputs the operation had. Most have one, and leave the slot unset."""
        try:
            return self._outputs
        except AttributeError:
            return 1

    @outputs.setter
    def outputs(self, count: int) -> None:
        self._outputs = count

    def name(self) -> str:
        """The name of the operation's derivative, such as `MulBackward0`."""
        found = type(self).__name__
        return f"torch::autograd::{found}" if found in _IN_NAMESPACE else found

    def pull(self, F: Any, g: Any) -> Any:
        """The gradients of the inputs, one for each edge, given that of the output(s)."""
        raise NotImplementedError(self.name())

    def release(self, place: Any) -> None:
        """Forget the kept values; `place` is the position of the backward pass that used them."""
        if self.saved is not NOTHING and self.saved is not None:
            self.saved = None
            self.freed_at = place

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the gradients go to, each with the number of its output."""
        return tuple(public_edge(edge) for edge in self.next)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whatever the user wants to remember with this node."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata = {}
            return self._metadata

    def _sequence_nr(self) -> int:
        return self.stamp

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node ran; it may replace grad_inputs."""
        return add_hook(hooks_of(self).after, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; it may replace them."""
        return add_hook(hooks_of(self).before, fn)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


@final
class OutputEdge:
    """The edge to one output of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


@final
class AccumulateGrad(Node):
    """What `next_functions` shows for a leaf: where its gradient is added to `.grad`."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.next = ()
        self.saved = NOTHING
        self.context = self.freed_at = None
        self.stamp = 1 << 62

    @property
    def _hooks(self) -> Hooks | None:  # type: ignore[override]
        """The leaf's own: this object comes and goes."""
        hooks: Hooks | None = self.variable._hooks
        return hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the leaf's `.grad` was written."""
        return add_hook(hooks_of(self.variable).after, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the leaf's `.grad` is written."""
        return add_hook(hooks_of(self.variable).before, fn)


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """The AccumulateGrad object that stands for a leaf: one and the same while anybody holds it."""
    hooks = hooks_of(leaf)
    found = hooks.accumulator() if hooks.accumulator is not None else None
    if found is None:
        found = AccumulateGrad(leaf)
        hooks.accumulator = weakref.ref(found)
    return found


def edge_of_public(node: Node, index: int) -> Any:
    """The edge that `next_functions` shows as `(node, index)`."""
    if isinstance(node, AccumulateGrad):
        return node.variable
    return node if node.outputs == 1 else OutputEdge(node, index)


def public_edge(edge: Any) -> tuple[Any, int]:
    """An edge as `next_functions` shows it."""
    if edge is None:
        return (None, 0)
    if isinstance(edge, OutputEdge):
        return (edge.node, edge.index)
    if isinstance(edge, Node):
        return (edge, 0)
    if edge._view is not None and "asked_at" not in edge.__dict__:  # `views.inherits_flag`
        return (None, 0)
    return (accumulator_of(edge), 0)
