"""The short way for operations that only move elements: views and copies of one tensor.

Such an operation keeps no values; its rule needs the gradient, the input's shape and dtype, and
the arguments of the call. Views are used constantly (`x[0]`, `x.reshape(...)`, `x.T`), and NumPy
makes one in 0.1 us, so what stands around the kernel is all of the cost: 1.3 us here when nothing
is recorded, against 4 us by `execute`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.call import execute, publish
from lamina.core.fast import unrecorded
from lamina.core.modes import door, state
from lamina.core.node import NOTHING
from lamina.core.numpy_names import MISSING
from lamina.core.op import KEEP, LINEAR, Declared, Op, Rule
from lamina.core.op_node import Context, OpNode
from lamina.core.origins import NO_GRAD_VIEW, RECORDED
from lamina.core.parameters import parameters_of
from lamina.core.positions import internal_files, user_frame
from lamina.core.promotion import as_array
from lamina.core.tensor import Tensor
from lamina.core.versions import INFERENCE, VersionCell, next_stamp
from lamina.core.views import View, refresh

ndarray: Final = np.ndarray
_frame: Final = sys._getframe
_new: Final[Any] = object.__new__


class MoveNode(OpNode):
    """The node of an operation that moves elements: its rule needs no kept values."""

    __slots__ = ()

    rule: Any = None

    def pull(self, F: Any, g: Any) -> Any:
        """The input's gradient."""
        if g is None:
            return (None,)
        values, shapes, kinds = self.context
        return (self.rule(F, g, values, shapes[0], kinds[0]),)


def moving(
    name: str,
    kernel: Callable[..., Any],
    *,
    grad: Rule,
    node_name: str | None = None,
    is_view: bool = True,
    samples: Any = None,
    doc: str = "",
) -> Declared:
    """Declare an operation that moves the elements of one tensor: a view, or a copy.

    The rule may ask for `input_shape`, `input_dtype` and the arguments of the call, not for values.
    """
    op = Op(
        name, kernel, tensors=("input",), grad={"input": grad}, node_name=node_name, dtypes=KEEP,
        is_view=is_view, result=None, halves_in_float=False, samples=samples, doc=doc,
        node_base=MoveNode,
    )  # fmt: skip
    op.tangent = LINEAR
    node_class: Any = op.node_class
    node_class.rule = staticmethod(_adapted(op, grad))
    further = len(op.names) - 1
    defaults = tuple(op.defaults.get(key, MISSING) for key in op.names[1:])

    def call(input: Any = MISSING, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs or len(args) != further:
            if kwargs or len(args) > further or MISSING in defaults[len(args) :]:
                given = () if input is MISSING else (input, *args)
                input, *rest = op.bind(given, kwargs)
                args = tuple(rest)
            else:
                args += defaults[len(args) :]
        if input.__class__ is not Tensor or door.is_watched or out is not None:
            return execute(op, [input, *args], out)
        x = input._array
        cell: Any = input._cell
        parent = input._view
        if parent is not None and parent.version != cell.version:
            refresh(input)
        if cell is INFERENCE:
            return execute(op, [input, *args])
        if cell is None and is_view:
            cell = input._cell = VersionCell()
        try:
            array = kernel(x, *args)
        except errors.LaminaError:
            raise
        except Exception as error:
            blame.raise_failure(op, [input, *args], [input], error)
        if array.__class__ is not ndarray:
            array = as_array(array)
        frame = _frame(1)
        code = frame.f_code
        if code.co_filename in internal_files:
            frame = user_frame(frame)
            code = frame.f_code
        lasti = frame.f_lasti
        made = _new(Tensor)
        made._array = array
        made._shape = made._grad = made._hooks = None
        records = door.no_grad_threads == 0 or state.grad_enabled
        if is_view:
            made._cell = cell
            creation = RECORDED if records else NO_GRAD_VIEW
            step = (name, args)
            if parent is None:
                made._view = View(input, (step,), creation, cell.version, (code, lasti, name))
            else:
                made._view = View(
                    parent.base,
                    (*parent.steps, step),
                    parent.creation if records else creation,
                    cell.version,
                    (code, lasti, name),
                )
        else:
            made._view = made._cell = None
        if input._requires_grad and records:
            node = node_class()
            edge = input._node
            node.next = (input if edge is None else edge,)
            node.saved = NOTHING
            node.context = Context((None, *args), (x.shape,), (x.dtype,))
            node._hooks = None
            node.code = code
            node.lasti = lasti
            node.stamp = next_stamp()
            made._node = node
            made._requires_grad = True
            made._origin = None
        else:
            made._node = None
            # A view made without recording still belongs to a base that may require grad.
            made._requires_grad = is_view and input._requires_grad
            made._origin = unrecorded(op, code, lasti, input, input)
        return made

    return publish(op, call)


def _adapted(op: Op, rule: Rule) -> Callable[..., Any]:
    """The rule as a function of (F, g, values, shape, kind)."""
    sources = op.getters[0]
    for kind, _ in sources:
        if kind not in ("shape", "dtype", "static"):
            raise TypeError(f"{op.name}: a rule for moving elements can't ask for values")
    if parameters_of(rule)[2:] == ("input_shape",):
        return lambda F, g, values, shape, kind: rule(F, g, shape)
    if not sources:
        return lambda F, g, values, shape, kind: rule(F, g)

    def adapted(F: Any, g: Any, values: Any, shape: Any, kind: Any) -> Any:
        wanted = {"shape": shape, "dtype": kind}
        return rule(
            F, g, *[values[place] if of == "static" else wanted[of] for of, place in sources]
        )

    return adapted
