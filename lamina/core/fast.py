"""The short ways: callers for pointwise operations on one and two float tensors.

A small tensor's operation costs NumPy 0.42 us, so what stands around the kernel decides the speed.
Hence the dense style here: every attribute is read once, nothing is called that can be inlined,
and all that is unusual (other dtypes, mixed dtypes, subclasses, captures, saved-tensor hooks,
inference mode, errors) goes to `execute`.

What single measures bought, for a recorded add of 10 float32 (1.3 us in all): slots instead of a
dictionary 0.2; no `here()` call for the position 0.1; the door instead of thread-local reads 0.1.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from lamina.codegen.vectorized import LEAST_SHARED, shared
from lamina.core import blame
from lamina.core.call import execute, publish, run, settled
from lamina.core.fast_nodes import (
    KEEP_OUT,
    KEEP_X,
    KEEP_Y,
    UnaryNode,
    kept_for,
    node_base_of,
    of_five,
)
from lamina.core.modes import door, state
from lamina.core.node import NOTHING
from lamina.core.numpy_names import MISSING
from lamina.core.op import POINTWISE, PROMOTE, SAME, TO_FLOAT, Declared, Op, Rule
from lamina.core.op_node import OpNode
from lamina.core.origins import CUT_NOT_DIFFERENTIABLE, SwitchedOff
from lamina.core.positions import internal_files, user_frame
from lamina.core.promotion import FLOAT32, FLOAT64, as_array
from lamina.core.records import LEAVES_NOTED, note_cut, note_unrecorded
from lamina.core.samples import binary_samples, unary_samples, without_numbers
from lamina.core.saved import KeptResult
from lamina.core.tensor import Tensor
from lamina.core.versions import INFERENCE, next_stamp
from lamina.core.views import refresh

ndarray: Final = np.ndarray
_frame: Final = sys._getframe
_new: Final[Any] = object.__new__


def _declare(
    name: str,
    kernel: Any,
    grad: Any,
    node_base: type[OpNode],
    node_name: str | None,
    dtypes: str,
    doc: str,
    samples: Any,
) -> Op:
    """The record of a pointwise op; its kernel may be a NumPy ufunc, which has no signature."""
    one = node_base is UnaryNode
    template: Any = _one if one else _two
    shell: Any = kernel
    if isinstance(kernel, np.ufunc):
        shell = _ufunc_shell(kernel, template)
    op = Op(
        name, shell, tensors=("input",) if one else ("#input~", "#other~"), grad=grad,
        node_name=node_name, dtypes=dtypes, is_view=False, result=None, halves_in_float=True,
        samples=samples or (unary_samples() if one else binary_samples()), doc=doc,
        node_base=node_base,
    )  # fmt: skip
    op.tangent = POINTWISE
    op.ufunc = kernel if isinstance(kernel, np.ufunc) else getattr(kernel, "ufunc", None)
    return op


def _one(input: Any) -> Any: ...


def _two(input: Any, other: Any) -> Any: ...


def shown_one(input: Any, *, out: Any = None) -> Any:
    """The signature that callers of one tensor show to `inspect`."""


def shown_two(input: Any, other: Any, *, out: Any = None) -> Any:
    """The signature that callers of two tensors show to `inspect`."""


def _ufunc_shell(ufunc: np.ufunc, template: Any) -> Any:
    """A function with the public parameter names that calls a ufunc."""
    if template is _one:

        def unary_kernel(input: Any) -> Any:
            return ufunc(input)

        return unary_kernel

    def binary_kernel(input: Any, other: Any) -> Any:
        return ufunc(input, other)

    return binary_kernel


def unary(
    name: str,
    kernel: Any,
    *,
    grad: Rule | None,
    node_name: str | None = None,
    dtypes: str = TO_FLOAT,
    samples: Any = None,
    doc: str = "",
) -> Declared:
    """Declare a pointwise operation on one tensor.

    The rule may ask for `input` and `out`. Integers become the default float type with TO_FLOAT.
    """
    rules = None if grad is None else {"input": grad}
    op = _declare(name, kernel, rules, UnaryNode, node_name, dtypes, doc, samples)
    node_class: Any = op.node_class
    if grad is not None:
        node_class.rules = (of_five(grad, ("input",)) or _pass_on, None)
    keep = kept_for(op, 1)[1]
    is_differentiable = grad is not None

    # `out` and NumPy's names together: that costs no more than a parameter for `out` alone.
    def call(input: Any = MISSING, **options: Any) -> Any:
        if input.__class__ is not Tensor or door.is_watched or options:
            if options or input is MISSING:
                return run(op, *settled(op, (input,), options))
            return execute(op, [input])
        x = input._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return run(op, [input])
        view = input._view
        if view is not None and view.version != input._cell.version:
            refresh(input)
        try:
            result = kernel(x)
        except Exception:  # also a NumPy warning that the user turned into an error
            return execute(op, [input])
        if result.__class__ is not ndarray:
            result = as_array(result)
        frame = _frame(1)
        code = frame.f_code
        if code.co_filename in internal_files:
            frame = user_frame(frame)
            code = frame.f_code
        made = _new(Tensor)
        made._array = result
        made._shape = input._shape
        made._grad = made._view = made._cell = made._hooks = None
        if (
            is_differentiable
            and input._requires_grad
            and (door.no_grad_threads == 0 or state.grad_enabled)
        ):
            node = node_class()
            edge = input._node
            node.next = (input if edge is None else edge,)
            if keep:
                if keep & KEEP_X and input._cell is INFERENCE:
                    raise blame.inference_saved(input)
                node.saved = (
                    input if keep & KEEP_X else None,
                    None,
                    KeptResult(made, 0) if keep & KEEP_OUT else None,
                )
            else:
                node.saved = NOTHING
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
            made._origin = unrecorded(op, code, frame.f_lasti, input, input)
        return made

    call.__wrapped__ = shown_one  # type: ignore[attr-defined]
    return publish(op, call)


def _pass_on(F: Any, g: Any, x: Any, y: Any, out: Any) -> Any:
    return g


def unrecorded(op: Op, code: Any, lasti: int, first: Any, second: Any, third: Any = None) -> Any:
    """The origin of an unrecorded result (see `tensor.Origin`)."""
    reason = root = None
    if first._requires_grad or second._requires_grad:
        if op.is_differentiable:
            reason = state.off_reason
            if reason.__class__ is SwitchedOff and reason.noted < LEAVES_NOTED:
                sources = (first, second) if third is None else (first, second, third)
                note_unrecorded((code, lasti), op.name, reason, sources)
        else:
            reason = CUT_NOT_DIFFERENTIABLE
            if first._node is None and second._node is None:
                note_cut((code, lasti), op.name, reason, (first, second), deep=False)
    else:
        root = first._origin
        if root is not None:
            root = root[4] or root
        if root is None or root[3] is None:
            other = second._origin
            if other is not None and (root is None or (other[4] or other)[3] is not None):
                root = other[4] or other
    return (code, lasti, op.name, reason, root)


def binary(
    name: str,
    kernel: Any,
    *,
    grad: Mapping[str, Rule] | None,
    node_name: str | None = None,
    dtypes: str = PROMOTE,
    tensors: str = "#input~ #other~",
    samples: Any = None,
    doc: str = "",
) -> Declared:
    """Declare a pointwise operation on two tensors, or a tensor and a number (marked `#`).

    Rules may ask for `input`, `other` and `out`. Broadcasting and promotion are undone here.
    """
    op = _declare(name, kernel, grad, node_base_of(grad), node_name, dtypes, doc, samples)
    op.tensor_names = tuple(tensors.split())
    takes_number = op.tensor_names[1][0] == "#"
    if not takes_number:
        op.samples = without_numbers(op.samples)
    node_class: Any = op.node_class
    if grad is not None:
        rules = [op.rules[position] for position in op.tensor_positions]
        node_class.rules = tuple(of_five(rule, ("input", "other")) for rule in rules)
        node_class.bare_rules = tuple(None if rule is SAME else rule for rule in rules)
    keeps = kept_for(op, 2)
    is_differentiable = grad is not None
    of_large = shared(kernel) if isinstance(kernel, np.ufunc) else kernel

    def call(input: Any = MISSING, other: Any = MISSING, **options: Any) -> Any:
        if input.__class__ is not Tensor or door.is_watched or options:
            if options or input is MISSING or other is MISSING:
                return run(op, *settled(op, (input, other), options))
            return execute(op, [input, other])
        x = input._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return run(op, [input, other])
        view = input._view
        if view is not None and view.version != input._cell.version:
            refresh(input)
        if other.__class__ is Tensor:
            y = other._array
            if y.dtype is not kind:
                return run(op, [input, other])
            view = other._view
            if view is not None and view.version != other._cell.version:
                refresh(other)
            second = other
        elif takes_number and (other.__class__ is float or other.__class__ is int):
            y = other
            second = NUMBER
        else:
            return run(op, [input, other])
        try:
            result = kernel(x, y) if x.size < LEAST_SHARED else of_large(x, y)
        except Exception:  # the general way knows what a mistake means
            return execute(op, [input, other])
        if result.__class__ is not ndarray:
            if second is other and y.__class__ is not x.__class__:  # a number in host memory
                return execute(op, [input, other])
            result = as_array(result)
        frame = _frame(1)
        code = frame.f_code
        if code.co_filename in internal_files:
            frame = user_frame(frame)
            code = frame.f_code
        made = _new(Tensor)
        made._array = result
        made._grad = made._view = made._cell = made._hooks = None
        if (
            (input._requires_grad or second._requires_grad)
            and is_differentiable
            and (door.no_grad_threads == 0 or state.grad_enabled)
        ):
            node = node_class()
            mask = 0
            edge_x = edge_y = None
            if input._requires_grad:
                mask = 1
                edge_x = input._node
                if edge_x is None:
                    edge_x = input
            if second._requires_grad:
                mask += 2
                edge_y = second._node
                if edge_y is None:
                    edge_y = second
            node.next = (edge_x, edge_y)
            keep = keeps[mask]
            if keep:
                if input._cell is INFERENCE or second._cell is INFERENCE:
                    blame.check_inference_saved(input, other, keep)
                node.saved = (
                    input if keep & KEEP_X else None,
                    other if keep & KEEP_Y else None,
                    KeptResult(made, 0) if keep & KEEP_OUT else None,
                )
            else:
                node.saved = NOTHING
            node.context = None
            shape_x = input._shape
            if shape_x is None:
                shape_x = input._shape = x.shape
            if second is other:
                shape_y = other._shape
                if shape_y is None:
                    shape_y = other._shape = y.shape
                if shape_x is not shape_y and shape_x != shape_y:
                    node.context = ((shape_x, None), (shape_y, None))
                    shape_x = None
            made._shape = shape_x
            node._hooks = None
            node.code = code
            node.lasti = frame.f_lasti
            node.stamp = next_stamp()
            made._node = node
            made._requires_grad = True
            made._origin = None
        else:
            made._shape = made._node = None
            made._requires_grad = False
            made._origin = unrecorded(op, code, frame.f_lasti, input, second)
        return made

    call.__wrapped__ = shown_two  # type: ignore[attr-defined]
    return publish(op, call)


class _Number:
    """What the short way needs to know of a Python number beside a tensor."""

    __slots__ = ()
    _requires_grad = False
    _origin = None
    _cell = None
    _node = None


NUMBER: Final[Any] = _Number()
