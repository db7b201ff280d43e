"""How kernels that are functions of their own run on all samples of a batch at once (`vmap`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.devices.batch_rules import aligned, at_rank, full, further, rule_for
from lamina.devices.batched import Batch, BatchedArray, belongs, looped
from lamina.devices.dispatched import get_item
from lamina.ops import (
    attention_kernels,
    convolution_kernels,
    cumulative_kernels,
    planes,
    pooling_means,
    pooling_windows,
    row_kernels,
    sorting_kernels,
)


def _each(batch: Batch, result: Any) -> Any:
    """The results of one call for all samples."""
    if isinstance(result, tuple):
        return tuple([BatchedArray(part, batch) for part in result])
    return BatchedArray(result, batch)


# --- along an axis -------------------------------------------------------------------------------


@rule_for(
    sorting_kernels.sorted_along, sorting_kernels.top_along, sorting_kernels.places_around,
    cumulative_kernels.running_extremes,
)  # fmt: skip
def _along(batch: Batch, function: Any, line: Any, axis: int, *more: Any) -> Any:
    return _each(batch, function(line.values, further(axis, line.ndim), *more))


@rule_for(cumulative_kernels.running)
def _running(
    batch: Batch, function: Any, operation: str, line: Any, axis: int, *more: Any, **options: Any
) -> Any:
    place = further(axis, line.ndim)
    return _each(batch, function(operation, line.values, place, *more, **options))


# --- the last dimensions, whatever stands before them --------------------------------------------


@rule_for(
    pooling_windows.maximum_in, pooling_windows.position_of_maximum, pooling_means.means_in,
    pooling_means.spread_means,
)  # fmt: skip
def _of_last(batch: Batch, function: Any, array: Any, *more: Any) -> Any:
    return _each(batch, function(array.values, *more))


@rule_for(planes.scatter_in_planes)
def _scattered(batch: Batch, function: Any, input: Any, indices: Any, sizes: Any) -> Any:
    return _each(batch, function(full(batch, input), full(batch, indices), sizes))


# --- rows and elements by index ------------------------------------------------------------------


@rule_for(row_kernels.taken_rows)
def _taken_rows(batch: Batch, function: Any, table: Any, index: Any, axis: int) -> Any:
    if not belongs(index, batch):
        return _each(batch, function(table.values, index, further(axis, table.ndim)))
    if not belongs(table, batch):
        found = function(table, index.values, axis)
        return BatchedArray(np.moveaxis(found, axis % table.ndim, 0), batch)
    key = (*[slice(None)] * (axis % table.ndim), index)
    return table._apply(get_item, (table, key), {})


@rule_for(row_kernels.summed_rows)
def _summed_rows(
    batch: Batch, function: Any, listed: Any, index: Any, axis: int, shape: Any, kind: Any
) -> Any:
    """Rows of all samples in one table: those of a sample come after those of the ones before."""
    if axis != 0:
        return looped(batch, function, listed, index, axis, shape, kind)
    size, rows = batch.size, shape[0]
    given = np.ascontiguousarray(full(batch, listed)).reshape(-1, *shape[1:])
    made = function(given, _apart(batch, index, rows), 0, (size * rows, *shape[1:]), kind)
    return BatchedArray(made.reshape(size, *shape), batch)


@rule_for(row_kernels.with_rows_added)
def _with_rows_added(
    batch: Batch, function: Any, table: Any, index: Any, axis: int, listed: Any
) -> Any:
    if axis != 0:
        return looped(batch, function, table, index, axis, listed)
    size, shape = batch.size, table.shape
    whole = np.ascontiguousarray(full(batch, table)).reshape(-1, *shape[1:])
    given = np.ascontiguousarray(full(batch, listed)).reshape(-1, *shape[1:])
    made = function(whole, _apart(batch, index, shape[0]), 0, given)
    return BatchedArray(made.reshape(size, *shape), batch)


def _apart(batch: Batch, index: Any, rows: int) -> Any:
    """Numbers of rows, as those of all samples in one table."""
    numbers = full(batch, index).reshape(batch.size, -1)
    return (numbers + np.arange(batch.size)[:, None] * rows).reshape(-1)


@rule_for(row_kernels.taken_along)
def _taken_along(batch: Batch, function: Any, table: Any, index: Any, axis: int) -> Any:
    place = further(axis, table.ndim)
    return _each(batch, function(full(batch, table), full(batch, index), place))


@rule_for(row_kernels.with_added_along)
def _with_added_along(
    batch: Batch, function: Any, table: Any, index: Any, axis: int, listed: Any
) -> Any:
    place = further(axis, table.ndim)
    held = [full(batch, each) for each in (table, index, listed)]
    return _each(batch, function(held[0], held[1], place, held[2]))


@rule_for(row_kernels.summed_along)
def _summed_along(
    batch: Batch, function: Any, listed: Any, index: Any, axis: int, shape: Any, kind: Any
) -> Any:
    place = further(axis, len(shape))
    held = [full(batch, each) for each in (listed, index)]
    return _each(batch, function(*held, place, (batch.size, *shape), kind))


# --- attention -----------------------------------------------------------------------------------


@rule_for(attention_kernels.attend_by_blocks)
def _attended(batch: Batch, function: Any, *args: Any) -> Any:
    ndim = max(np.ndim(array) for array in args)
    return _each(batch, function(*aligned(batch, args, ndim)))


@rule_for(attention_kernels.attend_by_blocks_backward)
def _attended_backward(
    batch: Batch, function: Any, gradient: Any, query: Any, key: Any, value: Any, mask: Any,
    kept: Any, result: Any, sums: Any, *more: Any,
) -> Any:  # fmt: skip
    """All with an axis of samples, so that no gradient is a sum over them."""
    matrices = gradient, query, key, value, mask, kept, result
    ndim = max(np.ndim(array) for array in matrices)
    held = [None if each is None else _of_rank(batch, each, ndim) for each in matrices]
    return _each(batch, function(*held, _of_rank(batch, sums, ndim - 1), *more))


def _of_rank(batch: Batch, array: Any, ndim: int) -> Any:
    """The samples of an array, each with `ndim` axes, also if all are the same."""
    if belongs(array, batch):
        return at_rank(array, ndim)
    return full(batch, array[(*[None] * (ndim - array.ndim), ...)])


# --- convolution ---------------------------------------------------------------------------------


@rule_for(convolution_kernels.convolve, convolution_kernels.convolve_transposed)
def _convolved(
    batch: Batch, function: Any, array: Any, weight: Any, bias: Any, geometry: Any, *more: Any
) -> Any:
    """With one weight, samples are more images; otherwise each has groups of channels."""
    if not belongs(weight, batch) and not belongs(bias, batch):
        images = array.values
        flat = images.reshape(-1, *images.shape[2:])
        made = function(flat, weight, bias, geometry, *more)
        return BatchedArray(made.reshape(batch.size, -1, *made.shape[1:]), batch)
    wide = _side_by_side(full(batch, array))
    kernels = full(batch, weight)
    kernels = kernels.reshape(-1, *kernels.shape[2:])
    biases = None if bias is None else full(batch, bias).reshape(-1)
    made = function(wide, kernels, biases, _grouped(geometry, batch), *more)
    return BatchedArray(_apart_again(made, batch), batch)


@rule_for(convolution_kernels.convolve_for_weight)
def _convolved_for_weight(
    batch: Batch, function: Any, array: Any, gradient: Any, geometry: Any, kernel: Any
) -> Any:
    wide = [_side_by_side(full(batch, each)) for each in (array, gradient)]
    made = function(*wide, _grouped(geometry, batch), kernel)
    return BatchedArray(made.reshape(batch.size, -1, *made.shape[1:]), batch)


def _side_by_side(images: Any) -> Any:
    """(B, N, C, ...) as (N, B * C, ...): the channels of all samples."""
    moved = np.moveaxis(images, 0, 1)
    return np.ascontiguousarray(moved.reshape(moved.shape[0], -1, *moved.shape[3:]))


def _apart_again(images: Any, batch: Batch) -> Any:
    """The opposite of `_side_by_side`."""
    parted = images.reshape(images.shape[0], batch.size, -1, *images.shape[2:])
    return np.moveaxis(parted, 1, 0)


def _grouped(geometry: Any, batch: Batch) -> Any:
    return geometry._replace(groups=geometry.groups * batch.size)
