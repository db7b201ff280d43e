"""The table of shape rules: NumPy's functions whose results' layouts follow from their arguments'.

A rule has the parameters of its function, so Python itself sorts out positions, keywords and
defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.devices.layouts import (
    Layout,
    NoValues,
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
    return lambda *args, **kwargs: as_layouts(function(*args, **kwargs))


def reshape_rule(a: Layout, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Layout:
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
    if order in "KA":
        order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    return reshape_rule(a, -1, order)


def real_rule(val: Layout) -> Any:
    return as_layouts(val.real) if val.dtype.kind == "c" else val


def imag_rule(val: Layout) -> Any:
    return as_layouts(val.imag) if val.dtype.kind == "c" else fresh(val.shape, val.dtype)


def diag_rule(v: Layout, k: int = 0) -> Any:
    if v.ndim != 1:
        return as_layouts(np.diagonal(v, k))
    return fresh((v.size + abs(k),) * 2, v.dtype)


# --- copies and creation -----------------------------------------------------------------------


def copy_rule(a: Layout, order: Any = "K", subok: bool = False) -> Layout:
    if order in "KA":
        return in_order_of(a.shape, a.dtype, [a])
    return fresh(a.shape, a.dtype) if order == "C" else reshape_rule(a, a.shape, "F", copy=True)


def astype_rule(x: Layout, dtype: DTypeLike, /, *, copy: bool = True, device: Any = None) -> Layout:
    if not copy and x.dtype == np.dtype(dtype):
        return x
    return in_order_of(x.shape, dtype, [x])


def empty_like_rule(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: Any = True,
    shape: Any = None, *, device: Any = None,
) -> Layout:  # fmt: skip
    dtype = np.asarray(prototype).dtype if dtype is None else dtype
    if shape is not None:
        return fresh((shape,) if isinstance(shape, int) else shape, dtype)
    if order in "KA" and isinstance(prototype, np.ndarray):
        return in_order_of(prototype.shape, dtype, [prototype])
    return fresh(np.shape(prototype), dtype)


def full_like_rule(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Layout:
    return empty_like_rule(a, *args, **kwargs)


def new_rule(shape: Any, dtype: Any = float, order: Any = "C", **kwargs: Any) -> Layout:
    return fresh((shape,) if np.ndim(shape) == 0 else shape, float if dtype is None else dtype)


def full_rule(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Layout:
    return new_rule(shape, np.asarray(fill_value).dtype if dtype is None else dtype)


# --- element by element, along an axis, down to fewer axes -------------------------------------


def broadcast_rule(function: Callable[..., Any]) -> Rule:
    def rule(*args: Any, **kwargs: Any) -> Layout:
        arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray)]
        dtype = tiny_dtype(function, *args, **kwargs)
        return in_order_of(np.broadcast_shapes(*(a.shape for a in arrays)), dtype, arrays)

    return rule


def where_rule(condition: Any, x: Any = None, y: Any = None) -> Layout:
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
    def rule(a: Layout, axis: Any = None, *args: Any, **kwargs: Any) -> Layout:
        dtype = tiny_dtype(function, a, axis, *args, **kwargs)
        return fresh(a.shape if axis is not None else (a.size,), dtype)

    return rule


def sort_rule(a: Layout, axis: Any = -1, *args: Any, **kwargs: Any) -> Layout:
    dtype = tiny_dtype(np.sort, a, axis)
    return fresh((a.size,), dtype) if axis is None else in_order_of(a.shape, dtype, [a])


def argsort_rule(a: Layout, axis: Any = -1, *args: Any, **kwargs: Any) -> Layout:
    tiny_dtype(np.argsort, a, axis)
    return fresh((a.size,) if axis is None else a.shape, np.intp)


def reduction_rule(function: Callable[..., Any]) -> Rule:
    def rule(a: Layout, axis: Any = None, *rest: Any, **options: Any) -> Layout:
        dtype = tiny_dtype(function, a, axis, *rest, **options)
        keepdims = options.get("keepdims", False)
        return fresh(reduced_shape(a.shape, axis, keepdims is True or keepdims == 1), dtype)

    return rule


def count_nonzero_rule(a: Layout, axis: Any = None, *, keepdims: bool = False) -> Layout:
    if axis is None and not keepdims:
        raise NoValues("numpy.count_nonzero without an axis")
    return fresh(reduced_shape(a.shape, axis, keepdims), np.intp)


def norm_rule(x: Layout, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Layout:
    dtype = tiny_dtype(np.linalg.norm, x, ord, axis, keepdims)
    return fresh(reduced_shape(x.shape, axis, keepdims), dtype)


def diff_rule(a: Layout, n: int = 1, axis: int = -1) -> Layout:
    sizes = list(a.shape)
    sizes[axis] = max(sizes[axis] - n, 0)
    return fresh(sizes, tiny_dtype(np.diff, a, n, axis))


# --- joining, repeating, padding ---------------------------------------------------------------


def concatenate_rule(arrays: Sequence[Any], /, axis: Any = 0, **options: Any) -> Layout:
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
    shapes = {np.shape(a) for a in arrays}
    if len(shapes) != 1:
        raise ValueError("all input arrays must have the same shape")
    dtype = np.asarray(quietly(np.stack, tiny(list(arrays)), axis, **options)).dtype
    shape = list(shapes.pop())
    shape.insert(axis % (len(shape) + 1), len(arrays))
    return fresh(shape, dtype)


def take_rule(a: Layout, indices: Any, axis: Any = None, mode: str = "raise") -> Layout:
    if axis is None:
        return fresh(np.shape(indices), a.dtype)
    axis = int(np.lib.array_utils.normalize_axis_index(axis, a.ndim))
    return fresh((*a.shape[:axis], *np.shape(indices), *a.shape[axis + 1 :]), a.dtype)


def take_along_axis_rule(arr: Layout, indices: Any, axis: Any = -1) -> Layout:
    if axis is None:
        return fresh(np.shape(indices), arr.dtype)
    axis = int(np.lib.array_utils.normalize_axis_index(axis, arr.ndim))
    if np.ndim(indices) != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    others = [*arr.shape[:axis], 1, *arr.shape[axis + 1 :]]
    return fresh(np.broadcast_shapes(tuple(others), np.shape(indices)), arr.dtype)


def repeat_rule(a: Layout, repeats: Any, axis: int | None = None) -> Layout:
    if isinstance(repeats, Layout):
        raise NoValues("numpy.repeat with counts of unknown value")
    shape = [a.size] if axis is None else list(a.shape)
    axis = 0 if axis is None else axis
    shape[axis] = int(np.broadcast_to(np.asarray(repeats), shape[axis]).sum())
    return fresh(shape, a.dtype)


def tile_rule(A: Layout, reps: Any) -> Layout:
    counts = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    ndim = max(A.ndim, len(counts))
    shape = (1,) * (ndim - A.ndim) + A.shape
    counts = (1,) * (ndim - len(counts)) + counts
    return fresh([size * count for size, count in zip(shape, counts, strict=True)], A.dtype)


def pad_rule(array: Layout, pad_width: Any, mode: Any = "constant", **options: Any) -> Layout:
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).sum(1)
    return fresh([n + int(w) for n, w in zip(array.shape, widths, strict=True)], array.dtype)


# --- products ----------------------------------------------------------------------------------


def dot_rule(a: Any, b: Any) -> Layout:
    first, second = np.shape(a), np.shape(b)
    dtype = tiny_dtype(np.multiply, a, b)
    if not first or not second:
        return fresh(first + second, dtype)
    at = max(len(second) - 2, 0)
    if first[-1] != second[at]:
        raise ValueError(f"shapes {first} and {second} not aligned: {first[-1]} != {second[at]}")
    return fresh(first[:-1] + second[:at] + second[at + 1 :], dtype)


def tensordot_rule(a: Layout, b: Layout, axes: Any = 2) -> Layout:
    if isinstance(axes, int):
        axes = (list(range(a.ndim - axes, a.ndim)), list(range(axes)))
    left, right = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    left, right = [i % a.ndim for i in left], [i % b.ndim for i in right]
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ValueError("shape-mismatch for sum")
    kept = [n for i, n in enumerate(a.shape) if i not in left]
    kept += [n for i, n in enumerate(b.shape) if i not in right]
    return fresh(kept, tiny_dtype(np.multiply, a, b))


def einsum_rule(subscripts: str, *operands: Any, **options: Any) -> Layout:
    """Sizes follow from the letters; an ellipsis becomes letters of its own."""
    text = subscripts.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        output = "".join(sorted({c for c in letters if letters.count(c) == 1}))
        output = "..." + output if "..." in left else output
    extra = [
        np.ndim(operand) - len(names.replace("...", "")) if "..." in names else 0
        for names, operand in zip(inputs, operands, strict=True)
    ]
    inputs = [
        names.replace("...", _ELLIPSIS[-count:] if count else "")
        for names, count in zip(inputs, extra, strict=True)
    ]
    output = output.replace("...", _ELLIPSIS[-max(extra) :] if max(extra) else "")
    quietly(np.einsum, subscripts, *tiny(operands))
    sizes: dict[str, int] = {}
    for names, operand in zip(inputs, operands, strict=True):
        for letter, size in zip(names, np.shape(operand), strict=True):
            known = sizes.setdefault(letter, size)
            if known != size and 1 not in (size, known):
                raise ValueError(f"einsum: the sizes {known} and {size} of one letter differ")
            sizes[letter] = size if known == 1 else known
    dtype = options.get("dtype") or np.result_type(*operands)
    return fresh([sizes[letter] for letter in output], dtype)


_ELLIPSIS: Final = "".join(map(chr, range(0x3B1, 0x3B1 + 24)))


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
    _writable(array)
    try:
        shape = indexed(array, index).shape
    except NoValues:  # a mask: how many elements it picks is known when the program runs
        return
    _fits(value, shape)


def copyto_rule(dst: Layout, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    _writable(dst)
    _fits(src, dst.shape)
    quietly(np.copyto, tiny(dst), tiny(src) if np.size(src) else 0, casting)


def write_rule(array: Layout, *args: Any, **kwargs: Any) -> None:
    _writable(array)


def shares_memory_rule(a: Any, b: Any, **options: Any) -> bool:
    return same_memory(a, b)


def unknown_rule(function: Callable[..., Any]) -> Rule:
    def rule(*args: Any, **kwargs: Any) -> Any:
        raise NoValues(f"numpy.{name_of(function)}")

    return rule


def as_is_rule(function: Callable[..., Any]) -> Rule:
    """Questions about shape and dtype, which NumPy answers without reading."""
    return function
