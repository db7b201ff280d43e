"""The short way of every operation: plain tensors in host memory that need no promotion.

`execute` takes 4 us for what is decided here in 1: most calls have tensors of one dtype, on the
host, and nobody watches. `fast.py` and its neighbours are shorter still, for certain kinds of
operations.
"""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.modes import door, state
from lamina.core.op import KEEP, TO_FLOAT, Op
from lamina.core.op_node import record
from lamina.core.positions import here
from lamina.core.promotion import FLOAT32, FLOAT64, as_array
from lamina.core.results import origin_of, wrap_results
from lamina.core.tensor import Tensor
from lamina.core.views import refresh

ndarray: Final = np.ndarray
_new: Final[Any] = object.__new__
_NUMPYS_OWN: Final = frozenset(map(np.dtype, "?bBhHiIlLfdFD"))
"""The dtypes that kernels take as they are: halves are widened, by the general way."""

INT64: Final = np.dtype(np.int64)
LARGEST_INTEGER: Final = 2**62
"""More might not fit: the general way says what becomes of it."""


@final
class _NotPlain:
    """Stands for the result of a call that must go the general way."""


NOT_PLAIN: Final = _NotPlain()


def call_plain(op: Op, values: list[Any]) -> Any:
    """Run an operation on bound values, while nobody is at the door; `NOT_PLAIN` if it can't."""
    tensors: list[Tensor] = []
    result = plain_result(op, values, tensors)
    return result if result is NOT_PLAIN else _wrapped(op, values, tensors, result)


def plain_result(op: Op, values: list[Any], tensors: list[Tensor]) -> Any:
    """What the kernel gives for bound values, or `NOT_PLAIN`; `tensors` takes the tensors."""
    arrays = values.copy()
    numbers: list[int] = []
    for position, mark in op.inputs:
        value = values[position]
        if value.__class__ is Tensor and mark != "*":
            tensors.append(value)
            arrays[position] = value._array
        elif mark == "*" and (value.__class__ is list or value.__class__ is tuple):
            values[position] = value = list(value)
            if not all(item.__class__ is Tensor for item in value):
                return NOT_PLAIN
            tensors += value
            arrays[position] = [item._array for item in value]
        elif mark == "#" and (value.__class__ is float or value.__class__ is int):
            numbers.append(position)
        elif mark != "?" or value is not None:
            return NOT_PLAIN
    kind: Any = None
    keeps = op.dtypes is KEEP
    for tensor in tensors:
        array = tensor._array
        found = array.dtype
        if found is not kind:
            if found not in _NUMPYS_OWN or (kind is not None and not keeps):
                return NOT_PLAIN
            kind = found
        if array.__class__ is not ndarray:
            return NOT_PLAIN
        view = tensor._view
        if view is not None and view.version != tensor._cell.version and op.is_differentiable:
            refresh(tensor)
    is_float = kind is FLOAT32 or kind is FLOAT64
    if not (keeps or is_float):
        if kind is None or op.dtypes is TO_FLOAT or (numbers and kind is not INT64):
            return NOT_PLAIN
        for position in numbers:
            value = values[position]
            if value.__class__ is not int or abs(value) > LARGEST_INTEGER:
                return NOT_PLAIN
            arrays[position] = np.array(value, INT64)
    return _computed(op, values, arrays, tensors)


def _computed(op: Op, values: list[Any], arrays: list[Any], tensors: list[Tensor]) -> Any:
    """What the kernel gives."""
    try:
        if op.check is not None:
            op.check(*[arrays[position] for position in op.tensor_positions])
        if op.positional == len(arrays):
            return op.kernel(*arrays)
        by_name = dict(zip(op.names[op.positional :], arrays[op.positional :], strict=True))
        return op.kernel(*arrays[: op.positional], **by_name)
    except errors.LaminaError:
        raise
    except RuntimeWarning:  # NumPy's, which somebody turned into an error: `execute` silences it
        return NOT_PLAIN
    except Exception as error:
        blame.raise_failure(op, values, tensors, error)


def _wrapped(op: Op, values: list[Any], tensors: list[Tensor], result: Any) -> Any:
    """The tensor of a result, recorded if wanted."""
    wants = False
    for tensor in tensors:
        if tensor._requires_grad:
            wants = True
            break
    records = wants and op.is_differentiable
    records = records and (door.no_grad_threads == 0 or state.grad_enabled)
    if records and len(op.rules) != len(op.inputs):
        blame.check_derivatives(op, values)
    if result.__class__ is not ndarray:
        if result.__class__ is tuple or result.__class__ is list or result is None:
            return wrap_results(op, values, tensors, result, records, wants)
        result = as_array(result)
    if op.is_view:
        return wrap_results(op, values, tensors, result, records, wants)
    made = _new(Tensor)
    made._array = result
    made._shape = made._grad = made._view = made._cell = made._hooks = made._node = None
    place = here()
    # bfloat16 is of no kind that NumPy has.
    records = records and (result.dtype.kind in "fc" or made.dtype.is_differentiable)
    if records and not op.constants:
        made._node = record(op, values, [made], place)
        made._requires_grad = True
        made._origin = None
    else:
        made._requires_grad = False
        made._origin = origin_of(op, place, tensors, wants)
    return made
