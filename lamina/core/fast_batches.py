"""The short way of products of matrices in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lamina.core import blame
from lamina.core.call import execute, publish
from lamina.core.fast import unrecorded
from lamina.core.fast_products import General, ProductNode
from lamina.core.modes import door, state
from lamina.core.op import KEEP, PRODUCT, Op, Rule
from lamina.core.op_node import edge_of
from lamina.core.positions import here
from lamina.core.promotion import FLOAT32, FLOAT64
from lamina.core.saved import unpack
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import next_stamp
from lamina.core.views import refresh


class BatchNode(ProductNode):
    """The node of products of matrices in batches; its rules also take an input's shape."""

    __slots__ = ()

    def remember(self, values: list[Any], made: list[Any], needs: tuple[bool, ...]) -> None:
        """Keep each factor that the other's gradient needs, and both shapes."""
        super().remember(values, made, needs)
        self.context = (values[0]._array.shape, values[1]._array.shape)

    def pull(self, F: Any, g: Any) -> Any:
        """The gradients of both factors."""
        if g is None:
            return None, None
        saved = self.saved
        if saved is None:
            raise blame.graph_freed(self)
        x, y, _ = saved
        edge_x, edge_y = self.next
        shape_x, shape_y = self.context
        rule_x, rule_y = self.bare_rules
        grad_x = None if edge_x is None else rule_x(F, g, unpack(self, y, F), shape_x)
        grad_y = None if edge_y is None else rule_y(F, g, unpack(self, x, F), shape_y)
        return grad_x, grad_y


def batch_product(
    name: str, kernel: Callable[..., Any], *, grad: Mapping[str, Rule], node_name: str,
    samples: Any, doc: str,
) -> Op:  # fmt: skip
    """The record of products of matrices in batches, for `batch_caller`.

    The rule of each factor asks for the other factor, and for its own shape.
    """
    op = Op(
        name, kernel, tensors=tuple(grad), grad=grad, node_name=node_name, dtypes=KEEP,
        is_view=False, result=None, halves_in_float=True, samples=samples, doc=doc,
        node_base=BatchNode,
    )  # fmt: skip
    op.tangent = PRODUCT
    op.node_class.bare_rules = tuple(grad.values())  # type: ignore[attr-defined]
    publish(op, lambda input, other, *, out=None: execute(op, [input, other], out))
    return op


def batch_caller(op: Op, least: int, most: int, general: General) -> Callable[..., Any]:
    """The function that multiplies float batches of `least` to `most` dimensions.

    All else goes to `general`.
    """
    kernel = op.kernel

    def call(input: Any, other: Any, out: Any = None) -> Any:
        if input.__class__ is not Tensor or other.__class__ is not Tensor:
            return general(input, other, out)
        x = input._array
        y = other._array
        kind = x.dtype
        if (
            door.is_watched
            or out is not None
            or y.dtype is not kind
            or (kind is not FLOAT32 and kind is not FLOAT64)
            or not least <= x.ndim <= most
            or not least <= y.ndim <= most
        ):
            return general(input, other, out)
        if input._view is not None:
            refresh(input)
        if other._view is not None:
            refresh(other)
        try:
            result = kernel(x, y)
        except Exception:
            return general(input, other, None)
        code, lasti = here()
        records = (input._requires_grad or other._requires_grad) and state.grad_enabled
        made = wrap(result, None if records else unrecorded(op, code, lasti, input, other))
        if records:
            node = op.node_class()
            node.next = (edge_of(input), edge_of(other))
            node.code, node.lasti = code, lasti
            node._hooks = None
            node.stamp = next_stamp()
            node.remember([input, other], [made], (input._requires_grad, other._requires_grad))
            made._node = node
            made._requires_grad = True
        return made

    return call
