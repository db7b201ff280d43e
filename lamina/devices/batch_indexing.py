"""How indexing, and what chooses by indices, run on all samples of a batch at once.

Where arrays are among the indices, one more is put before them that counts the samples. NumPy then
puts the axes of the index first; they are moved to where one sample would have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.devices.batch_rules import at_rank, full, further, rule_for, view
from lamina.devices.batched import Batch, BatchedArray, belongs, differs, looped
from lamina.devices.dispatched import DispatchedArray, get_item, set_item


def _listed(index: Any, ndim: int) -> list[Any]:
    """The entries of an index, with `...` written out."""
    entries = list(index) if isinstance(index, tuple) else [index]
    taken = sum(_axes_of(entry) for entry in entries)
    places = [k for k, entry in enumerate(entries) if entry is Ellipsis]
    if not places:
        return entries + [slice(None)] * (ndim - taken)
    place = places[0]
    return [*entries[:place], *[slice(None)] * (ndim - taken), *entries[place + 1 :]]


def _axes_of(entry: Any) -> int:
    """How many axes an entry of an index takes."""
    if entry is None or entry is Ellipsis:
        return 0
    return int(entry.ndim) if _is_mask(entry) else 1


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, np.ndarray | DispatchedArray) and entry.dtype == np.bool_


def _is_array(entry: Any) -> bool:
    return isinstance(entry, np.ndarray | DispatchedArray)


def _with_positions(batch: Batch, entries: list[Any]) -> list[Any]:
    """The entries with masks that are the same for all samples as arrays of positions."""
    found: list[Any] = []
    for entry in entries:
        if _is_mask(entry):
            if belongs(entry, batch):
                raise differs(batch, "indexing with a mask")
            found += np.nonzero(entry)
        else:
            found.append(np.asarray(entry) if isinstance(entry, list | range) else entry)
    return found


class _Chosen:
    """An index with arrays, made ready for the array that holds all samples."""

    def __init__(self, batch: Batch, entries: list[Any], holds_samples: bool) -> None:
        places = [
            k for k, entry in enumerate(entries) if _is_array(entry) or isinstance(entry, int)
        ]
        arrays = [entries[k] for k in places]
        self.width = max([entry.ndim for entry in arrays if not isinstance(entry, int)], default=0)
        is_together = places == list(range(places[0], places[-1] + 1))
        # Where one sample has the axes of the index: after those of slices before it.
        self.place = places[0] if is_together else 0
        if is_together:
            self.place = sum(1 for entry in entries[: places[0]] if not isinstance(entry, int))
        ready = [self._ready(batch, entry) for entry in entries]
        if holds_samples:
            count = np.arange(batch.size).reshape(-1, *[1] * self.width)
            ready = [count, *ready]
        self.index = tuple(ready)
        # Without slices or new axes between them, NumPy leaves the axes of arrays where they are.
        positions = [
            k for k, entry in enumerate(ready) if not isinstance(entry, slice) and entry is not None
        ]
        is_together = positions == list(range(positions[0], positions[-1] + 1))
        self.first = positions[0] if is_together else 0

    def _ready(self, batch: Batch, entry: Any) -> Any:
        return at_rank(entry, self.width) if belongs(entry, batch) else entry

    def forth(self, values: Any) -> Any:
        """What NumPy chose, with its axes as one sample would have them, behind the samples."""
        count = self.width + 1
        source = tuple(range(self.first, self.first + count))
        target = (0, *range(self.place + 1, self.place + count))
        return np.moveaxis(values, source, target)

    def back(self, values: Any) -> Any:
        """The opposite of `forth`."""
        count = self.width + 1
        source = tuple(range(self.first, self.first + count))
        target = (0, *range(self.place + 1, self.place + count))
        return np.moveaxis(values, target, source)


@rule_for(get_item)
def _chosen(batch: Batch, function: Any, array: Any, index: Any) -> Any:
    """`array[index]`, where either has samples."""
    entries = _with_positions(batch, _listed(index, array.ndim))
    if not any(_is_array(entry) for entry in entries):
        return view(array, array.values[(slice(None), *entries)])
    holds = belongs(array, batch)
    if not holds and not any(belongs(entry, batch) for entry in entries):
        return array[tuple(entries)]
    where = _Chosen(batch, entries, holds)
    return BatchedArray(where.forth((array.values if holds else array)[where.index]), batch)


@rule_for(set_item)
def _written(batch: Batch, function: Any, array: Any, index: Any, value: Any) -> None:
    """`array[index] = value`; the array has samples."""
    entries = _with_positions(batch, _listed(index, array.ndim))
    held = array.values
    if not any(_is_array(entry) for entry in entries):
        target = held[(slice(None), *entries)]
        target[...] = _fitting(batch, value, target.ndim - 1)
        return
    where = _Chosen(batch, entries, holds_samples=True)
    if belongs(value, batch):
        shape = where.forth(held[where.index]).shape
        value = where.back(np.broadcast_to(_fitting(batch, value, len(shape) - 1), shape))
    elif np.ndim(value):
        shape = where.forth(held[where.index]).shape
        value = where.back(np.broadcast_to(value, shape))
    held[where.index] = value


def _fitting(batch: Batch, value: Any, ndim: int) -> Any:
    """A value to be written where there are `ndim` axes behind the samples."""
    if not belongs(value, batch):
        return value
    if value.ndim > ndim:  # NumPy lets axes of length 1 in front be too many
        return value.values.reshape(batch.size, *value.shape[value.ndim - ndim :])
    return at_rank(value, ndim)


@rule_for(np.copyto)
def _copied_to(batch: Batch, function: Any, dst: Any, src: Any, **options: Any) -> None:
    if belongs(options.get("where"), batch):
        options["where"] = at_rank(options["where"], dst.ndim)
    np.copyto(dst.values, _fitting(batch, src, dst.ndim), **options)


@rule_for(np.take)
def _taken(
    batch: Batch, function: Any, a: Any, indices: Any, axis: Any = None, **options: Any
) -> Any:
    if options.get("out") is not None or not belongs(a, batch) or belongs(indices, batch):
        return looped(batch, function, a, indices, axis, **options)
    if axis is None:
        return BatchedArray(np.take(a.values.reshape(batch.size, -1), indices, 1, **options), batch)
    return BatchedArray(np.take(a.values, indices, further(axis, a.ndim), **options), batch)


@rule_for(np.take_along_axis)
def _taken_along(batch: Batch, function: Any, arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return looped(batch, function, arr, indices, axis)
    place = further(axis, arr.ndim)
    return BatchedArray(np.take_along_axis(full(batch, arr), full(batch, indices), place), batch)


@rule_for(np.put_along_axis)
def _put_along(batch: Batch, function: Any, arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if axis is None:
        looped(batch, function, arr, indices, values, axis)
        return
    values = at_rank(values, arr.ndim) if belongs(values, batch) else values
    np.put_along_axis(arr.values, full(batch, indices), values, further(axis, arr.ndim))
