"""What a derivative transform does around the user's function: stand-ins go in, gradients come out.

Each transform differentiates by stand-ins of its own, so transforms inside one another, and the
graph outside, never mix: a gradient is taken by one stand-in and by nothing else. What comes out
leads to the graph outside (to what the function reached from there, or to arguments that require
grad) and no longer to the stand-ins.

`no_grad()` outside a transform does not reach into it: but then nothing leads outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, final

from lamina import errors
from lamina.core import blame
from lamina.core.batches import active_batches
from lamina.core.engine import root_edge, run_backward
from lamina.core.modes import door, state
from lamina.core.node import OutputEdge
from lamina.core.op import traced
from lamina.core.stand_ins import stand_in
from lamina.core.tangents import set_tangent, tangent_of
from lamina.core.tensor import Tensor, wrap
from lamina.utils._pytree import tree_flatten, tree_map, tree_unflatten


@final
class Level:
    """One derivative transform: a context in which its function runs.

    Attributes:
        inputs: The stand-ins by which it differentiates.
        records_outside: Whether recording was on outside: then results lead to the graph there.
    """

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self._life = _Life()
        self.records_outside = state.grad_enabled

    def __enter__(self) -> Self:
        door.set_grad_enabled(True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        door.set_grad_enabled(self.records_outside)
        self._life.is_over = True

    def stand_ins(self, tree: Any) -> Any:
        """The nest with a stand-in for each of its tensors; anything but tensors raises."""
        leaves, spec = tree_flatten(tree)
        return tree_unflatten([self._stand_in(leaf) for leaf in leaves], spec)

    def _stand_in(self, leaf: Any) -> Tensor:
        if not isinstance(leaf, Tensor):
            raise errors.InvalidValue(
                f"Thing passed to transform API must be Tensor, got {type(leaf)}",
                [(blame.this_place(), "asked for here")],
                ["differentiate by tensors only: choose them with argnums=..., or make a tensor of "
                 "the number"],
            )  # fmt: skip
        if not leaf.dtype.is_differentiable:
            raise blame.integer_requires_grad(leaf.dtype, at_creation=False)
        made = stand_in(leaf, self.records_outside, active_batches())
        made.__dict__["stands_in"] = self._life
        self.inputs.append(made)
        return made

    def gradients(
        self, roots: Sequence[Tensor], cotangents: Sequence[Tensor], retain_graph: bool = False
    ) -> list[Tensor]:
        """The gradients by the stand-ins, which lead outside where they should; zeros for none."""
        pairs = [(r, c) for r, c in zip(roots, cotangents, strict=True) if r.requires_grad]
        outside = Outside(self.inputs)
        records = state.grad_enabled and any(
            cotangent.requires_grad or outside.reaches(root) for root, cotangent in pairs
        )
        found: list[Any] = [None] * len(self.inputs)
        if pairs:
            found = run_backward(
                [root for root, _ in pairs],
                [cotangent for _, cotangent in pairs],
                retain_graph=retain_graph or records,
                create_graph=records,
                inputs=self.inputs,
                accumulate=False,
            )
        outside = Outside(self.inputs)
        return [
            traced.zeros_like(tensor).detach() if gradient is None else outside.cut(gradient)
            for tensor, gradient in zip(self.inputs, found, strict=True)
        ]

    def results(self, tree: Any) -> Any:
        """What the function returned, as it is seen outside."""
        outside = Outside(self.inputs)
        return tree_map(lambda leaf: self._result(leaf, outside), tree)

    def _result(self, leaf: Any, outside: Outside) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return outside.cut(leaf) if self.records_outside else _alone(leaf)


@final
class _Life:
    """Whether a transform's function has returned; its stand-ins know."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


@final
class Outside:
    """Tells which tensors lead to the graph outside of a transform.

    The stand-ins of a transform whose function has returned lead nowhere.
    """

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self._own = {id(tensor) for tensor in inputs if tensor._node is None}
        self._known: dict[Any, bool] = {}

    def reaches(self, tensor: Tensor) -> bool:
        """Whether a tensor leads to anything but the transform's own stand-ins."""
        if not tensor.requires_grad:
            return False
        edge = root_edge(tensor)
        if isinstance(edge, Tensor):
            return self._leads(edge)
        root = edge.node if edge.__class__ is OutputEdge else edge
        for node in sorted(self._unknown(root), key=_stamp_of):
            self._known[node] = any(map(self._leads, node.next))
        return self._known[root]

    def _unknown(self, root: Any) -> set[Any]:
        """The nodes behind one, itself among them, that were not looked at before."""
        found: set[Any] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            if node in found or node in self._known:
                continue
            found.add(node)
            for edge in node.next:
                if edge is not None and not isinstance(edge, Tensor):
                    stack.append(edge.node if edge.__class__ is OutputEdge else edge)
        return found

    def _leads(self, edge: Any) -> bool:
        if edge is None:
            return False
        if isinstance(edge, Tensor):
            life = edge.__dict__.get("stands_in")
            return id(edge) not in self._own and (life is None or not life.is_over)
        return self._known[edge.node if edge.__class__ is OutputEdge else edge]

    def cut(self, tensor: Tensor) -> Tensor:
        """A tensor that leads outside as it is; one that does not without its graph."""
        return tensor if self.reaches(tensor) or not tensor.requires_grad else _alone(tensor)


def _stamp_of(node: Any) -> int:
    stamp: int = node.stamp
    return stamp


def _alone(tensor: Tensor) -> Tensor:
    """A tensor without its graph."""
    if not tensor.requires_grad:
        return tensor
    made = wrap(tensor._array, tensor._origin)
    made._cell = tensor._cell
    for level in state.duals:
        if (tangent := tangent_of(tensor, level)) is not None:
            set_tangent(made, level, tangent)
    return made
