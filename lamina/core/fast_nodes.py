"""The nodes of pointwise operations on one and two tensors: what the short ways record.

Dense like `fast.py`, and for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lamina.core import blame
from lamina.core.node import NOTHING
from lamina.core.op import SAME, Op, Rule, raw
from lamina.core.op_node import OpNode
from lamina.core.parameters import parameters_of
from lamina.core.promotion import is_half
from lamina.core.saved import keep_input, keep_result, raw_saved, unpack
from lamina.core.tensor import Tensor

KEEP_X: Final = 1
KEEP_Y: Final = 2
KEEP_OUT: Final = 4


class PointwiseNode(OpNode):
    """A node whose kept values are (x, y, out); numbers and None stand for themselves."""

    __slots__ = ()

    rules: tuple[Any, Any] = (None, None)
    bare_rules: tuple[Any, Any] = (None, None)

    def unpack(self, F: Any, slot: int) -> Any:
        """The kept value of one slot of the op, checked."""
        if self.saved is None:
            raise blame.graph_freed(self)
        kind, position = self.op.slots[slot]
        return unpack(self, self.saved[2 if kind == "out" else position], F)

    def raw_saved(self, slot: int) -> Any:
        """The handle on the kept value of one slot of the op."""
        kind, position = self.op.slots[slot]
        return raw_saved(self, 2 if kind == "out" else position)

    def remember(self, values: list[Any], made: list[Any], needs: tuple[bool, ...]) -> None:
        """Keep what the wanted rules ask for, and the geometry if anything must be undone."""
        mask = sum(1 << k for k, need in enumerate(needs) if need)
        keep = kept_for(self.op, len(needs))[mask]
        padded = [*values, None]
        if keep:
            self.saved = (
                keep_input(padded[0]) if keep & KEEP_X else None,
                keep_input(padded[1]) if keep & KEEP_Y else None,
                keep_result(made[0], 0) if keep & KEEP_OUT else None,
            )
        else:
            self.saved = NOTHING
        result = made[0]._array
        # A rule mixes what was kept: with other dtypes, or halves and Python numbers (bfloat16
        # times 2.0 is float32 to NumPy), its gradient need not have the input's dtype.
        is_plain = not is_half(result.dtype) and all(
            value._array.dtype == result.dtype for value in values if isinstance(value, Tensor)
        )
        geometry = tuple(_geometry(value, is_plain) for value in values)
        fits = is_plain and all(shape in (None, result.shape) for shape, _ in geometry)
        self.context = None if fits else geometry


class UnaryNode(PointwiseNode):
    """The node of a pointwise operation on one tensor."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The input's gradient."""
        if g is None:
            return (None,)
        saved = self.saved
        if saved is None:
            raise blame.graph_freed(self)
        x = out = None
        if saved is not NOTHING:
            x, _, out = saved
            if x is not None:
                x = unpack(self, x, F)
            if out is not None:
                out = unpack(self, out, F)
        gradient = self.rules[0](F, g, x, None, out)
        if self.context is not None:
            gradient = _fit(F, gradient, *self.context[0])
        return (gradient,)


class BinaryNode(PointwiseNode):
    """The node of a pointwise operation on two tensors, or on a tensor and a number."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The gradients of both inputs (None where none is wanted)."""
        if g is None:
            return None, None
        saved = self.saved
        if saved is None:
            raise blame.graph_freed(self)
        x = y = out = None
        if saved is not NOTHING:
            x, y, out = saved
            x, y, out = unpack(self, x, F), unpack(self, y, F), unpack(self, out, F)
        rule_x, rule_y = self.rules
        edge_x, edge_y = self.next
        grad_x = None if edge_x is None else g if rule_x is None else rule_x(F, g, x, y, out)
        grad_y = None if edge_y is None else g if rule_y is None else rule_y(F, g, x, y, out)
        return (grad_x, grad_y) if self.context is None else _fit_both(F, self, grad_x, grad_y)


class PassingNode(BinaryNode):
    """The node of a sum or difference: nothing is kept, and rules need the gradient alone."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The gradients of both inputs."""
        if g is None:
            return None, None
        rule_x, rule_y = self.bare_rules
        edge_x, edge_y = self.next
        grad_x = None if edge_x is None else g if rule_x is None else rule_x(F, g)
        grad_y = None if edge_y is None else g if rule_y is None else rule_y(F, g)
        return (grad_x, grad_y) if self.context is None else _fit_both(F, self, grad_x, grad_y)


class CrossingNode(BinaryNode):
    """The node of a product: each input's gradient needs the other input (saves 0.2 us a node)."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The gradients of both inputs."""
        if g is None:
            return None, None
        saved = self.saved
        if saved is None:
            raise blame.graph_freed(self)
        x, y, _ = saved
        rule_x, rule_y = self.bare_rules
        grad_x = grad_y = None
        if self.next[0] is not None:
            if (
                F is raw
                and y.__class__ is Tensor
                and (y._cell is None or y._cell.changed_at < self.stamp)
            ):
                grad_x = rule_x(F, g, y._array)
            else:
                grad_x = rule_x(F, g, unpack(self, y, F))
        if self.next[1] is not None:
            if (
                F is raw
                and x.__class__ is Tensor
                and (x._cell is None or x._cell.changed_at < self.stamp)
            ):
                grad_y = rule_y(F, g, x._array)
            else:
                grad_y = rule_y(F, g, unpack(self, x, F))
        return (grad_x, grad_y) if self.context is None else _fit_both(F, self, grad_x, grad_y)


def _fit_both(F: Any, node: Any, grad_x: Any, grad_y: Any) -> tuple[Any, Any]:
    geometry_x, geometry_y = node.context
    return (
        None if grad_x is None else _fit(F, grad_x, *geometry_x),
        None if grad_y is None else _fit(F, grad_y, *geometry_y),
    )


def node_base_of(grad: Mapping[str, Rule] | None) -> type[BinaryNode]:
    """The kind of node that suits the rules of a binary operation."""
    if grad is None:
        return BinaryNode
    wanted = [parameters_of(grad[key])[2:] for key in ("input", "other")]
    if wanted == [(), ()]:
        return PassingNode
    return CrossingNode if wanted == [("other",), ("input",)] else BinaryNode


def _fit(F: Any, gradient: Any, shape: tuple[int, ...] | None, kind: Any) -> Any:
    """Undo broadcasting (`shape` is None for a number) and, if `kind` is given, promotion."""
    if shape is not None and gradient.shape != shape:
        gradient = F.sum_to_size(gradient, shape)
    return gradient if kind is None else F.cast_like_input(gradient, kind)


def _geometry(value: Any, is_plain: bool) -> tuple[Any, Any]:
    """An input's shape, and its dtype unless all are the same; (None, None) for a number."""
    if not isinstance(value, Tensor):
        return (None, None)
    return value._array.shape, (None if is_plain else value._array.dtype)


def of_five(rule: Rule, names: Sequence[str]) -> Any:
    """The rule as a function of (F, g, x, y, out); None for the identity, which needs no call."""
    if rule is SAME:
        return None
    wanted = parameters_of(rule)[2:]
    places = {**dict(zip(names, "xy", strict=False)), "out": "out"}
    pattern = tuple(places[name] for name in wanted)
    table: dict[tuple[str, ...], Callable[[], Any]] = {
        (): lambda: lambda F, g, x, y, out: rule(F, g),
        ("x",): lambda: lambda F, g, x, y, out: rule(F, g, x),
        ("y",): lambda: lambda F, g, x, y, out: rule(F, g, y),
        ("out",): lambda: lambda F, g, x, y, out: rule(F, g, out),
        ("x", "y"): lambda: lambda F, g, x, y, out: rule(F, g, x, y),
        ("x", "out"): lambda: lambda F, g, x, y, out: rule(F, g, x, out),
        ("y", "out"): lambda: lambda F, g, x, y, out: rule(F, g, y, out),
        ("x", "y", "out"): lambda: lambda F, g, x, y, out: rule(F, g, x, y, out),
    }
    return table[pattern]()


def kept_for(op: Op, inputs: int) -> tuple[int, ...]:
    """For each mask of inputs that want a gradient: which of x, y, out must be kept."""
    table = []
    for mask in range(1 << inputs):
        bits = 0
        for k in range(inputs):
            if mask >> k & 1:
                for kind, position in op.getters.get(k, ()):
                    bits |= KEEP_OUT if kind == "out" else (KEEP_X, KEEP_Y)[position]
        table.append(bits)
    return tuple(table)
