"""`x[index]` and `x[index] = value`.

Integers, slices, None and Ellipsis give views; tensors, lists and masks give copies. While a
gradient is recorded, each part of an index is a step of its own in the graph, as in PyTorch;
otherwise NumPy takes the whole index at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.arguments import native
from lamina.core.blame.words import dims, legacy_type, this_place
from lamina.core.inplace import apply_inplace
from lamina.core.modes import door, state
from lamina.core.op import traced
from lamina.core.plain_writes import note_written
from lamina.core.positions import here
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import INFERENCE
from lamina.core.views import refresh
from lamina.ops.filling import copy_, fill_, real_part
from lamina.ops.index_parts import (
    WHOLE,
    Parsed,
    beside,
    check_bounds,
    dims_used,
    index_tensor,
    parse,
    range_of,
    refuse_on_number,
    too_many,
)
from lamina.ops.indexing_rules import ndarray, numpy_key, refused
from lamina.ops.memory import alias
from lamina.ops.numbers import number_as
from lamina.ops.picking import index as pick
from lamina.ops.windows import select, slice_dim, slice_view
from lamina.ops.writing import index_put_op, put_trouble

__all__ = ["index_put"]

# --- reading -------------------------------------------------------------------------------------


def get_item(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for integers, slices, None and Ellipsis; a copy for tensors and masks."""
    kind = index.__class__
    if kind is int:
        shape = self._array.shape
        if not shape:
            refuse_on_number(index)
        if not -shape[0] <= index < shape[0]:
            check_bounds(index, shape[0], 0)
        return select(self, 0, index)
    if kind is slice:
        shape = self._array.shape
        if shape:
            start, stop, step = range_of(index, shape[0])
            return slice_dim(self, 0, start, stop, step)
    elif kind is tuple and not (self._requires_grad and state.grad_enabled):
        for part in index:
            if part.__class__ is not int and part.__class__ is not slice:
                break
        else:
            return _simple_view(self, index)
    parsed = parse(self, index)
    seen = _viewed(self, parsed)
    if parsed.indices:
        found: Tensor = pick(seen, beside(seen, parsed.indices), tuple(parsed.places))
        return found
    return alias(self) if seen is self else seen


def _simple_view(self: Tensor, index: tuple[Any, ...]) -> Tensor:
    """A view by integers and slices, checked part by part, made by NumPy at once."""
    shape = self._array.shape
    if len(index) > len(shape):
        raise too_many(len(shape))
    key: list[Any] = []
    for axis, part in enumerate(index):
        if part.__class__ is int:
            check_bounds(part, shape[axis], axis)
            key.append(part)
        else:
            key.append(slice(*range_of(part, shape[axis])))
    key.append(Ellipsis)
    return slice_view(self, tuple(key))


def _viewed(self: Tensor, parsed: Parsed) -> Tensor:
    """The view that the basic parts of an index choose."""
    steps = parsed.steps
    if len(steps) > 1 and not (self._requires_grad and state.grad_enabled):
        return slice_view(self, (*parsed.key, Ellipsis))
    seen = self
    for function, *arguments in steps:
        seen = function(seen, *arguments)
    return seen


def contains(self: Tensor, element: Any) -> bool:
    """`element in x`: whether any element equals it."""
    if not isinstance(element, Tensor | int | float | complex):
        raise errors.ArgumentTypeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}.",
            [(this_place(), "asked here")],
        )
    return bool(traced.any(self == element))


# --- writing -------------------------------------------------------------------------------------


def set_item(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: a change in place, which the graph takes note of."""
    if isinstance(value, Tensor):
        records = (self.requires_grad or value._requires_grad) and state.grad_enabled
    elif isinstance(value, int | float | complex | np.generic):
        records = self.requires_grad and state.grad_enabled
    else:
        raise errors.ArgumentTypeError(
            f"can't assign a {type(value).__name__} to a {legacy_type(self.dtype, self.device)}",
            [(this_place(), "assigned here")],
            ["make a tensor of it: torch.tensor(...)"],
        )
    parsed = parse(self, index, is_written=True)
    if not records and not door.is_watched and self._array.__class__ is ndarray:
        _write_now(self, parsed, value)
        return
    seen = _viewed(self, parsed)
    if parsed.indices:
        places, indices = tuple(parsed.places), beside(seen, parsed.indices)
        put_at(seen, indices, places, _as_value(seen, value), False)
    elif isinstance(value, Tensor) and _is_copied(seen, value):
        if value._array.shape != seen._array.shape:
            value = traced.broadcast_to(_without_leading_ones(value), seen._array.shape)
        copy_(seen, value)
    else:
        fill_(seen, _as_value(seen, value))


def _is_copied(seen: Tensor, value: Tensor) -> bool:
    """Whether a tensor is copied; one without dimensions fills, as a number does."""
    return bool(value._array.ndim or not seen._array.ndim or value.device is not seen.device)


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = value._array.shape
    if not shape or shape[0] != 1:
        return value
    first = next((k for k, length in enumerate(shape) if length != 1), len(shape))
    shorter: Tensor = traced.reshape(value, shape[first:])
    return shorter


def _as_value(target: Tensor, value: Any) -> Tensor:
    """A value for `index_put`: a tensor of the target's dtype."""
    if not isinstance(value, Tensor):
        array = target._array
        return wrap(
            np.full_like(array, number_as(value, array.dtype), shape=()),
            (*here(), "fill", None, None),
        )
    if value._array.dtype != target._array.dtype:
        value = value.to(target.dtype)
    return _without_leading_ones(value)


def _write_now(self: Tensor, parsed: Parsed, value: Any) -> None:
    """Write with NumPy where nothing is recorded and all is on the host."""
    if self._view is not None and self._view.version != self._cell.version:
        refresh(self)
    if self._cell is INFERENCE:
        blame.check_inplace("set item", self, False)
    array = self._array
    if not array.flags.writeable:
        raise blame.read_only(self)
    if parsed.key and not (parsed.indices and all(part is WHOLE for part in parsed.key)):
        array = array[(*parsed.key, Ellipsis)]
    if isinstance(value, Tensor):
        source = _on_host(self, value, bool(parsed.indices))
        if source.dtype.kind == "c" and array.dtype.kind != "c":
            source = real_part(source)
    else:
        source = number_as(value, array.dtype)
    if parsed.indices:
        indices = beside(self, parsed.indices)
        key = numpy_key([part._array for part in indices], parsed.places)
        try:
            array[key] = source
        except (IndexError, ValueError) as error:
            raise put_trouble(error, array, key, np.asarray(source)) from None
    else:
        if not array.flags.c_contiguous:
            blame.check_inplace("set item", wrap(array, self._origin), False)
        if isinstance(value, Tensor):
            blame.check_no_partial_overlap(array, value)
        try:
            array[...] = source
        except ValueError:
            raise _does_not_expand(array.shape, source.shape) from None
    note_written(self)


def _on_host(self: Tensor, value: Tensor, is_strict: bool) -> Any:
    """A value's array in host memory; with index arrays, only a number comes from elsewhere."""
    if value._array.__class__ is ndarray:
        return value._array
    if value._array.ndim and is_strict:
        raise errors.DeviceMismatch(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{self.device} and {value.device}! (in an assignment)",
            [(this_place(), "assigned here")],
            [f"move the value: `.to({str(self.device)!r})`"],
        )
    return value.cpu()._array


def _does_not_expand(shape: Any, found: Any) -> errors.WriteShapeMismatch:
    while len(found) > len(shape) and found[0] == 1:
        found = found[1:]
    text = (
        f"expand(torch.Tensor{{{dims(found)}}}, size={dims(shape)}): the number of sizes provided "
        f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor "
        f"({len(found)})"
    )
    for back in range(1, min(len(shape), len(found)) + 1):
        if found[-back] not in (1, shape[-back]):
            text = (
                f"The expanded size of the tensor ({shape[-back]}) must match the existing size "
                f"({found[-back]}) at non-singleton dimension {len(found) - back}.  Target sizes: "
                f"{dims(shape)}.  Tensor sizes: {dims(found)}"
            )
            break
    return errors.WriteShapeMismatch(text, [(this_place(), "assigned here")])


# --- index_put -----------------------------------------------------------------------------------


def _index_list(name: str, self: Tensor, indices: Any) -> tuple[list[Tensor], tuple[int, ...]]:
    """Index tensors and their places; None stands for a whole dimension."""
    found, places, dim = [], [], 0
    for part in indices:
        if part is None:
            dim += 1
            continue
        part = index_tensor(part)
        if not isinstance(part, Tensor):
            part = wrap(np.asarray(part), None)
        found.append(part)
        places.append(dim)
        dim += max(dims_used(part), 1)
    if dim > self._array.ndim:
        raise errors.InvalidIndex(
            f"too many indices for tensor of dimension {self._array.ndim} (got {dim})",
            [(this_place(), "called here")],
        )
    if not found:
        raise refused(f"{name}: at least one index must be a tensor")
    return beside(self, found), tuple(places)


@native
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` written, or added, where index tensors choose."""
    found, places = _index_list("index_put", input, indices)
    result: Tensor = index_put_op(input, found, values, accumulate, places)
    return result


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of `index_put`."""
    if not isinstance(values, Tensor):
        raise errors.ArgumentTypeError(
            "index_put_(): argument 'values' (position 2) must be Tensor, not "
            f"{type(values).__name__}",
            [(this_place(), "called here")],
        )
    found, places = _index_list("index_put_", self, indices)
    return put_at(self, found, places, values, accumulate)


def put_at(
    self: Tensor, indices: list[Tensor], places: tuple[int, ...], values: Tensor, accumulate: bool
) -> Tensor:
    """Write values into a tensor at index arrays."""
    return apply_inplace(index_put_op.op, self, [self, indices, values, accumulate, places])
