"""Indices taken apart: which parts make views, and which are index arrays."""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor, wrap
from lamina.core.warning import warn
from lamina.devices import CPU, META, device_of, to_device
from lamina.ops.shape import unsqueeze
from lamina.ops.windows import select, slice_dim

WHOLE: Final = slice(None)


class Parsed:
    """An index taken apart: its steps that make views, and its index arrays.

    Attributes:
        steps: Calls `(operation, dim, ...)` one after another, each on the last one's result.
        key: The same as one index for NumPy.
        indices: Index tensors.
        places: The dimensions of the view that they index.
    """

    __slots__ = ("indices", "key", "places", "steps")

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.key: list[Any] = []
        self.indices: list[Tensor] = []
        self.places: list[int] = []


def _parts_of(index: Any) -> tuple[Any, ...]:
    """The parts of an index; a list that holds anything but numbers counts as a tuple."""
    if isinstance(index, tuple):
        return tuple(index)
    if isinstance(index, list) and len(index) < 32:
        for item in index:
            if item is None or item is Ellipsis or isinstance(item, Tensor | list | tuple | slice):
                return tuple(index)
    return (index,)


def dims_used(part: Any) -> int:
    """How many of the indexed tensor's dimensions one part of an index takes."""
    if isinstance(part, Tensor):
        kind = part._array.dtype
        return part._array.ndim if kind.kind == "b" or kind == np.uint8 else 1
    return 0 if part is None or part is Ellipsis or part is True or part is False else 1


def _simplified(part: Any) -> Any:
    """One part of an index as an int, bool, slice, None, Ellipsis or tensor."""
    if part.__class__ is int or part.__class__ is slice or part is None or part is Ellipsis:
        return part
    if isinstance(part, bool | np.bool_):
        return bool(part)
    if isinstance(part, Tensor):
        return index_tensor(part)
    if isinstance(part, np.ndarray):
        return index_tensor(wrap(part, None))
    if isinstance(part, list | tuple | range):
        return _listed(part)
    if hasattr(part, "__index__"):
        return operator.index(part)
    if isinstance(part, str):
        raise errors.ArgumentTypeError(
            "new(): invalid data type 'str'", [(this_place(), "indexed here")]
        )
    raise errors.InvalidIndex(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(part).__name__})",
        [(this_place(), "indexed here")],
    )


def index_tensor(part: Tensor) -> Any:
    """A tensor as a part of an index: uint8 counts as a mask, and 0-dim numbers as ints."""
    kind = part._array.dtype
    if kind.kind == "b":
        return part
    if kind == np.uint8:
        warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead."
        )
        return wrap(part._array.astype(bool), None)
    if kind.kind != "i" or kind.itemsize < 4:
        raise errors.InvalidIndex(
            "tensors used as indices must be long, int, byte or bool tensors, not "
            f"{dtypes.from_numpy(kind).name}",
            [(this_place(), "indexed here")],
            ["convert it: `.long()` for positions, `.bool()` for a mask"],
        )
    return part if part._array.ndim else int(part._array)


def _listed(part: Any) -> Tensor:
    """A list of numbers or truth values as an index tensor."""
    try:
        array = np.asarray([item._array if isinstance(item, Tensor) else item for item in part])
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind in "OSU":
        raise errors.InvalidIndex(
            f"a list used as an index must hold integers or truth values: {part!r}",
            [(this_place(), "indexed here")],
        )
    return wrap(array if array.dtype.kind == "b" else array.astype(np.int64), None)


def parse(tensor: Tensor, index: Any, is_written: bool = False) -> Parsed:
    """Take an index apart. `x[:]` is a view when read; `x[:] = v` writes to x itself."""
    shape = tensor._array.shape
    parts = [_simplified(part) for part in _parts_of(index)]
    used = 0
    for part in parts:
        used += dims_used(part)
    if used > len(shape):
        if not shape and len(parts) == 1:
            refuse_on_number(parts[0])
        raise too_many(len(shape))
    found = Parsed()
    axis = dim = 0  # in the indexed tensor, and in the view made so far
    for part in parts:
        if part is Ellipsis:
            found.key += [WHOLE] * (len(shape) - used)
            axis += len(shape) - used
            dim += len(shape) - used
        elif part is None:
            found.steps.append((unsqueeze, dim))
            found.key.append(None)
            dim += 1
        elif part is True or part is False:
            dim = _truth(found, wrap(np.full((1,), part), None), dim)
        elif part.__class__ is int:
            check_bounds(part, shape[axis], axis)
            found.steps.append((select, dim, part))
            found.key.append(part)
            axis += 1
        elif part.__class__ is slice:
            start, stop, step = range_of(part, shape[axis])
            if (
                start != 0
                or stop < shape[axis]
                or step != 1
                or (len(parts) == 1 and not is_written)
            ):
                found.steps.append((slice_dim, dim, start, stop, step))
            found.key.append(slice(start, stop, step))
            axis, dim = axis + 1, dim + 1
        elif not part._array.ndim:
            dim = _truth(found, wrap(part._array.reshape(1), None), dim)
        else:
            found.indices.append(part)
            found.places.append(dim)
            count = dims_used(part)
            found.key += [WHOLE] * count
            axis, dim = axis + count, dim + count
    return found


def beside(tensor: Tensor, indices: list[Tensor]) -> list[Tensor]:
    """Index tensors on the device of what they index: from host memory they go anywhere."""
    for indexer in (tensor, *indices):
        if indexer._array.__class__ is not np.ndarray:
            break
    else:
        return indices
    place = device_of(tensor._array)
    found = []
    for index in indices:
        here = device_of(index._array)
        if here is not place and here is not CPU:
            raise errors.DeviceMismatch(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({place}), but one is on {here}",
                [(this_place(), "indexed here")],
                [f"move the index: `.to({str(place)!r})`"],
            )
        # The meta device would lose the values, and a mask's shape with them.
        stays = here is place or place is META
        found.append(index if stays else wrap(to_device(index._array, place), None))
    return found


def _truth(found: Parsed, mask: Tensor, dim: int) -> int:
    """True or False as a part of an index: a new dimension, and a mask over it."""
    found.steps.append((unsqueeze, dim))
    found.key.append(None)
    found.indices.append(mask)
    found.places.append(dim)
    return dim + 1


def check_bounds(index: int, size: int, dim: int) -> None:
    """Raise if a position is outside a dimension."""
    if not -size <= index < size:
        raise errors.IndexOutOfRange(
            f"index {index} is out of bounds for dimension {dim} with size {size}",
            [(this_place(), "indexed here")],
        )


def refuse_on_number(part: Any) -> None:
    """Raise for an int or a slice as the only index of a tensor without dimensions."""
    if part.__class__ is int:
        if part == 0:
            raise no_dimensions()
        check_bounds(part, 0, 0)
    if part.__class__ is slice:
        raise errors.InvalidIndex(
            "slice() cannot be applied to a 0-dim tensor.", [(this_place(), "indexed here")]
        )


def too_many(ndim: int) -> errors.InvalidIndex:
    """The error for more indices than dimensions."""
    return errors.InvalidIndex(
        f"too many indices for tensor of dimension {ndim}", [(this_place(), "indexed here")]
    )


def no_dimensions() -> errors.InvalidIndex:
    """The error for an index of a tensor without dimensions."""
    return errors.InvalidIndex(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
        "C++ to convert a 0-dim tensor to a number",
        [(this_place(), "indexed here")],
    )


def range_of(part: slice, size: int) -> tuple[int, int, int]:
    """The start, stop and step of a slice of `size` elements."""
    try:
        start, stop, step = part.indices(size)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error)) from None
    if step < 0:
        raise errors.InvalidValue(
            "step must be greater than zero: a view can't run backwards",
            [(this_place(), "indexed here")],
            ["use torch.flip, which copies"],
        )
    return start, max(stop, start), step
