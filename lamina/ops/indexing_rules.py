"""Positions in flat memory, and checks of indices: what gathering and scattering share.

Accumulation goes through flat positions, since `np.add.at` with one flat index takes 1.2 ns an
element (as `np.bincount` does), and 9 ns with rows or several index arrays.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import dims, this_place
from lamina.ops.constants import constant_like

ndarray: Final = np.ndarray
_UNSIGNED: Final = {4: np.uint32, 8: np.uint64}

_NAMES: Final = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def refused(text: str, help: Sequence[str] = ()) -> errors.InvalidArgument:
    """A RuntimeError about arguments of the current call."""
    return errors.InvalidArgument(text, [(this_place(), "called here")], help)


def kind_name(kind: Any) -> str:
    """A dtype as PyTorch writes it in such errors: `Float`, `Long`."""
    found = dtypes.from_numpy(kind).name
    return _NAMES.get(found, found)


def check_index_kind(
    index: Any, name: str, words: str = "Expected dtype int32/int64 for index"
) -> None:
    """Indices are int32 or int64."""
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise errors.DtypeError(f"{name}(): {words}", [(this_place(), "called here")])


def check_range(
    index: Any, size: int, dim: int, error: type[errors.LaminaError] | None = None
) -> None:
    """Raise for indices outside 0 ... size - 1. As on a GPU, arrays there are unchecked."""
    if is_outside(index, size):
        wrong = index[(index < 0) | (index >= size)].reshape(-1)[0]
        raise (error or errors.InvalidArgument)(
            f"index {wrong} is out of bounds for dimension {dim} with size {size}",
            [(this_place(), "called here")],
        )


def is_outside(index: Any, size: int) -> bool:
    """Whether an array on the host has an index outside 0 ... size - 1."""
    if index.__class__ is not ndarray or not index.size:
        return False
    # Seen as unsigned, a negative index is larger than any size: one pass finds both.
    return int(index.view(_UNSIGNED[index.itemsize]).max()) >= size


def row_major(shape: Sequence[int]) -> list[int]:
    """How many elements apart neighbours of each dimension lie."""
    steps, step = [0] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        steps[axis] = step
        step *= shape[axis]
    return steps


def offsets(length: int, step: int, ndim: int, axis: int) -> Any:
    """The offsets along one axis, shaped to broadcast with positions of `ndim` axes."""
    return (np.arange(length) * step).reshape((-1,) + (1,) * (ndim - 1 - axis))


def spread(length: int, step: int, ndim: int, axis: int, like: Any) -> Any:
    """The same, on the device of another array."""
    return constant_like(like, offsets(length, step, ndim, axis))


def positions_along(shape: Sequence[int], index: Any, axis: int) -> Any:
    """Flat positions of what `gather` reads: `index` along one axis, its place in others."""
    found = index * math.prod(shape[axis + 1 :])
    is_small = index.size <= MOST_REMEMBERED
    beside = (_remembered if is_small else _places_beside)(tuple(shape), index.shape, axis)
    return found if beside is None else found + constant_like(index, beside)


MOST_REMEMBERED: Final = 4096


def _places_beside(shape: Sequence[int], counts: Sequence[int], axis: int) -> Any:
    """Flat positions of the elements with index 0 along an axis; None if that is 0 for all."""
    steps = row_major(shape)
    found = None
    for other, length in enumerate(counts):
        if other != axis and length > 1:
            places = offsets(length, steps[other], len(counts), other)
            found = places if found is None else found + places
    return found


# Making them takes NumPy 6 us, and programs gather by few shapes.
_remembered: Final = functools.lru_cache(maxsize=256)(_places_beside)


def positions_of_rows(shape: Sequence[int], index: Any, axis: int) -> Any:
    """Flat positions of whole slices, shape (before, indices, after): what `index_select` reads."""
    before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    found = index.reshape(-1, 1) * after + spread(after, 1, 2, 1, index)
    if axis:
        found = found + spread(before, shape[axis] * after, 3, 0, index)
    return found


def numpy_key(indices: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    """The index for NumPy: index arrays at their places, whole dimensions between them."""
    key: list[Any] = []
    axis = 0
    for place, index in zip(places, indices, strict=True):
        key += [slice(None)] * (place - axis)
        key.append(index)
        axis = place + (index.ndim if index.dtype.kind == "b" else 1)
    return tuple(key)


def positions_of_key(shape: Sequence[int], indices: Sequence[Any], places: Sequence[int]) -> Any:
    """Flat positions of what `x[key]` reads, in the shape of the result."""
    parts: list[Any] = list(numpy_key(indices, places))
    flat: list[Any] = []
    for part in parts:
        flat += part.nonzero() if not isinstance(part, slice) and part.dtype.kind == "b" else [part]
    flat += [slice(None)] * (len(shape) - len(flat))
    arrays = [axis for axis, part in enumerate(flat) if not isinstance(part, slice)]
    steps = row_major(shape)
    together = np.broadcast_shapes(*(flat[axis].shape for axis in arrays))
    first = arrays[0] if arrays[-1] - arrays[0] == len(arrays) - 1 else 0
    kept = [axis for axis in range(len(shape)) if axis not in arrays]
    ndim = len(kept) + len(together)
    trailing = len(kept) - first
    found: Any = 0
    for axis in arrays:
        index = flat[axis]
        index = np.where(index < 0, index + shape[axis], index) * steps[axis]
        found = found + index.reshape(index.shape + (1,) * trailing)
    for place, axis in enumerate(kept):
        target = place if place < first else place + len(together)
        found = found + spread(shape[axis], steps[axis], ndim, target, indices[0])
    return found


def add_at(base: Any, positions: Any, values: Any) -> None:
    """Add values to a row-major array at flat positions; positions may repeat."""
    if values.shape != positions.shape:
        values = np.broadcast_to(values, positions.shape)
    np.add.at(base.reshape(-1), positions.reshape(-1), values.reshape(-1))


def explain_index_error(error: Exception, shape: Sequence[int], key: Sequence[Any]) -> Exception:
    """NumPy's complaint about an index in PyTorch's words."""
    place = [(this_place(), "indexed here")]
    axis = 0
    shapes = []
    for part in key:
        if isinstance(part, slice):
            axis += 1
            continue
        if part.dtype.kind == "b":
            for k, length in enumerate(part.shape):
                if axis + k >= len(shape) or length != shape[axis + k]:
                    return errors.InvalidIndex(
                        f"The shape of the mask {dims(part.shape)} at index {k} does not match the "
                        f"shape of the indexed tensor {dims(shape)} at index {axis + k}",
                        place,
                    )
            axis += part.ndim
            continue
        if axis >= len(shape):
            return errors.InvalidIndex(
                f"too many indices for tensor of dimension {len(shape)}", place
            )
        wrong = part[(part < -shape[axis]) | (part >= shape[axis])].reshape(-1)
        if wrong.size:
            return errors.IndexOutOfRange(
                f"index {wrong[0]} is out of bounds for dimension {axis} with size {shape[axis]}",
                place,
            )
        shapes.append(part.shape)
        axis += 1
    if "mismatch" in str(error):
        return errors.InvalidIndex(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(map(dims, shapes)),
            place,
        )
    return errors.InvalidIndex(str(error), place)
