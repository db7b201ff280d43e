"""The table of shape rules: NumPy's functions whose results' layouts follow from their arguments'.

A rule has the parameters of its function, so Python itself sorts out positions, keywords and
defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina.devices.backend import NoValues
from lamina.devices.layouts import (
    Layout,
    as_layouts,
    fresh,
    in_order_of,
    indexed,
    same_memory,
)
from lamina.devices.shape_rules import Rule, name_of, quietly, reduced_shape, tiny, tiny_dtype

if TYPE_CHECKING:  # numpy.typing takes 4 ms to import
    from numpy.typing import DTypeLike

# --- views: NumPy itself rearranges the strides ------------------------------------------------


def view_rule(function: Callable[..., Any]) -> Rule:
    """A view: NumPy's own, of a layout."""
    return lambda *args, **kwargs: as_layouts(function(*args, **kwargs))


def reshape_rule(a: Layout, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Layout:
    """`reshape`: a view where the strides allow one, else a copy."""
    if copy is not True:
        try:
            return as_layouts(np.reshape(a, shape, order, copy=False))  # type: ignore[no-any-return]
        except ValueError:
            if copy is False:
                raise
    # The sizes are checked, and a -1 filled in, on an array that can always be seen another way.
    sizes = np.reshape(fresh(a.shape, a.dtype), shape).shape
    axes = tuple(reversed(range(len(sizes))))
    return fresh(sizes, a.dtype) if order != "F" else _transposed(fresh(sizes[::-1], a.dtype), axes)


def _transposed(a: Layout, axes: Sequence[int]) -> Layout:
    return fresh(a.transpose(axes).shape, a.dtype, a.transpose(axes).strides)


def ravel_rule(a: Layout, order: Any = "C") -> Layout:
    """`ravel`: a reshape to one axis, in the order that the memory has or the caller wants."""
    if order in "KA":
        order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    return reshape_rule(a, -1, order)


def real_rule(val: Layout) -> Any:
    """`real`: a view of a complex array's real parts, or a real array itself."""
    return as_layouts(val.real) if val.dtype.kind == "c" else val


def imag_rule(val: Layout) -> Any:
    """`imag`: a view of a complex array's imaginary parts, or new zeros."""
    return as_layouts(val.imag) if val.dtype.kind == "c" else fresh(val.shape, val.dtype)


def diag_rule(v: Layout, k: int = 0) -> Any:
    """`diag`: the view of a matrix's diagonal, or a new matrix around a vector."""
    if v.ndim != 1:
        return as_layouts(np.diagonal(v, k))
    return fresh((v.size + abs(k),) * 2, v.dtype)


# --- copies and creation -----------------------------------------------------------------------


def copy_rule(a: Layout, order: Any = "K", subok: bool = False) -> Layout:
    """`copy`: the same shape in new memory, its axes in the wanted order."""
    if order in "KA":
        return in_order_of(a.shape, a.dtype, [a])
    return fresh(a.shape, a.dtype) if order == "C" else reshape_rule(a, a.shape, "F", copy=True)


def astype_rule(x: Layout, dtype: DTypeLike, /, *, copy: bool = True, device: Any = None) -> Layout:
    """`astype`: a copy in another dtype, or the array itself where none is needed."""
    if not copy and x.dtype == np.dtype(dtype):
        return x
    return in_order_of(x.shape, dtype, [x])


def empty_like_rule(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: Any = True,
    shape: Any = None, *, device: Any = None,
) -> Layout:  # fmt: skip
    """`empty_like`: a new array like a prototype, but for what the caller names."""
    dtype = np.asarray(prototype).dtype if dtype is None else dtype
    if shape is not None:
        return fresh((shape,) if isinstance(shape, int) else shape, dtype)
    if order in "KA" and isinstance(prototype, np.ndarray):
        return in_order_of(prototype.shape, dtype, [prototype])
    return fresh(np.shape(prototype), dtype)


def full_like_rule(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Layout:
    """`full_like`: as `empty_like`; the value does not matter."""
    return empty_like_rule(a, *args, **kwargs)


def new_rule(shape: Any, dtype: Any = float, order: Any = "C", **kwargs: Any) -> Layout:
    """`empty`, `zeros` and `ones`: float64 unless told."""
    return fresh((shape,) if np.ndim(shape) == 0 else shape, float if dtype is None else dtype)


def full_rule(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Layout:
    """`full`: the dtype of the value unless told."""
    return new_rule(shape, np.asarray(fill_value).dtype if dtype is None else dtype)


# --- element by element, along an axis, down to fewer axes -------------------------------------


def broadcast_rule(function: Callable[..., Any]) -> Rule:
    """A function of elements: shapes broadcast, and the dtype is what NumPy finds."""

    def rule(*args: Any, **kwargs: Any) -> Layout:
        arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray)]
        dtype = tiny_dtype(function, *args, **kwargs)
        return in_order_of(np.broadcast_shapes(*(a.shape for a in arrays)), dtype, arrays)

    return rule


def where_rule(condition: Any, x: Any = None, y: Any = None) -> Layout:
    """`where` with three arguments; with one, the result's size depends on values."""
    if x is None or y is None:
        raise NoValues("numpy.where with a condition alone")
    return broadcast_rule(np.where)(condition, x, y)  # type: ignore[no-any-return]


def same_rule(function: Callable[..., Any]) -> Rule:
    """The first argument's shape, and the dtype that NumPy finds."""

    def rule(a: Layout, *args: Any, **kwargs: Any) -> Layout:
        return in_order_of(a.shape, tiny_dtype(function, a, *args, **kwargs), [a])

    return rule


def same_matrix_rule(function: Callable[..., Any]) -> Rule:
    """As `same_rule`, where a vector counts as rows of a matrix."""

    def rule(m: Layout, k: int = 0) -> Layout:
        return fresh(m.shape if m.ndim > 1 else m.shape * 2, m.dtype)

    return rule


def cumulative_rule(function: Callable[..., Any]) -> Rule:
    """`cumsum` and its like: flat without an axis."""

    def rule(a: Layout, axis: Any = None, *args: Any, **kwargs: Any) -> Layout:
        dtype = tiny_dtype(function, a, axis, *args, **kwargs)
        return fresh(a.shape if axis is not None else (a.size,), dtype)

    return rule


def sort_rule(a: Layout, axis: Any = -1, *args: Any, **kwargs: Any) -> Layout:
    """`sort`: the same shape, flat without an axis."""
    dtype = tiny_dtype(np.sort, a, axis)
    return fresh((a.size,), dtype) if axis is None else in_order_of(a.shape, dtype, [a])


def argsort_rule(a: Layout, axis: Any = -1, *args: Any, **kwargs: Any) -> Layout:
    """`argsort`: positions in the shape that `sort` gives."""
    tiny_dtype(np.argsort, a, axis)
    return fresh((a.size,) if axis is None else a.shape, np.intp)


def reduction_rule(function: Callable[..., Any]) -> Rule:
    """A reduction: the reduced axes are dropped, or kept with size 1."""

    def rule(a: Layout, axis: Any = None, *rest: Any, **options: Any) -> Layout:
        dtype = tiny_dtype(function, a, axis, *rest, **options)
        keepdims = options.get("keepdims", False)
        return fresh(reduced_shape(a.shape, axis, keepdims is True or keepdims == 1), dtype)

    return rule


def count_nonzero_rule(a: Layout, axis: Any = None, *, keepdims: bool = False) -> Layout:
    """`count_nonzero` along an axis; without one, it returns a number that is not known."""
    if axis is None and not keepdims:
        raise NoValues("numpy.count_nonzero without an axis")
    return fresh(reduced_shape(a.shape, axis, keepdims), np.intp)


def norm_rule(x: Layout, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Layout:
    """`linalg.norm`: a reduction, with a dtype of its own."""
    dtype = tiny_dtype(np.linalg.norm, x, ord, axis, keepdims)
    return fresh(reduced_shape(x.shape, axis, keepdims), dtype)


def diff_rule(a: Layout, n: int = 1, axis: int = -1) -> Layout:
    """`diff`: one element fewer along the axis for each of the n times."""
    sizes = list(a.shape)
    sizes[axis] = max(sizes[axis] - n, 0)
    return fresh(sizes, tiny_dtype(np.diff, a, n, axis))


# --- joining, repeating, padding ---------------------------------------------------------------


def concatenate_rule(arrays: Sequence[Any], /, axis: Any = 0, **options: Any) -> Layout:
    """`concatenate`: the sizes along the axis add up, and all others must agree."""
    dtype = np.asarray(quietly(np.concatenate, tiny(list(arrays)), axis, **options)).dtype
    if axis is None:
        return fresh((sum(np.size(a) for a in arrays),), dtype)
    shapes = [list(np.shape(a)) for a in arrays]
    total = sum(shape[axis] for shape in shapes)
    for position, shape in enumerate(shapes):
        shape[axis] = total
        if shape != shapes[0]:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but arrays 0 and {position} have shapes {np.shape(arrays[0])} and "
                f"{np.shape(arrays[position])}"
            )
    if axis in (0, -len(shapes[0])):
        return fresh(shapes[0], dtype)
    return in_order_of(shapes[0], dtype, [a[(slice(0, 1),) * a.ndim] for a in arrays if a.size])


def stack_rule(arrays: Sequence[Any], axis: int = 0, **options: Any) -> Layout:
    """`stack`: equal shapes, and one new axis as long as the list."""
    shapes = {np.shape(a) for a in arrays}
    if len(shapes) != 1:
        raise ValueError("all input arrays must have the same shape")
    dtype = np.asarray(quietly(np.stack, tiny(list(arrays)), axis, **options)).dtype
    shape = list(shapes.pop())
    shape.insert(axis % (len(shape) + 1), len(arrays))
    return fresh(shape, dtype)


def take_rule(a: Layout, indices: Any, axis: Any = None, mode: str = "raise") -> Layout:
    """`take`: the axis gives way to the shape of the indices."""
    if axis is None:
        return fresh(np.shape(indices), a.dtype)
    axis = int(np.lib.array_utils.normalize_axis_index(axis, a.ndim))
    return fresh((*a.shape[:axis], *np.shape(indices), *a.shape[axis + 1 :]), a.dtype)


def take_along_axis_rule(arr: Layout, indices: Any, axis: Any = -1) -> Layout:
    """`take_along_axis`: the shape of the indices, where other axes broadcast."""
    if axis is None:
        return fresh(np.shape(indices), arr.dtype)
    axis = int(np.lib.array_utils.normalize_axis_index(axis, arr.ndim))
    if np.ndim(indices) != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    others = [*arr.shape[:axis], 1, *arr.shape[axis + 1 :]]
    return fresh(np.broadcast_shapes(tuple(others), np.shape(indices)), arr.dtype)


def repeat_rule(a: Layout, repeats: Any, axis: int | None = None) -> Layout:
    """`repeat`: the counts add up along the axis."""
    if isinstance(repeats, Layout):
        raise NoValues("numpy.repeat with counts of unknown value")
    shape = [a.size] if axis is None else list(a.shape)
    axis = 0 if axis is None else axis
    shape[axis] = int(np.broadcast_to(np.asarray(repeats), shape[axis]).sum())
    return fresh(shape, a.dtype)


def tile_rule(A: Layout, reps: Any) -> Layout:
    """`tile`: each size times its count, where missing sizes and counts are 1."""
    counts = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    ndim = max(A.ndim, len(counts))
    shape = (1,) * (ndim - A.ndim) + A.shape
    counts = (1,) * (ndim - len(counts)) + counts
    return fresh([size * count for size, count in zip(shape, counts, strict=True)], A.dtype)


def pad_rule(array: Layout, pad_width: Any, mode: Any = "constant", **options: Any) -> Layout:
    """`pad`: both widths are added to each size."""
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).sum(1)
    return fresh([n + int(w) for n, w in zip(array.shape, widths, strict=True)], array.dtype)


# --- writes ------------------------------------------------------------------------------------


def _fits(value: Any, shape: tuple[int, ...]) -> None:
    found = np.shape(value)
    while len(found) > len(shape) and found[0] == 1:
        found = found[1:]
    if found != () and np.broadcast_shapes(found, shape) != shape:
        raise ValueError(f"could not broadcast input array from shape {found} into shape {shape}")


def _writable(array: Any) -> None:
    if not array.flags.writeable:
        raise ValueError("assignment destination is read-only")


def set_item_rule(array: Layout, index: Any, value: Any) -> None:
    """`array[index] = value`: nothing new, but the value must fit."""
    _writable(array)
    try:
        shape = indexed(array, index).shape
    except NoValues:  # a mask: how many elements it picks is known when the program runs
        return
    _fits(value, shape)


def copyto_rule(dst: Layout, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`copyto`: nothing new, but shape and dtype must fit."""
    _writable(dst)
    _fits(src, dst.shape)
    quietly(np.copyto, tiny(dst), tiny(src) if np.size(src) else 0, casting)


def write_rule(array: Layout, *args: Any, **kwargs: Any) -> None:
    """Any other write: nothing new, but the array must be writable."""
    _writable(array)


def shares_memory_rule(a: Any, b: Any, **options: Any) -> bool:
    """`shares_memory` and `may_share_memory`: whether both lie in one allocation."""
    return same_memory(a, b)


def unknown_rule(function: Callable[..., Any]) -> Rule:
    """A function whose result depends on values: a layout does not have them."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        raise NoValues(f"numpy.{name_of(function)}")

    return rule


def as_is_rule(function: Callable[..., Any]) -> Rule:
    """Questions about shape and dtype, which NumPy answers without reading."""
    return function
