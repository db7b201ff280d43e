"""Arrays of many samples at once: what a function sees when it is mapped over a batch.

A `BatchedArray` shows the shape of one sample and holds those of all samples. NumPy functions on it
run for all of them together, by the rules of `batch_table`; a function without a rule runs once for
each sample. What only one sample can answer, such as `bool(x)`, raises `NeedsSamples`: then the
mapped function is run sample by sample.

With mappings inside one another, the array of the inner one holds an array of the outer one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Final, NoReturn, final

import numpy as np

from lamina import errors
from lamina.devices.array_functions import ELEMENTWISE
from lamina.devices.backend import device_of, register_array_type
from lamina.devices.dispatched import (
    ABOUT_MEMORY,
    WRITERS,
    DispatchedArray,
    get_item,
    replace,
    set_item,
    visit,
)

BatchRule = Callable[..., Any]

BATCH_RULES: Final[dict[Any, BatchRule]] = {}
"""How a function runs on all samples: `rule(batch, function, *args, **kwargs)`.

A rule meets arrays of the batch, and others, which are the same for all samples.
"""


class NeedsSamples(BaseException):
    """An answer differs from sample to sample. Private: the mapping runs the function for each.

    No `Exception`, since no handler of the user's may stop it.

    Attributes:
        operation: What was asked for, such as "bool()".
    """

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(f"{operation} is another for each sample")


@final
class Batch:
    """One mapping under way: how many samples there are, and whether the function still runs.

    Attributes:
        size: The number of samples.
        serial: Grows with each mapping; an inner one has a larger number than one around it.
        is_active: Whether the mapped function is running. Its graph can be walked later too.
    """

    __slots__ = ("is_active", "serial", "size")

    _serials: Final = itertools.count(1)

    def __init__(self, size: int) -> None:
        self.size = size
        self.serial = next(self._serials)
        self.is_active = True


def differs(batch: Batch, operation: str) -> BaseException:
    """What to raise where the answer is another for each sample.

    Once the mapped function has returned, nobody can run it again.
    """
    if batch.is_active:
        return NeedsSamples(operation)
    return errors.InvalidArgument(
        f"{operation} is another for each sample: this tensor is from inside a vmap that has ended",
        help=["return the tensor from the mapped function, and use what vmap returns"],
    )


@final
class BatchedArray(DispatchedArray):
    """The arrays of all samples of a batch, shown as one of them.

    Attributes:
        values: An array with the samples along its first axis; without one if `is_same`.
        batch: The mapping it belongs to.
        is_same: Whether all samples have the same elements, held once.
    """

    __slots__ = ("batch", "is_same", "values")

    values: Any
    batch: Batch
    is_same: bool

    def __init__(
        self, values: Any, batch: Batch, is_same: bool = False, base: BatchedArray | None = None
    ) -> None:
        self.values = values
        self.batch = batch
        self.is_same = is_same
        self._base = base

    # --- what one sample shows -----------------------------------------------------------------

    @property
    def _array(self) -> Any:  # type: ignore[override]
        """The first sample, for what is asked of memory: strides, flags, distances."""
        first = self.values if self.is_same else self.values[0, ...]
        return getattr(first, "_array", first)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.values.shape
        return shape if self.is_same else shape[1:]

    @property
    def ndim(self) -> int:
        return len(self.values.shape) - (not self.is_same)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = self.values.dtype
        return kind

    @property
    def strides(self) -> tuple[int, ...]:
        steps: tuple[int, ...] = self.values.strides
        return steps if self.is_same else steps[1:]

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # --- NumPy's dispatch ----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self._apply(function, inputs, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise differs(self.batch, "conversion to a NumPy array")

    def _knows(self, kind: type) -> bool:
        return issubclass(kind, np.ndarray | DispatchedArray)

    def _read(self, operation: str) -> NoReturn:
        raise differs(self.batch, operation)

    def _apply(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        found = _batched_among(args, kwargs)
        batch = found[0].batch
        for array in found:
            if array.batch.serial > batch.serial:
                batch = array.batch
        ours = [array for array in found if array.batch is batch]
        shared = sum([array.is_same for array in ours])

        def unwrap(array: BatchedArray) -> Any:
            return array.values if array.batch is batch and array.is_same else array

        if shared == len(ours):
            result = function(*replace(args, _OURS, unwrap), **replace(kwargs, _OURS, unwrap))
            if function in ABOUT_MEMORY:
                return result
            return replace(result, _ARRAYS, lambda values: _same(values, batch, ours))
        if writes_into_same(batch, function, args, kwargs):
            raise differs(batch, "writing into memory that all samples share")
        if shared:
            args, kwargs = replace(args, _OURS, unwrap), replace(kwargs, _OURS, unwrap)
        owner: Any = getattr(function, "__self__", None)
        rule: BatchRule
        if isinstance(owner, np.ufunc):
            rule = BATCH_RULES.get((np.ufunc, function.__name__), looped)
        elif function in ELEMENTWISE or (
            isinstance(function, np.ufunc) and function.signature is None
        ):
            rule = BATCH_RULES[np.ufunc]
        else:
            rule = BATCH_RULES.get(function, looped)
        return rule(batch, function, *args, **kwargs)

    # --- indexing ------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return self._apply(get_item, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        self._apply(set_item, (self, index, value), {})

    def __repr__(self) -> str:
        count = f"the same for all {self.batch.size}" if self.is_same else f"{self.batch.size}"
        return f"<BatchedArray {self.dtype}{list(self.shape)}, {count} samples>"


_OURS: Final = (BatchedArray,)
_ARRAYS: Final = (np.ndarray, np.generic, DispatchedArray)


def _batched_among(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[BatchedArray]:
    """The arrays of batches among arguments; most are arguments themselves."""
    found: list[BatchedArray] = []
    for value in (*args, *kwargs.values()):
        kind = value.__class__
        if kind is BatchedArray:
            found.append(value)
        elif kind is tuple or kind is list or kind is dict or kind is slice:
            visit(value, _OURS, found.append)
    return found


def _same(values: Any, batch: Batch, sources: list[BatchedArray]) -> Any:
    """An array that is the same for all samples; one of the sources if it is that."""
    for source in sources:
        if source.values is values:
            return source
    return BatchedArray(
        np.asarray(values) if isinstance(values, np.generic) else values, batch, True
    )


def belongs(array: Any, batch: Batch) -> bool:
    """Whether a value is an array with samples of this batch."""
    return array.__class__ is BatchedArray and array.batch is batch


def writes_into_same(batch: Batch, function: Any, args: Any, kwargs: Any) -> bool:
    """Whether a call would write what differs between samples into memory that they share."""
    targets: list[Any] = []
    if function in WRITERS or getattr(function, "__name__", "") == "at":
        targets = list(args[:1])
    elif (out := kwargs.get("out")) is not None:
        targets = [
            array for array in (out if isinstance(out, tuple) else (out,)) if array is not None
        ]
    return any(not belongs(array, batch) or array.is_same for array in targets)


def looped(batch: Batch, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function once for each sample, and bring the results together.

    The way of functions without a rule. Writes go into the samples' own memory.
    """

    def sample(number: int) -> Any:
        def pick(array: Any) -> Any:
            return array.values[number, ...] if array.batch is batch else array

        return function(*replace(args, _OURS, pick), **replace(kwargs, _OURS, pick))

    results = [sample(number) for number in range(batch.size)]
    out = kwargs.get("out")
    if out is not None:
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return _joined(batch, results, getattr(function, "__name__", "the function"))


def _joined(batch: Batch, results: list[Any], name: str) -> Any:
    first = results[0]
    if isinstance(first, tuple | list):
        if any(len(result) != len(first) for result in results):
            raise differs(batch, f"the number of results of {name}")
        parts = [_joined(batch, list(column), name) for column in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, _ARRAYS):
        if any(result.shape != first.shape for result in results):
            raise differs(batch, f"the shape of the result of {name}")
        return BatchedArray(np.stack(results), batch)
    if any(result != first for result in results):
        raise differs(batch, f"the result of {name}")
    return first


# --- in and out of a batch ---------------------------------------------------------------------


def batches_of(array: Any) -> list[Batch]:
    """The mappings that an array belongs to, the innermost first."""
    found = []
    while array.__class__ is BatchedArray:
        found.append(array.batch)
        array = array.values
    return found


def differs_in(array: Any, batch: Batch) -> bool:
    """Whether an array may have other elements in other samples of a batch."""
    while array.__class__ is BatchedArray:
        if array.batch is batch:
            return not array.is_same
        array = array.values
    return False


def _below(array: Any, change: Callable[[Any, bool], Any]) -> BatchedArray:
    """The array with what it holds changed; `change` learns whether samples are its first axis."""
    return BatchedArray(change(array.values, not array.is_same), array.batch, array.is_same)


def _is_inner(array: Any, batch: Batch) -> bool:
    return array.__class__ is BatchedArray and array.batch.serial > batch.serial


def enter_batch(array: Any, batch: Batch, axis: int) -> Any:
    """An array whose samples lie along an axis (from 0), as an array of a batch."""
    if _is_inner(array, batch):
        return _below(array, lambda held, shifts: enter_batch(held, batch, axis + shifts))
    return BatchedArray(np.moveaxis(array, axis, 0), batch)


def leave_batch(array: Any, batch: Batch, axis: int) -> Any:
    """The samples of an array along an axis (from 0); one that is of no batch is repeated."""
    if _is_inner(array, batch):
        return _below(array, lambda held, shifts: leave_batch(held, batch, axis + shifts))
    if belongs(array, batch) and not array.is_same:
        return np.moveaxis(array.values, 0, axis)
    values = array.values if belongs(array, batch) else array
    shape = (*values.shape[:axis], batch.size, *values.shape[axis:])
    return np.copy(np.broadcast_to(np.expand_dims(values, axis), shape))


def lift_array(array: Any, batch: Batch) -> Any:
    """An array that is the same for all samples, as an array of their batch."""
    if belongs(array, batch):
        return array
    if _is_inner(array, batch):
        return _below(array, lambda held, shifts: lift_array(held, batch))
    return BatchedArray(array, batch, is_same=True)


def recorded(array: Any, recorder: Any) -> Any:
    """What stands for an array in a program being captured; batches hold that."""
    if array.__class__ is BatchedArray:
        return _below(array, lambda held, shifts: recorded(held, recorder))
    return recorder.input(array)


def total_of(array: Any, batch: Batch) -> Any:
    """The sum over the samples of a batch; what is the same for all counts once for each."""
    if _is_inner(array, batch):
        return _below(array, lambda held, shifts: total_of(held, batch))
    if not belongs(array, batch):
        return array * batch.size
    if array.is_same:
        return array.values * batch.size
    return np.sum(array.values, axis=0)


register_array_type(BatchedArray, lambda array: device_of(array.values))
