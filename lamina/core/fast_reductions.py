"""The short way of reductions: `x.sum()`, `x.sum(dim)` and the like, of one float tensor.

Like the short ways of `fast.py`, and for the same reason: summing 32 numbers takes NumPy 1.0 us.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lamina.core.call import publish, run
from lamina.core.fast import _frame, _new, unrecorded
from lamina.core.modes import door, state
from lamina.core.node import NOTHING
from lamina.core.numpy_names import MISSING, again
from lamina.core.op import KEEP, LINEAR, Declared, Op, Rule
from lamina.core.op_node import Context, OpNode
from lamina.core.positions import internal_files, user_frame
from lamina.core.promotion import FLOAT32, FLOAT64, as_array
from lamina.core.tensor import Tensor
from lamina.core.versions import next_stamp
from lamina.core.views import refresh

WHOLE: Final[Any] = object()
"""Stands for `dim` where none was given: not the same as None, which names another node."""


class ReductionNode(OpNode):
    """A node of a reduction that keeps no values, only the input's shape and the dimensions.

    Its rule takes (F, g, input_shape, dim, keepdim, dtype, input_dtype).
    """

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The input's gradient."""
        if g is None:
            return (None,)
        if self.saved is None:
            return OpNode.pull(self, F, g)
        values, shapes, kinds = self.context
        _, dim, keepdim, dtype = values
        kind = kinds[0]
        gradient = self.op.rules[0](F, g, shapes[0], dim, keepdim, dtype, kind)
        is_usual = kind is FLOAT32 or kind is FLOAT64
        return (gradient if is_usual else self._fitted(F, gradient, 0),)


def reduction(
    name: str,
    kernel: Callable[..., Any],
    *,
    grad: Rule,
    node_names: tuple[str, str],
    samples: Any,
    doc: str,
) -> Declared:
    """Declare a reduction of all elements (`<name>_all`) or along dimensions (`<name>`).

    The kernel has the parameters (input, dim, keepdim, *, dtype), with None for `dim` and `dtype`
    by default. Both operations have the same kernel and rule: their nodes' names differ.
    """
    whole, along = (
        Op(
            each, kernel, tensors=None, grad={"input": grad}, node_name=node_name, dtypes=KEEP,
            is_view=False, result=None, halves_in_float=True, samples=samples, doc=doc,
            node_base=ReductionNode,
        )
        for each, node_name in ((name + "_all", node_names[0]), (name, node_names[1]))
    )  # fmt: skip
    whole.tangent = along.tangent = LINEAR
    from_whole: Any = whole.node_class
    from_along: Any = along.node_class

    def call(
        input: Any = MISSING, dim: Any = WHOLE, keepdim: bool = False, *, dtype: Any = None,
        out: Any = None, **numpy_names: Any,
    ) -> Any:  # fmt: skip
        if numpy_names:
            return again(call, numpy_names, input, dim, keepdim, dtype, out)
        if input.__class__ is not Tensor or door.is_watched or out is not None or dtype is not None:
            return reduce(input, dim, keepdim, dtype, out)
        x = input._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return reduce(input, dim, keepdim, dtype, out)
        view: Any = input._view
        if view is not None and view.version != input._cell.version:
            refresh(input)
        op, node_class = along, from_along
        if dim is WHOLE:
            op, node_class, dim = whole, from_whole, None
        try:
            result = kernel(x, dim, keepdim)
        except Exception:
            return reduce(input, dim, keepdim, dtype, out)
        made = _new(Tensor)
        made._array = as_array(result)
        made._shape = made._grad = made._view = made._cell = made._hooks = None
        frame = _frame(1)
        code = frame.f_code
        if code.co_filename in internal_files:
            frame = user_frame(frame)
            code = frame.f_code
        if input._requires_grad and (door.no_grad_threads == 0 or state.grad_enabled):
            node = node_class()
            edge = input._node
            node.next = (input if edge is None else edge,)
            node.saved = NOTHING
            node.context = Context((None, dim, keepdim, None), (x.shape,), (kind,))
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
            made._origin = unrecorded(op, code, frame.f_lasti, input, input)
        return made

    def reduce(input: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Any:
        if dim is WHOLE:
            return run(whole, [input, None, False, dtype], out)
        return run(along, [input, dim, keepdim, dtype], out)

    call.__wrapped__ = _shown  # type: ignore[attr-defined]
    publish(whole, call)
    return publish(along, call)


def _shown(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Any:
    """The signature that callers show to `inspect`."""
