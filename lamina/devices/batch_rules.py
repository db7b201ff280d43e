"""How NumPy functions run on all samples of a batch at once: elements, reductions, shapes.

The samples lie along the first axis of what a `BatchedArray` holds, so most rules are the same
call with its axes counted one further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from lamina.devices.batched import BATCH_RULES, Batch, BatchedArray, belongs, looped
from lamina.devices.dispatched import DispatchedArray, as_strided, replace

_BATCHED: Final = (BatchedArray,)
_ARRAYS: Final = (np.ndarray, DispatchedArray)


# --- steps in common ---------------------------------------------------------------------------


def at_rank(array: BatchedArray, ndim: int) -> Any:
    """What an array holds, with axes of length 1 after the samples, so that it broadcasts."""
    missing = ndim - array.ndim
    return array.values[(slice(None), *[None] * missing)] if missing > 0 else array.values


def aligned(batch: Batch, nest: Any, ndim: int) -> Any:
    """A nest with what its arrays of the batch hold, all with `ndim` axes after the samples."""
    return replace(
        nest, _BATCHED, lambda array: at_rank(array, ndim) if array.batch is batch else array
    )


def full(batch: Batch, array: Any) -> Any:
    """An array's samples along a first axis, also if all are the same."""
    if belongs(array, batch):
        return array.values
    return np.broadcast_to(array, (batch.size, *np.shape(array)))


def further(axis: int, ndim: int) -> int:
    """An axis of one sample as an axis behind that of the samples; checked."""
    return np.lib.array_utils.normalize_axis_index(axis, ndim) + 1


def all_further(axis: Any, ndim: int) -> Any:
    """One axis or several as axes behind that of the samples; all of them for None."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, tuple | list):
        return tuple([further(each, ndim) for each in axis])
    return further(axis, ndim)


def rule_for(*functions: Any) -> Callable[[Any], Any]:
    """Make a rule serve some functions."""

    def declare(rule: Any) -> Any:
        BATCH_RULES.update(dict.fromkeys(functions, rule))
        return rule

    return declare


# --- elements ----------------------------------------------------------------------------------


@rule_for(np.ufunc, np.where, np.clip, np.isclose, np.nan_to_num, np.round, np.vecdot,
          np.isneginf, np.isposinf, np.angle, np.sinc, np.i0)  # fmt: skip
def _elementwise(batch: Batch, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Element by element, with broadcasting. (`vecdot` broadcasts in the same way.)"""
    if function is np.where and len(args) == 1:
        return looped(batch, function, *args)
    ndim = max([getattr(value, "ndim", 0) for value in (*args, *kwargs.values())])
    out = kwargs.get("out")
    if kwargs:
        kwargs = aligned(batch, kwargs, ndim)
    result = function(*[at_rank(v, ndim) if belongs(v, batch) else v for v in args], **kwargs)
    if result.__class__ is np.ndarray and out is None:
        return BatchedArray(result, batch)
    if out is not None:
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return replace(result, _ARRAYS, lambda values: BatchedArray(values, batch))


# --- reductions --------------------------------------------------------------------------------


@rule_for((np.ufunc, "reduce"))
def _reduced_by(
    batch: Batch, function: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
    keepdims: bool = False, **options: Any,
) -> Any:  # fmt: skip
    if out is not None or "where" in options or not belongs(array, batch):
        return looped(batch, function, array, axis, dtype, out, keepdims, **options)
    axes = all_further(axis, array.ndim)
    return BatchedArray(function(array.values, axes, dtype, None, keepdims, **options), batch)


@rule_for((np.ufunc, "accumulate"))
def _accumulated_by(
    batch: Batch, function: Any, array: Any, axis: int = 0, dtype: Any = None
) -> Any:
    return BatchedArray(function(array.values, further(axis, array.ndim), dtype), batch)


@rule_for(np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.any, np.all, np.nansum,
          np.nanmean, np.nanmax, np.nanmin, np.count_nonzero, np.median, np.ptp)  # fmt: skip
def _reduced(
    batch: Batch, function: Any, a: Any, axis: Any = None, *more: Any, **options: Any
) -> Any:
    """Along axes. None is all of one sample's."""
    if more or options.get("out") is not None or "where" in options:
        return looped(batch, function, a, axis, *more, **options)
    values = function(a.values, axis=all_further(axis, a.ndim), **options)
    return BatchedArray(values, batch)


@rule_for(np.argmax, np.argmin)
def _position(
    batch: Batch, function: Any, a: Any, axis: Any = None, out: Any = None, **options: Any
) -> Any:
    if axis is None:
        if options.get("keepdims") or out is not None:
            return looped(batch, function, a, axis, out, **options)
        return BatchedArray(function(a.values.reshape(batch.size, -1), axis=1), batch)
    return BatchedArray(function(a.values, axis=further(axis, a.ndim), **options), batch)


@rule_for(np.cumsum, np.cumprod)
def _cumulated(batch: Batch, function: Any, a: Any, axis: Any = None, dtype: Any = None) -> Any:
    if axis is None:
        return BatchedArray(function(a.values.reshape(batch.size, -1), 1, dtype), batch)
    return BatchedArray(function(a.values, further(axis, a.ndim), dtype), batch)


@rule_for(np.sort, np.argsort)
def _sorted(batch: Batch, function: Any, a: Any, axis: int = -1, **options: Any) -> Any:
    return BatchedArray(function(a.values, further(axis, a.ndim), **options), batch)


@rule_for(np.diff)
def _differences(
    batch: Batch, function: Any, a: Any, n: int = 1, axis: int = -1, **more: Any
) -> Any:
    if any(value is not None for value in more.values()):
        return looped(batch, function, a, n, axis, **more)
    return BatchedArray(function(a.values, n, further(axis, a.ndim)), batch)


# --- views: the same elements ------------------------------------------------------------------


def view(source: BatchedArray, values: Any) -> BatchedArray:
    """An array with the memory of another one."""
    return BatchedArray(values, source.batch, base=source if source._base is None else source._base)


@rule_for(np.transpose, np.permute_dims)
def _transposed(batch: Batch, function: Any, a: Any, axes: Any = None) -> Any:
    order = range(a.ndim)[::-1] if axes is None else axes
    return view(a, np.transpose(a.values, (0, *[further(axis, a.ndim) for axis in order])))


@rule_for(np.swapaxes)
def _swapped(batch: Batch, function: Any, a: Any, axis1: int, axis2: int) -> Any:
    return view(a, np.swapaxes(a.values, further(axis1, a.ndim), further(axis2, a.ndim)))


@rule_for(np.moveaxis)
def _moved(batch: Batch, function: Any, a: Any, source: Any, destination: Any) -> Any:
    return view(
        a, np.moveaxis(a.values, all_further(source, a.ndim), all_further(destination, a.ndim))
    )


@rule_for(np.matrix_transpose, np.linalg.matrix_transpose)
def _matrices_transposed(batch: Batch, function: Any, x: Any) -> Any:
    return view(x, np.swapaxes(x.values, further(-1, x.ndim), further(-2, x.ndim)))


@rule_for(np.expand_dims)
def _expanded(batch: Batch, function: Any, a: Any, axis: Any) -> Any:
    count = a.ndim + (len(axis) if isinstance(axis, tuple | list) else 1)
    return view(a, np.expand_dims(a.values, all_further(axis, count)))


@rule_for(np.squeeze)
def _squeezed(batch: Batch, function: Any, a: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple([k for k, length in enumerate(a.shape) if length == 1])
    return view(a, np.squeeze(a.values, all_further(axis, a.ndim)))


@rule_for(np.broadcast_to)
def _broadcast(batch: Batch, function: Any, array: Any, shape: Any, subok: bool = False) -> Any:
    shape = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    return view(array, np.broadcast_to(at_rank(array, len(shape)), (batch.size, *shape)))


@rule_for(np.flip)
def _flipped(batch: Batch, function: Any, m: Any, axis: Any = None) -> Any:
    return view(m, np.flip(m.values, all_further(axis, m.ndim)))


@rule_for(np.diagonal)
def _diagonal(
    batch: Batch, function: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Any:
    found = np.diagonal(a.values, offset, further(axis1, a.ndim), further(axis2, a.ndim))
    if a.values.flags.writeable and not found.flags.writeable:
        found.flags.writeable = True  # as kernels do themselves, which see one sample's flags
    return view(a, found)


@rule_for(np.split, np.array_split)
def _split(batch: Batch, function: Any, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    parts = function(ary.values, indices_or_sections, further(axis, ary.ndim))
    return [view(ary, part) for part in parts]


@rule_for(np.reshape)
def _reshaped(
    batch: Batch, function: Any, a: Any, shape: Any = None, order: Any = "C", **options: Any
) -> Any:
    if order != "C":
        return looped(batch, function, a, shape, order, **options)
    shape = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if -1 in shape:
        shape = _resolved(shape, a.size)
    return view(a, a.values.reshape((batch.size, *shape), **options))


def _resolved(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape with -1 replaced by what is left of the size."""
    rest = 1
    for length in shape:
        rest *= 1 if length == -1 else length
    if rest == 0 or size % rest:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return tuple([size // rest if length == -1 else length for length in shape])


@rule_for(np.ravel)
def _raveled(batch: Batch, function: Any, a: Any, order: Any = "C") -> Any:
    return _reshaped(batch, function, a, (a.size,), order)


@rule_for(np.real, np.imag)
def _part_of_complex(batch: Batch, function: Any, val: Any) -> Any:
    return view(val, function(val.values))


@rule_for(as_strided)
def _strided(batch: Batch, function: Any, array: Any, shape: Any, strides: Any) -> Any:
    held = array.values
    return view(array, as_strided(held, (batch.size, *shape), (held.strides[0], *strides)))


@rule_for(np.lib.stride_tricks.sliding_window_view)
def _windows(
    batch: Batch, function: Any, x: Any, window_shape: Any, axis: Any = None, **more: Any
) -> Any:
    return view(x, function(x.values, window_shape, axis=all_further(axis, x.ndim), **more))


# --- copies ------------------------------------------------------------------------------------


@rule_for(np.copy)
def _copied(batch: Batch, function: Any, a: Any, order: Any = "K", **more: Any) -> Any:
    return BatchedArray(np.copy(a.values, order), batch)


@rule_for(np.astype)
def _converted(batch: Batch, function: Any, x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    values = np.astype(x.values, dtype, copy=copy)
    return x if values is x.values else BatchedArray(values, batch)


@rule_for(np.zeros_like, np.ones_like, np.empty_like)
def _made_like(
    batch: Batch, function: Any, a: Any, dtype: Any = None, order: Any = "K", subok: bool = True,
    shape: Any = None, **more: Any,
) -> Any:  # fmt: skip
    size = a.shape if shape is None else (shape if isinstance(shape, Sequence) else (shape,))
    made = function(a.values, dtype=dtype, order=order, shape=(batch.size, *size))
    return BatchedArray(made, batch)


@rule_for(np.full_like)
def _filled_like(
    batch: Batch, function: Any, a: Any, fill_value: Any, dtype: Any = None, order: Any = "K",
    subok: bool = True, shape: Any = None, **more: Any,
) -> Any:  # fmt: skip
    if not belongs(a, batch):
        return looped(batch, function, a, fill_value, dtype, order, subok, shape)
    made = _made_like(batch, np.empty_like, a, dtype, order, subok, shape)
    made[...] = fill_value
    return made


@rule_for(np.concatenate, np.concat)
def _concatenated(batch: Batch, function: Any, arrays: Any, axis: Any = 0, **options: Any) -> Any:
    if axis is None or options.get("out") is not None:
        return looped(batch, function, arrays, axis, **options)
    parts = [full(batch, array) for array in arrays]
    return BatchedArray(function(parts, further(axis, parts[0].ndim - 1), **options), batch)


@rule_for(np.stack)
def _stacked(batch: Batch, function: Any, arrays: Any, axis: int = 0, **options: Any) -> Any:
    parts = [full(batch, array) for array in arrays]
    return BatchedArray(np.stack(parts, further(axis, parts[0].ndim), **options), batch)


@rule_for(np.repeat)
def _repeated(batch: Batch, function: Any, a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None or not belongs(a, batch) or belongs(repeats, batch):
        return looped(batch, function, a, repeats, axis)
    return BatchedArray(np.repeat(a.values, repeats, further(axis, a.ndim)), batch)


@rule_for(np.roll)
def _rolled(batch: Batch, function: Any, a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return looped(batch, function, a, shift, axis)
    return BatchedArray(np.roll(a.values, shift, all_further(axis, a.ndim)), batch)


@rule_for(np.tril, np.triu)
def _triangle(batch: Batch, function: Any, m: Any, k: int = 0) -> Any:
    if m.ndim < 2:
        return looped(batch, function, m, k)
    return BatchedArray(function(m.values, k), batch)
