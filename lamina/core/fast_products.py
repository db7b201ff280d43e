"""The short ways of matrix products: `x @ w`, and the affine map of a layer.

Like the short ways of `fast.py`, and for the same reason: around a product of small matrices, the
Python is most of the time. On 4x4 float32, `ndarray.dot` takes 0.30 us and `np.matmul` 0.86.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.later import Later, is_available
from lamina.core import blame
from lamina.core.call import execute, publish, settled
from lamina.core.fast import NUMBER, _frame, _new, shown_two, unrecorded
from lamina.core.fast_nodes import KEEP_X, KEEP_Y, CrossingNode
from lamina.core.modes import door, state
from lamina.core.node import NOTHING
from lamina.core.numpy_names import MISSING
from lamina.core.op import KEEP, PRODUCT, Op, Rule, raw
from lamina.core.op_node import OpNode
from lamina.core.positions import internal_files, user_frame
from lamina.core.promotion import FLOAT32, FLOAT64
from lamina.core.saved import keep_input, unpack
from lamina.core.tensor import Tensor
from lamina.core.versions import INFERENCE, next_stamp
from lamina.core.views import refresh

if TYPE_CHECKING:
    from lamina.codegen.kernels import products
else:
    products = Later("lamina.codegen.kernels.products")

General = Callable[[Any, Any, Any], Any]

SMALL: Final = 2 * 48 * 64
"""Elements of two factors up to which a product is not worth a closer look (0.5 us)."""

SMALL_STACK: Final = 2 * 16 * 16
"""The same for stacks, of which BLAS is told one after another."""


def dot_product(x: Any, y: Any) -> Any:
    """The product of two matrices of one dtype; large ones in host memory by our own kernels."""
    if x.size + y.size <= SMALL or not _is_ours(x, y):
        return x.dot(y)
    return products.multiplied(x, y)


def stack_product(x: Any, y: Any) -> Any:
    """The products of two stacks of matrices of one dtype; they broadcast."""
    if x.size + y.size <= SMALL_STACK or not _is_ours(x, y):
        return np.matmul(x, y)
    return products.multiplied(x, y)


def _is_ours(x: Any, y: Any) -> bool:
    """Whether our own kernels can read two arrays: in host memory, and all elements are there."""
    return x.__class__ is np.ndarray and y.__class__ is np.ndarray and is_available()


class ProductNode(CrossingNode):
    """The node of a product of two matrices: each gradient needs the other factor."""

    __slots__ = ()

    def remember(self, values: list[Any], made: list[Any], needs: tuple[bool, ...]) -> None:
        """Keep each factor that the other's gradient needs."""
        self.saved = (
            keep_input(values[0]) if needs[1] else None,
            keep_input(values[1]) if needs[0] else None,
            None,
        )
        self.context = None


def matrix_product(
    name: str, kernel: Callable[..., Any], *, grad: Mapping[str, Rule], node_name: str,
    samples: Any, doc: str,
) -> Op:  # fmt: skip
    """The record of a product of two matrices, for `product_caller`.

    The rule of each factor asks for the other factor alone.
    """
    op = Op(
        name, kernel, tensors=None if len(grad) == 1 else tuple(grad), grad=grad,
        node_name=node_name, dtypes=KEEP, is_view=False, result=None, halves_in_float=True,
        samples=samples, doc=doc, node_base=ProductNode,
    )  # fmt: skip
    if len(grad) > 1:
        op.tangent = PRODUCT
    op.node_class.bare_rules = tuple(grad.values())  # type: ignore[attr-defined]
    return op


def product_caller(op: Op, general: General, public: Op) -> Callable[..., Any]:
    """The function that multiplies two float matrices; all else goes to `general`.

    `public` has its parameters as users name them.
    """
    node_class: Any = op.node_class

    def call(input: Any = MISSING, other: Any = MISSING, **options: Any) -> Any:
        if (
            input.__class__ is not Tensor
            or other.__class__ is not Tensor
            or door.is_watched
            or options
        ):
            if options or input is MISSING or other is MISSING:
                values, out = settled(public, (input, other), options)
                return general(values[0], values[1], out)
            return general(input, other, None)
        x = input._array
        y = other._array
        kind = x.dtype
        if (
            y.dtype is not kind
            or (kind is not FLOAT32 and kind is not FLOAT64)
            or x.ndim != 2
            or y.ndim != 2
        ):
            return general(input, other, None)
        view = input._view
        if view is not None and view.version != input._cell.version:
            refresh(input)
        view = other._view
        if view is not None and view.version != other._cell.version:
            refresh(other)
        try:
            result = x.dot(y) if x.size + y.size <= SMALL else dot_product(x, y)
        except Exception:
            return general(input, other, None)
        frame = _frame(1)
        code = frame.f_code
        if code.co_filename in internal_files:
            frame = user_frame(frame)
            code = frame.f_code
        made = _new(Tensor)
        made._array = result
        made._shape = made._grad = made._view = made._cell = made._hooks = None
        if (input._requires_grad or other._requires_grad) and (
            door.no_grad_threads == 0 or state.grad_enabled
        ):
            node = node_class()
            kept_x = kept_y = edge_x = edge_y = None
            if input._requires_grad:
                kept_y = other
                edge_x = input._node
                if edge_x is None:
                    edge_x = input
            if other._requires_grad:
                kept_x = input
                edge_y = other._node
                if edge_y is None:
                    edge_y = other
            if input._cell is INFERENCE or other._cell is INFERENCE:
                keep = (KEEP_X if kept_x is not None else 0) | (KEEP_Y if kept_y is not None else 0)
                blame.check_inference_saved(input, other, keep)
            node.next = (edge_x, edge_y)
            node.saved = (kept_x, kept_y, None)
            node.context = node._hooks = None
            node.code = code
            node.lasti = frame.f_lasti
            node.stamp = next_stamp()
            made._node = node
            made._requires_grad = True
            made._origin = None
        else:
            made._node = None
            made._requires_grad = False
            made._origin = unrecorded(op, code, frame.f_lasti, input, other)
        return made

    call.__wrapped__ = shown_two  # type: ignore[attr-defined]
    return call


# --- affine maps ---------------------------------------------------------------------------------


class AffineNode(OpNode):
    """The node of `x @ w.T + b`. Its edges are those of b, x and w; it keeps x and w."""

    __slots__ = ()

    affine_rules: tuple[Any, Any, Any] = (None, None, None)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the gradients go to; without a bias there are two."""
        return super().next_functions[self.context[0] is None :]

    def unpack(self, F: Any, slot: int) -> Any:
        """The kept value of one slot of the op, checked."""
        if self.saved is None:
            raise blame.graph_freed(self)
        position = self.op.slots[slot][1]
        return unpack(self, self.saved[position], F)

    def remember(self, values: list[Any], made: list[Any], needs: tuple[bool, ...]) -> None:
        """Keep x if w's gradient is wanted, w if x's is; and the shape of a bias."""
        input, weight, bias = values
        if needs[1] or needs[2]:
            self.saved = (
                keep_input(input) if needs[2] else None,
                keep_input(weight) if needs[1] else None,
            )
        else:
            self.saved = NOTHING
        self.context = (
            None if bias is None else bias._array.shape, input._array.shape, weight._array.shape,
        )  # fmt: skip

    def pull(self, F: Any, g: Any) -> Any:
        """The gradients of bias, input and weight."""
        if g is None:
            return None, None, None
        saved = self.saved
        if saved is None:
            raise blame.graph_freed(self)
        edge_b, edge_x, edge_w = self.next
        rule_b, rule_x, rule_w = self.affine_rules
        shape_b, shape_x, shape_w = self.context
        grad_b = grad_x = grad_w = None
        if edge_b is not None:
            grad_b = rule_b(F, g, shape_b)
        if edge_x is not None:
            w = saved[1]
            if (
                F is raw
                and w.__class__ is Tensor
                and (w._cell is None or w._cell.changed_at < self.stamp)
            ):
                grad_x = rule_x(F, g, w._array, shape_x)
            else:
                grad_x = rule_x(F, g, unpack(self, w, F), shape_x)
        if edge_w is not None:
            x = saved[0]
            if (
                F is raw
                and x.__class__ is Tensor
                and (x._cell is None or x._cell.changed_at < self.stamp)
            ):
                grad_w = rule_w(F, g, x._array, shape_w)
            else:
                grad_w = rule_w(F, g, unpack(self, x, F), shape_w)
        return grad_b, grad_x, grad_w


def affine_op(
    name: str, kernel: Callable[..., Any], *, grad: Mapping[str, Rule], node_name: str,
    samples: Any, doc: str,
) -> Op:  # fmt: skip
    """The record of an affine map `kernel(input, weight, bias)`, for `affine_caller`."""
    op = Op(
        name, kernel, tensors=("?bias", "input", "weight"), grad=grad, node_name=node_name,
        dtypes=KEEP, is_view=False, result=None, halves_in_float=True, samples=samples, doc=doc,
        node_base=AffineNode,
    )  # fmt: skip
    op.tangent = PRODUCT
    op.node_class.affine_rules = (grad["bias"], grad["input"], grad["weight"])  # type: ignore[attr-defined]
    publish(op, lambda input, weight, bias=None: execute(op, [input, weight, bias]))
    return op


def affine_caller(
    kernel: Callable[..., Any], ops: Sequence[Op], general: General
) -> Callable[..., Any]:
    """The function that maps float tensors by a weight and a bias; all else goes to `general`.

    `ops` are the records for matrices with bias and without, and for batches with and without.
    """
    classes: Any = [op.node_class for op in ops]
    first_op = ops[0]

    def call(input: Any, weight: Any, bias: Any = None) -> Any:
        if input.__class__ is not Tensor or weight.__class__ is not Tensor or door.is_watched:
            return general(input, weight, bias)
        x = input._array
        w = weight._array
        kind = x.dtype
        rank = x.ndim
        if (
            w.dtype is not kind
            or (kind is not FLOAT32 and kind is not FLOAT64)
            or rank < 2
            or w.ndim != 2
        ):
            return general(input, weight, bias)
        if bias is None:
            b = None
            third = NUMBER
        elif bias.__class__ is Tensor:
            b = bias._array
            if b.dtype is not kind or b.ndim != 1 or b.shape[0] != w.shape[0]:
                return general(input, weight, bias)
            third = bias
            if bias._view is not None:
                refresh(bias)
        else:
            return general(input, weight, bias)
        if input._view is not None:
            refresh(input)
        if weight._view is not None:
            refresh(weight)
        try:
            if rank == 2:
                result = dot_product(x, w.T)
                if b is not None:
                    result += b
            else:
                result = kernel(x, w, b)
        except Exception:
            return general(input, weight, bias)
        frame = _frame(1)
        code = frame.f_code
        if code.co_filename in internal_files:
            frame = user_frame(frame)
            code = frame.f_code
        made = _new(Tensor)
        made._array = result
        made._shape = made._grad = made._view = made._cell = made._hooks = None
        if (weight._requires_grad or input._requires_grad or third._requires_grad) and (
            door.no_grad_threads == 0 or state.grad_enabled
        ):
            node = classes[(b is None) if rank == 2 else 2 + (b is None)]()
            kept_x = kept_w = edge_b = edge_x = edge_w = None
            if third._requires_grad:
                edge_b = bias._node
                if edge_b is None:
                    edge_b = bias
            if input._requires_grad:
                kept_w = weight
                edge_x = input._node
                if edge_x is None:
                    edge_x = input
            if weight._requires_grad:
                kept_x = input
                edge_w = weight._node
                if edge_w is None:
                    edge_w = weight
            if input._cell is INFERENCE or weight._cell is INFERENCE:
                keep = (KEEP_X if kept_x is not None else 0) | (KEEP_Y if kept_w is not None else 0)
                blame.check_inference_saved(input, weight, keep)
            node.next = (edge_b, edge_x, edge_w)
            node.saved = NOTHING if kept_x is kept_w else (kept_x, kept_w)
            node.context = (None if b is None else b.shape, x.shape, w.shape)
            node._hooks = None
            node.code = code
            node.lasti = frame.f_lasti
            node.stamp = next_stamp()
            made._node = node
            made._requires_grad = True
            made._origin = None
        else:
            made._node = None
            made._requires_grad = False
            made._origin = unrecorded(first_op, code, frame.f_lasti, input, weight, third)
        return made

    return call
