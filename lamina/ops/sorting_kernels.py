"""Lines in order, with the places that their elements had: what sorting is made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.fused import is_large
from lamina.codegen.later import Later
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.axes import rows_first
from lamina.ops.indexing_rules import positions_along

if TYPE_CHECKING:
    from lamina.codegen.kernels import sorting
else:
    sorting = Later("lamina.codegen.kernels.sorting")

DIGITS_FROM: Final = {4: 2048, 8: 16384}
"""From which length on NumPy sorts a line fastest by digits of 16 bits, for bytes of a number."""

FEW: Final = 4
"""The first elements are looked for without sorting if there are so many times as many columns."""


@array_function(lambda line, axis, *_: (fresh(line.shape, line.dtype), fresh(line.shape, np.int64)))
def sorted_along(line: Any, axis: int, descending: bool = False) -> tuple[Any, Any]:
    """The elements in order along an axis, and the places that they had.

    Equal elements keep their order, whichever way is asked for. NaN is the largest number.
    """
    return _in_order(line, axis, line.shape[axis], descending)


def _in_order(line: Any, axis: int, k: int, descending: bool) -> tuple[Any, Any]:
    """The first `k` of the elements in order along an axis, and their places."""
    last = line if axis == line.ndim - 1 else line.swapaxes(axis, -1)
    if is_large(last) and sorting.can_sort(last):
        values, places = sorting.sort_last(last, descending)
        if k < line.shape[axis]:  # else they keep their memory, and a program need not copy it
            values, places = values[..., :k], places[..., :k]
    else:
        places = _places(last, descending)[..., :k]
        values = _taken(last, places)
    if last is not line:
        values, places = values.swapaxes(axis, -1), places.swapaxes(axis, -1)
    return rows_first(values), rows_first(places)


@array_function(
    lambda line, axis, k, _: tuple(
        fresh((*line.shape[:axis], k, *line.shape[axis + 1 :]), kind)
        for kind in (line.dtype, np.int64)
    )
)
def top_along(line: Any, axis: int, k: int, largest: bool) -> tuple[Any, Any]:
    """The first `k` elements in order along an axis, and the places that they had.

    Args:
        line: The elements.
        axis: The axis.
        k: How many.
        largest: Whether the largest comes first, else the smallest.
    """
    found = None
    is_few = k > 0 and FEW * _columns(k) <= line.shape[axis]
    if line.__class__ is np.ndarray and line.size and is_few:
        last = np.ascontiguousarray(line.swapaxes(axis, -1))
        found = _top(last.reshape(-1, last.shape[-1]), k, largest)
    if found is None:
        return _in_order(line, axis, k, largest)
    values, places = (each.reshape((*last.shape[:-1], k)).swapaxes(axis, -1) for each in found)
    return rows_first(values), rows_first(places)


def _top(rows: Any, k: int, largest: bool) -> tuple[Any, Any] | None:
    """The first of each row; None if it would take as long as sorting.

    Rows are seen as columns of elements. What is worse than the k-th best of the columns' best
    elements cannot be among the first k; the few others are sorted.
    """
    count, length = rows.shape
    columns = _columns(k)
    each = length // columns
    blocks = rows[:, : each * columns].reshape(count, each, columns)
    if largest:
        best = np.maximum.reduce(blocks, axis=1)
        bound = np.partition(best, columns - k, axis=1)[:, columns - k, None]
        chosen = np.flatnonzero(~(rows < bound))
    else:
        best = np.minimum.reduce(blocks, axis=1)
        bound = np.partition(best, k - 1, axis=1)[:, k - 1, None]
        chosen = np.flatnonzero(~(rows > bound))
    row = chosen // length
    counts = np.bincount(row, minlength=count)
    most = int(counts.max())
    if FEW * most > length:
        return None
    # All that were chosen, as a table that is filled up with what comes last.
    slot = np.arange(len(chosen)) - np.repeat(np.cumsum(counts) - counts, counts)
    values = np.full((count, most), _worst(rows.dtype, largest))
    places = np.zeros((count, most), np.int64)
    values[row, slot] = rows.reshape(-1)[chosen]
    places[row, slot] = chosen - row * length
    values, order = sorted_along(values, 1, largest)
    return values[:, :k], np.take_along_axis(places, order[:, :k], axis=1)


def _columns(k: int) -> int:
    return max(2 * k, 32)


def _worst(kind: Any, largest: bool) -> Any:
    """What comes last in order."""
    if kind.kind == "f":
        return kind.type(-np.inf if largest else np.nan)
    if kind.kind == "b":
        return not largest
    return np.array(np.iinfo(kind).min if largest else np.iinfo(kind).max, kind)


@array_function(lambda line, axis, _: fresh(line.shape, np.int64))
def places_around(line: Any, axis: int, position: int) -> Any:
    """Places of the elements, those before and those after a position in the order on their sides.

    Machine code sorts a line of 1024 numbers twice as fast as NumPy divides it.
    """
    if is_large(line) and sorting.can_sort(line.swapaxes(axis, -1)):
        return sorted_along(line, axis)[1]
    return np.argpartition(line, position, axis=axis)


def _places(last: Any, descending: bool) -> Any:
    """The places, found with NumPy."""
    if last.__class__ is np.ndarray and last.shape[-1] >= DIGITS_FROM.get(last.itemsize, math.inf):
        return _places_by_digits(_keys(last, descending))
    if not descending:
        return np.argsort(last, axis=-1, kind="stable")
    turned = np.argsort(last[..., ::-1], axis=-1, kind="stable")  # np.flip takes 3 us
    return last.shape[-1] - 1 - turned[..., ::-1]


def _taken(last: Any, places: Any) -> Any:
    """Elements of lines by their places; NumPy's function for it takes 8 us where there are few."""
    if last.__class__ is np.ndarray and last.flags.c_contiguous:
        return np.take(last.reshape(-1), positions_along(last.shape, places, last.ndim - 1))
    return np.take_along_axis(last, places, axis=-1)


def _keys(last: Any, descending: bool) -> Any:
    """Whole numbers without a sign that have the wanted order."""
    bits = last.dtype.itemsize * 8
    signed, unsigned = np.dtype(f"i{bits // 8}"), np.dtype(f"u{bits // 8}")
    sign = unsigned.type(1 << (bits - 1))
    if last.dtype.kind == "f":
        plain = np.where(last == 0, unsigned.type(0), last.view(unsigned))  # zeros are equal
        turned = plain.view(signed) >> signed.type(bits - 1)
        keys = plain ^ (turned.view(unsigned) | sign)
        keys[np.isnan(last)] = ~unsigned.type(0)
    elif last.dtype.kind == "i":
        keys = last.view(unsigned) ^ sign
    else:
        keys = last.view(unsigned)
    return ~keys if descending else keys


def _places_by_digits(keys: Any) -> Any:
    """Sorted by the lowest 16 bits first, then by the next: NumPy counts numbers of that width."""
    places: Any = None
    for shift in range(0, keys.itemsize * 8, 16):
        digit = (keys >> keys.dtype.type(shift)).astype(np.uint16)
        if places is not None:
            digit = np.take_along_axis(digit, places, axis=-1)
        order = np.argsort(digit, axis=-1, kind="stable")
        places = order if places is None else np.take_along_axis(places, order, axis=-1)
    return places
