"""Callers: what runs when a declared operation is called on tensors.

`execute` is the general way and does everything: promotion, devices, recording, views, `out=`.
`fast.py` has the short ways that small operations take.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina import errors
from lamina.codegen.later import Later
from lamina.core import blame
from lamina.core.autocasting import autocast_inputs
from lamina.core.batches import lift_arrays, lift_inputs
from lamina.core.modes import door, state
from lamina.core.numpy_names import MISSING
from lamina.core.op import (
    GENERAL,
    KEEP,
    TO_FLOAT,
    Declared,
    Joint,
    Op,
    Rule,
    catalogue,
    raw,
    traced,
)
from lamina.core.op_node import OpNode
from lamina.core.plain_call import NOT_PLAIN, call_plain
from lamina.core.positions import here
from lamina.core.promotion import is_array, narrow, promote, widen_halves
from lamina.core.results import wrap_results, write_out
from lamina.core.tangents import innermost_level
from lamina.core.tensor import (
    Tensor,
    wrap,
)
from lamina.core.views import refresh
from lamina.devices import CPU, current_recorder, device_of
from lamina.devices.batched import recorded

if TYPE_CHECKING:
    from lamina.core import tangent_calls
else:
    tangent_calls = Later("lamina.core.tangent_calls")


def operation(
    name: str,
    kernel: Callable[..., Any],
    *,
    tensors: str | None = None,
    grad: Mapping[str, Rule] | Joint | Rule | None = None,
    node_name: str | None = None,
    dtypes: str = KEEP,
    is_view: bool = False,
    result: type | None = None,
    halves_in_float: bool = True,
    tangent: str = GENERAL,
    scattered: Rule | None = None,
    of_scattered: Rule | None = None,
    samples: Any = None,
    doc: str = "",
) -> Declared:
    """Declare an operation; returns the function that users call on tensors.

    `tensors` names the tensor parameters in order ("input other"): a `*` before a name marks a
    list of tensors, a `?` one that may be None, a `#` one that may be a Python number; a `~` after
    it one that may be a number in host memory beside tensors of another device. The kernel
    becomes `raw.<name>` and the function `traced.<name>`.

    `tangent` is a short way for forward mode: LINEAR in all inputs with a rule together, or PRODUCT
    of them (and a bias, if there is one, is added).

    `scattered` gives the gradient of the one input that has a rule as numbers and their places, and
    `of_scattered` takes the result's so (see that file). They ask for no more than the rule in
    `grad` does, and run on arrays alone.
    """
    op = Op(
        name,
        kernel,
        tensors=None if tensors is None else tensors.split(),
        grad=grad,
        node_name=node_name,
        dtypes=dtypes,
        is_view=is_view,
        result=result,
        halves_in_float=halves_in_float,
        samples=samples,
        doc=doc,
        node_base=OpNode,
        scattered=scattered,
        of_scattered=of_scattered,
    )
    op.tangent = tangent

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return run(op, op.bind(args, kwargs), out)

    return publish(op, call)


def publish(op: Op, call: Any) -> Declared:
    """Give a caller its public face, and put kernel and caller where rules find them."""
    call.__name__ = op.name
    # By these two `pickle` finds it, in a model that keeps `torch.relu` as its activation.
    call.__module__, call.__qualname__ = _declaring_module(), op.name.removeprefix("special_")
    call.__doc__ = op.doc
    call.op = op
    catalogue[op.name] = op
    setattr(raw, op.name, op.kernel)
    setattr(traced, op.name, call)
    public: Declared = call
    return public


def _declaring_module() -> str:
    """The chapter that declares an operation, by the frame, as `namedtuple` finds it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("lamina.core."):
        frame = frame.f_back
    name: str = frame.f_globals["__name__"]
    return name


def run(op: Op, values: list[Any], out: Any = None) -> Any:
    """Run an operation on bound values, the short way where that serves."""
    if out is None and not door.is_watched:
        made = call_plain(op, values)
        if made is not NOT_PLAIN:
            return made
    return execute(op, values, out)


def settled(op: Op, values: Sequence[Any], options: dict[str, Any]) -> tuple[list[Any], Any]:
    """The values of all parameters, and of `out=`, of a call that has more than these values.

    `MISSING` stands among the values for what may be in the options by another name.
    """
    out = options.pop("out", None)
    found = zip(op.names, values, strict=True)
    given = {name: value for name, value in found if value is not MISSING}
    return op.bind((), given | options), out


# --- the general way ---------------------------------------------------------------------------


def execute(op: Op, values: list[Any], out: Any = None) -> Any:
    """Run an operation on bound values: check, promote, compute, wrap, record."""
    if door.is_watched and out is None and state.autocast is not None:
        values = list(autocast_inputs(op.name, values))
    tensors = checked_tensors(op, values)
    if door.is_watched:
        if state.mappings:  # first, so that what is kept of lifted inputs has their tangents
            tensors = lift_inputs(op, values, tensors)
        if state.duals and (level := innermost_level(tensors)) is not None:
            return tangent_calls.call_with_tangents(execute, op, values, out, level)
    if op.is_differentiable:
        for tensor in tensors:
            if tensor._view is not None:
                refresh(tensor)
    wants = any(tensor._requires_grad for tensor in tensors)
    if out is not None:
        blame.check_out(op.name, out, wants and state.grad_enabled, tensors)
        blame.check_out_device(op.name, out, tensors)
    if wants and state.grad_enabled and op.is_differentiable:
        for tensor in tensors:
            if tensor._array.__class__ is not tensors[0]._array.__class__:
                _bring_numbers(op, values, tensors)
                break
    result = compute(op, values, tensors)
    if out is not None:
        return write_out(op, out, result)
    records = wants and state.grad_enabled and op.is_differentiable
    if records:
        blame.check_derivatives(op, values)
    return wrap_results(op, values, tensors, result, records, wants)


def checked_tensors(op: Op, values: list[Any]) -> list[Tensor]:
    """The tensors among the inputs, in order; lists are flattened. Bad kinds of input raise."""
    found: list[Tensor] = []
    for declared, position in zip(op.tensor_names, op.tensor_positions, strict=True):
        value = values[position]
        if isinstance(value, Tensor) and declared[0] != "*":
            found.append(value)
        elif declared[0] == "*" and isinstance(value, list | tuple):
            values[position] = value = list(value)
            for index, item in enumerate(value):
                if not isinstance(item, Tensor):
                    raise blame.not_a_tensor(op, declared, item, index)
            found += value
        elif isinstance(value, np.ndarray) and declared[0] != "*":
            values[position] = made = wrap(value, (*here(), "from_numpy", None, None))
            found.append(made)
        elif value is MISSING:
            settled(op, values, {})  # which says what is missing
        elif not _is_allowed(declared, value):
            raise blame.not_a_tensor(op, declared, value)
    return found


def _bring_numbers(op: Op, values: list[Any], tensors: list[Tensor]) -> None:
    """Move numbers in host memory that want a gradient to the device of the other inputs.

    Their gradients come back the same way. What wants none takes part as it is.
    """
    blame.check_devices(op, values, tensors)
    places = {device_of(tensor._array) for tensor in tensors} - {CPU}
    for position in op.tensor_positions:
        value = values[position]
        if isinstance(value, Tensor) and value._requires_grad and places:
            values[position] = value.to(next(iter(places)))


def _is_allowed(declared: str, value: Any) -> bool:
    if value is None:
        return declared[0] == "?"
    return declared[0] == "#" and isinstance(value, numbers.Number | np.generic)


def compute(op: Op, values: list[Any], tensors: Sequence[Tensor]) -> Any:
    """Run the kernel on the arrays of bound values, promoted as the op says."""
    is_plain = True
    for tensor in tensors:
        if tensor._array.__class__ is not np.ndarray:
            blame.check_devices(op, values, tensors)
            is_plain = False
            break
    arrays = list(values)
    for position in op.tensor_positions:
        value = arrays[position]
        if isinstance(value, Tensor):
            arrays[position] = value._array
        elif isinstance(value, list):
            arrays[position] = [item._array for item in value]
    half, kernel = None, op.kernel
    if door.is_watched and state.clock is not None:
        kernel = state.clock.around_operation(op, tensors)
    recorder = current_recorder() if door.is_watched else None
    try:
        if recorder is not None:  # before their dtypes change: what is cast must be an input
            arrays = [_lift(recorder, a) for a in arrays]
        if op.check is not None:
            op.check(*[arrays[position] for position in op.tensor_positions])
        if op.dtypes is not KEEP:
            promote(arrays, op.tensor_positions, op.dtypes is TO_FLOAT)
        if op.halves_in_float:
            half = widen_halves(arrays, op.tensor_positions)
        if recorder is not None:  # numbers have become arrays
            arrays = [_lift(recorder, a) for a in arrays]
        if not is_plain:
            arrays = lift_arrays(op, arrays)
        by_name = dict(zip(op.names[op.positional :], arrays[op.positional :], strict=True))
        # Infinities and NaNs are results like any other; NumPy would warn of them.
        with np.errstate(all="ignore"):
            result = kernel(*arrays[: op.positional], **by_name)
    except errors.LaminaError:
        raise
    except Exception as error:
        blame.raise_failure(op, values, tensors, error)
    if half is not None and ("dtype" not in op.names or values[op.names.index("dtype")] is None):
        result = narrow(result, half)
    return result


def _lift(recorder: Any, value: Any) -> Any:
    """While a step is captured: what stands for a concrete array in the program."""
    if isinstance(value, list):
        return [_lift(recorder, item) for item in value]
    return recorded(value, recorder) if is_array(value) else value
