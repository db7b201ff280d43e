"""Arrays that have a shape, a dtype and strides but no elements, and what indexing makes of them.

A layout is a NumPy array over one element of memory. Whatever only rearranges strides (slices,
transposes, broadcasts) NumPy itself does on it; reading it would read memory that isn't there, so
no function may compute on a layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from lamina.devices.backend import HostArray, NoValues
from lamina.devices.dispatched import get_item, owner_of, replace

if TYPE_CHECKING:  # numpy.typing takes 4 ms to import
    from numpy.typing import DTypeLike


@final
class Layout(np.ndarray[Any, np.dtype[Any]]):
    """A NumPy array that must not be read."""

    def __array_ufunc__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise AssertionError("a layout has no elements to compute with")


def fresh(shape: Sequence[int], dtype: DTypeLike, strides: Sequence[int] | None = None) -> Layout:
    """The layout of a new array: rows one after another, or with the strides given."""
    shape = tuple(int(size) for size in shape)
    one = np.empty((), dtype).view(Layout)
    if strides is None:
        strides = dense_strides(shape, one.itemsize)
    layout: Any = np.lib.stride_tricks.as_strided(one, shape, tuple(strides), subok=True)
    return layout  # type: ignore[no-any-return]


def dense_strides(
    shape: Sequence[int], itemsize: int, axes: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Strides of an array without gaps whose axes lie in the order `axes`, the slowest first."""
    strides = [0] * len(shape)
    step = itemsize
    for axis in reversed(range(len(shape)) if axes is None else axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def in_order_of(shape: Sequence[int], dtype: DTypeLike, sources: Sequence[HostArray]) -> Layout:
    """A new array with its axes in the order that NumPy gives a result of `sources` (order="K")."""
    shape = tuple(shape)
    if all(source.flags.c_contiguous for source in sources):
        return fresh(shape, dtype)
    # An iterator never reads before it iterates. It knows NumPy's rule; two elements an axis do.
    small = [
        np.lib.stride_tricks.as_strided(
            source.view(np.ndarray), [min(size, 2) for size in source.shape], source.strides
        )
        for source in sources
    ]
    flags: Any = [["readonly"]] * len(small) + [["writeonly", "allocate"]]
    operands: Any = [*small, None]
    iterator = np.nditer(
        operands,
        ["zerosize_ok", "refs_ok"],
        flags,
        op_dtypes=[*(source.dtype for source in small), np.dtype(dtype)],
    )
    made = iterator.operands[-1]
    if made.ndim != len(shape):
        return fresh(shape, dtype)
    axes = sorted(range(len(shape)), key=lambda axis: -abs(made.strides[axis]))
    return fresh(shape, dtype, dense_strides(shape, np.dtype(dtype).itemsize, axes))


def as_layouts(result: Any) -> Any:
    """A nest of results in which every array counts as a layout (NumPy may drop the class)."""
    return replace(result, (np.ndarray,), lambda a: a if isinstance(a, Layout) else a.view(Layout))


def same_memory(first: Any, second: Any) -> bool:
    """Whether two layouts show the memory of one array."""
    return owner_of(first) is owner_of(second)


# --- indexing ----------------------------------------------------------------------------------


def indexed(array: HostArray, index: Any, operation: str = "boolean-mask indexing") -> Layout:
    """The layout of `array[index]`.

    Raises:
        NoValues: For a mask whose values are unknown.
        IndexError: As NumPy does, as far as values are known.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [np.asarray(part) if isinstance(part, list | tuple) else part for part in parts]
    if not any(isinstance(part, np.ndarray | bool | np.bool_) for part in parts):
        return as_layouts(get_item(array, index))  # type: ignore[no-any-return]
    before, together, after = _advanced(array.shape, _expanded(array.ndim, parts), operation)
    # NumPy picks with the index arrays' axes outermost, and then moves them to their place.
    picked = fresh((*together, *before, *after), array.dtype)
    there = range(len(before), len(before) + len(together))
    return as_layouts(np.moveaxis(picked, range(len(together)), there))  # type: ignore[no-any-return]


def _is_mask(part: Any) -> bool:
    return isinstance(part, bool | np.bool_) or (
        isinstance(part, np.ndarray) and part.dtype == np.bool_
    )


def _consumed(part: Any) -> int:
    """How many axes a part of an index stands for."""
    if part is None or part is Ellipsis:
        return 0
    return np.ndim(part) if _is_mask(part) else 1


def _expanded(ndim: int, parts: list[Any]) -> list[Any]:
    """The parts with the ellipsis written out, so that they name every axis."""
    used = sum(map(_consumed, parts))
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    where = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    if any(part is Ellipsis for part in parts[where + 1 :]):
        raise IndexError("an index can only have a single ellipsis ('...')")
    return [*parts[:where], *[slice(None)] * (ndim - used), *parts[where + 1 :]]


def _advanced(
    shape: tuple[int, ...], parts: list[Any], operation: str
) -> tuple[list[int], tuple[int, ...], list[int]]:
    """The result's axes: those before the index arrays' axes, these, and those after.

    NumPy's rule: the shape of the index arrays goes where they stand, or first if apart.
    """
    result: list[int | None] = []  # None marks an index array
    index_shapes: list[tuple[int, ...]] = []
    axis = 0
    for part in parts:
        if part is None:
            result.append(1)
        elif isinstance(part, slice):
            result.append(len(range(*part.indices(shape[axis]))))
        else:
            result.append(None)
            index_shapes.append(_index_shape(part, shape[axis : axis + _consumed(part)], operation))
        axis += _consumed(part)
    together = np.broadcast_shapes(*index_shapes)
    marks = [i for i, size in enumerate(result) if size is None]
    first = marks[0] if marks[-1] - marks[0] == len(marks) - 1 else 0
    sizes = [size for size in result if size is not None]
    return sizes[:first], together, sizes[first:]


def _index_shape(part: Any, axes: tuple[int, ...], operation: str) -> tuple[int, ...]:
    """The shape that one index array (or number) brings to the broadcast of all of them."""
    if _is_mask(part):
        if np.shape(part) != axes:
            raise IndexError(
                f"boolean index did not match indexed array: its shape is {np.shape(part)}, "
                f"the array's {axes}"
            )
        if isinstance(part, Layout):
            raise NoValues(operation)
        return (int(np.count_nonzero(part)),)
    if isinstance(part, np.ndarray) and part.dtype.kind not in "iu" and part.size:
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if not isinstance(part, Layout) and np.size(part):
        low, high = int(np.min(part)), int(np.max(part))
        if low < -axes[0] or high >= axes[0]:
            wrong = low if low < -axes[0] else high
            raise IndexError(f"index {wrong} is out of bounds for axis with size {axes[0]}")
    return np.shape(part)
