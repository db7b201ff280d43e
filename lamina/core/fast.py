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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from lamina.core import blame
from lamina.core.call import execute, publish
from lamina.core.modes import door, state
from lamina.core.node import NOTHING
from lamina.core.op import PROMOTE, SAME, TO_FLOAT, Declared, Op, Rule, parameters_of, raw
from lamina.core.op_node import OpNode
from lamina.core.origins import CUT_NOT_DIFFERENTIABLE, SwitchedOff
from lamina.core.promotion import FLOAT32, FLOAT64, as_array, is_half
from lamina.core.provenance import internal_files, user_frame
from lamina.core.records import LEAVES_NOTED, note_cut, note_unrecorded
from lamina.core.samples import binary_samples, unary_samples, without_numbers
from lamina.core.saved import KeptResult, keep_input, keep_result, raw_saved, unpack
from lamina.core.tensor import Tensor
from lamina.core.versions import INFERENCE, next_stamp
from lamina.core.views import refresh

ndarray: Final = np.ndarray
_frame: Final = sys._getframe
_new: Final[Any] = object.__new__
# A node that keeps nothing, but must know its inputs' geometry, has this shape of context.
Geometry = tuple[tuple[int, ...], tuple[int, ...]]


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
        keep = _keeps(self.op, len(needs))[mask]
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


def _node_base(grad: Mapping[str, Rule] | None) -> type[BinaryNode]:
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


def _five(rule: Rule, names: Sequence[str]) -> Any:
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


KEEP_X: Final = 1
KEEP_Y: Final = 2
KEEP_OUT: Final = 4


def _keeps(op: Op, inputs: int) -> tuple[int, ...]:
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
        name, shell, tensors=("#input",) if one else ("#input~", "#other~"), grad=grad,
        node_name=node_name, dtypes=dtypes, is_view=False, result=None, halves_in_float=True,
        samples=samples or (unary_samples() if one else binary_samples()), doc=doc,
        node_base=node_base,
    )  # fmt: skip
    if isinstance(kernel, np.ufunc):
        op.ufunc = kernel
    return op


def _one(input: Any) -> Any: ...


def _two(input: Any, other: Any) -> Any: ...


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
        node_class.rules = (_five(grad, ("input",)) or _pass_on, None)
    keep = _keeps(op, 1)[1]
    is_differentiable = grad is not None

    def call(input: Any, *, out: Any = None) -> Any:
        if input.__class__ is not Tensor or door.is_watched or out is not None:
            return execute(op, [input], out)
        x = input._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return execute(op, [input])
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

    return publish(op, call)


def _pass_on(F: Any, g: Any, x: Any, y: Any, out: Any) -> Any:
    return g


def unrecorded(op: Op, code: Any, lasti: int, first: Any, second: Any) -> Any:
    """The origin of an unrecorded result (see `tensor.Origin`)."""
    reason = root = None
    if first._requires_grad or second._requires_grad:
        if op.is_differentiable:
            reason = state.off_reason
            if reason.__class__ is SwitchedOff and reason.noted < LEAVES_NOTED:
                note_unrecorded((code, lasti), op.name, reason, (first, second))
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
    op = _declare(name, kernel, grad, _node_base(grad), node_name, dtypes, doc, samples)
    op.tensor_names = tuple(tensors.split())
    takes_number = op.tensor_names[1][0] == "#"
    if not takes_number:
        op.samples = without_numbers(op.samples)
    node_class: Any = op.node_class
    if grad is not None:
        node_class.rules = tuple(_five(grad[key], ("input", "other")) for key in ("input", "other"))
        node_class.bare_rules = tuple(
            None if rule is SAME else rule for rule in (grad["input"], grad["other"])
        )
    keeps = _keeps(op, 2)
    is_differentiable = grad is not None

    def call(input: Any, other: Any, *, out: Any = None) -> Any:
        if input.__class__ is not Tensor or door.is_watched or out is not None:
            return execute(op, [input, other], out)
        x = input._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return execute(op, [input, other])
        view = input._view
        if view is not None and view.version != input._cell.version:
            refresh(input)
        if other.__class__ is Tensor:
            y = other._array
            if y.dtype is not kind:
                return execute(op, [input, other])
            view = other._view
            if view is not None and view.version != other._cell.version:
                refresh(other)
            second = other
        elif takes_number and (other.__class__ is float or other.__class__ is int):
            y = other
            second = NUMBER
        else:
            return execute(op, [input, other])
        try:
            result = kernel(x, y)
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

    return publish(op, call)


class _Number:
    """What the short way needs to know of a Python number beside a tensor."""

    __slots__ = ()
    _requires_grad = False
    _origin = None
    _cell = None
    _node = None


NUMBER: Final[Any] = _Number()
