"""Windows that slide over the last dimensions of arrays: their sizes, sums and maxima."""

from __future__ import annotations

import functools
import math
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from lamina import errors
from lamina.codegen.kernels.serving import serves
from lamina.codegen.later import Later
from lamina.core.arguments import whole_numbers
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.axes import rows_first
from lamina.ops.constants import constant_like
from lamina.ops.planes import from_planes

if TYPE_CHECKING:
    from lamina.codegen.kernels import pooling as native_pooling
else:
    native_pooling = Later("lamina.codegen.kernels.pooling")

LEAST_WORK: Final = 1 << 14
"""From how many elements on machine code is used, if it can be made."""


class Windows(NamedTuple):
    """Windows over spatial dimensions; each field has one entry for each dimension."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil_mode: bool

    def counts(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """How many windows fit in each dimension."""
        return _counts(self, sizes)

    def reach(self, k: int) -> int:
        """From a window's first element to behind its last, in dimension `k`."""
        return self.dilation[k] * (self.size[k] - 1) + 1

    def widths(self, sizes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """How much must be put before and after each dimension for all windows to fit.

        Empty if that is nothing.
        """
        return _widths(self, sizes)


# What depends on sizes alone is remembered: it takes longer than the work on few elements.


@functools.lru_cache(256)
def _counts(windows: Windows, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(_count(windows, size, k) for k, size in enumerate(sizes))


def _count(windows: Windows, size: int, k: int) -> int:
    room = size + 2 * windows.padding[k] - windows.reach(k)
    stride = windows.stride[k]
    if not windows.ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    # The last window must start inside the input or the padding before it.
    return count - ((count - 1) * stride >= size + windows.padding[k])


@functools.lru_cache(256)
def _widths(windows: Windows, sizes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    counts = windows.counts(sizes)
    found = tuple(
        (p, max((n - 1) * s + windows.reach(k) - size - p, 0))
        for k, (size, n, s, p) in enumerate(
            zip(sizes, counts, windows.stride, windows.padding, strict=True)
        )
    )
    return found if any(map(any, found)) else ()


@functools.lru_cache(256)
def _along(windows: Windows, k: int, count: int) -> tuple[Any, ...]:
    """The index of each element of all `count` windows along dimension `k`."""
    step, after = windows.dilation[k], [slice(None)] * (len(windows.size) - 1 - k)
    span = windows.stride[k] * (count - 1) + 1
    starts = range(0, windows.size[k] * step, step)
    return tuple((..., slice(j, j + span, windows.stride[k]), *after) for j in starts)


@functools.lru_cache(256)
def _every(windows: Windows, counts: tuple[int, ...]) -> tuple[Any, ...]:
    """The index of each element of all windows."""
    each = [_along(windows, k, count) for k, count in enumerate(counts)]
    return tuple((..., *(index[1] for index in chosen)) for chosen in product(*each))


def padded(array: Any, widths: tuple[tuple[int, int], ...], fill: Any) -> Any:
    """The array with `fill` around its last dimensions."""
    if not widths:
        return array
    lead = array.ndim - len(widths)
    sizes = array.shape[lead:]
    full = [before + size + after for (before, after), size in zip(widths, sizes, strict=True)]
    made: Any = np.full_like(array, fill, shape=(*array.shape[:lead], *full), order="C")
    inner = (slice(w[0], w[0] + size) for w, size in zip(widths, sizes, strict=True))
    made[(..., *inner)] = array
    return made


def lowest(array: Any) -> Any:
    """What is not more than any element of this dtype."""
    if array.dtype.kind in "fV":
        return -math.inf
    return False if array.dtype.kind == "b" else int(np.iinfo(array.dtype).min)


def windowed(kind: Any) -> Any:
    """The rule for a result with one element for each window."""

    def rule(array: Any, windows: Windows, *args: Any) -> Any:
        lead = array.ndim - len(windows.size)
        shape = (*array.shape[:lead], *windows.counts(array.shape[lead:]))
        return fresh(shape, array.dtype if kind is None else kind)

    return rule


def for_native(windows: Windows, counts: tuple[int, ...]) -> native_pooling.Windows:
    """The windows as machine code wants them."""
    return native_pooling.Windows(*windows[:4], counts)


@array_function(windowed(None))
def maximum_in(array: Any, windows: Windows) -> Any:
    """The largest element of each window."""
    sizes = array.shape[array.ndim - len(windows.size) :]
    counts = windows.counts(sizes)
    if serves(array.size, LEAST_WORK, array):
        places = _places(windows, sizes, counts)
        return native_pooling.largest(array, for_native(windows, counts), places, True, False)[0]
    return _folded(np.maximum, padded(array, windows.widths(sizes), lowest(array)), windows, counts)


def _folded(join: np.ufunc, array: Any, windows: Windows, counts: tuple[int, ...]) -> Any:
    """The elements of each window, joined along one dimension after the other."""
    for k, count in enumerate(counts):
        first, *others = _along(windows, k, count)
        total = array[first].copy()
        for index in others:
            join(total, array[index], out=total)
        array = total
    return array


@array_function(windowed(np.int64))
def position_of_maximum(array: Any, windows: Windows) -> Any:
    """Where the largest element of each window is: its index in the flattened dimensions."""
    rank = len(windows.size)
    sizes = array.shape[array.ndim - rank :]
    counts = windows.counts(sizes)
    if serves(array.size, LEAST_WORK, array):
        places = _places(windows, sizes, counts)
        return native_pooling.largest(array, for_native(windows, counts), places, False, True)[1]
    widths = windows.widths(sizes)
    choice = None if widths else _first_largest(array, windows, counts)
    if choice is None:
        choice = _choice(padded(array, widths, lowest(array)), windows, counts)
    starts, steps = _flat_places(windows, sizes, counts)
    return constant_like(array, starts) + constant_like(array, steps)[choice]


@array_function(
    lambda array, windows: (windowed(None)(array, windows), windowed(np.int64)(array, windows))
)
def maximum_and_position(array: Any, windows: Windows) -> tuple[Any, Any]:
    """Both: machine code finds them together."""
    rank = len(windows.size)
    if serves(array.size, LEAST_WORK, array):
        sizes = array.shape[array.ndim - rank :]
        counts = windows.counts(sizes)
        places = _places(windows, sizes, counts)
        return native_pooling.largest(array, for_native(windows, counts), places, True, True)
    positions = position_of_maximum(array, windows)
    return from_planes(array, positions, rank), positions


def _first_largest(array: Any, windows: Windows, counts: tuple[int, ...]) -> Any:
    """The number of each window's largest element; None if it is not found so quickly.

    Of several NaN the last one would be right, and elements in memory must be there to be seen.
    """
    if array.__class__ is not np.ndarray or array.dtype.kind not in "fiu" or not array.size:
        return None
    every = _every(windows, counts)
    found = np.empty((len(every), *array.shape[: array.ndim - len(counts)], *counts), array.dtype)
    for number, index in enumerate(every):
        found[number] = array[index]
    most = np.maximum.reduce(found, axis=None)
    return found.argmax(0) if most == most else None


def _choice(array: Any, windows: Windows, counts: tuple[int, ...]) -> Any:
    """The number of each window's largest element; the padding is never it."""
    best: Any = None
    choice: Any = None
    for number, index in enumerate(_every(windows, counts)):
        # A copy, since elements that lie apart would be slow to read several times.
        found = array[index].copy("C")
        if best is None:
            best = found
            first = constant_like(array, _first_inside(windows, counts))
            choice = np.zeros_like(found, dtype=np.int64) + first
            continue
        better = found > best
        if found.dtype.kind == "f":
            better |= found != found
        choice = np.where(better, number, choice)
        best = np.maximum(best, found, out=best)
    return choice


def _first_inside(windows: Windows, counts: tuple[int, ...]) -> Any:
    """The number of each window's first element that is not in the padding."""
    first: Any = 0
    for k, count in enumerate(counts):
        starts = np.arange(count) * windows.stride[k] - windows.padding[k]
        own = -(np.minimum(starts, 0) // windows.dilation[k])
        first = first * windows.size[k] + own.reshape(-1, *[1] * (len(counts) - 1 - k))
    return first


@functools.lru_cache(256)
def _flat_places(
    windows: Windows, sizes: tuple[int, ...], counts: tuple[int, ...]
) -> tuple[Any, Any]:
    """In flattened dimensions: where windows start, and how far from there each element is."""
    starts: Any = 0
    steps: Any = 0
    for k, size in enumerate(sizes):
        after = [1] * (len(sizes) - 1 - k)
        own = np.arange(counts[k]) * windows.stride[k] - windows.padding[k]
        starts = starts * size + own.reshape(-1, *after)
        steps = steps * size + (np.arange(windows.size[k]) * windows.dilation[k]).reshape(
            -1, *after
        )
    return starts, steps.reshape(-1)


@functools.lru_cache(256)
def _places(
    windows: Windows, sizes: tuple[int, ...], counts: tuple[int, ...]
) -> native_pooling.Places:
    """The same as tables for machine code."""
    starts, steps = _flat_places(windows, sizes, counts)
    first = np.broadcast_to(_first_inside(windows, counts), counts)
    return native_pooling.Places(starts.reshape(-1), steps, steps[first].reshape(-1))


def sums_in(array: Any, windows: Windows) -> Any:
    """The sum of each window, one dimension after the other."""
    rank = len(windows.size)
    sizes = array.shape[array.ndim - rank :]
    return _folded(np.add, padded(array, windows.widths(sizes), 0), windows, windows.counts(sizes))


def spread_sums(gradient: Any, windows: Windows, sizes: tuple[int, ...]) -> Any:
    """The transpose of `sums_in`: each window's number is added to all elements of it."""
    rank = len(windows.size)
    counts = windows.counts(sizes)
    widths = windows.widths(sizes)
    for k in reversed(range(rank)):
        shape = list(gradient.shape)
        shape[gradient.ndim - rank + k] = sizes[k] + (sum(widths[k]) if widths else 0)
        made = np.zeros_like(gradient, shape=tuple(shape), order="C")
        for index in _along(windows, k, counts[k]):
            made[index] += gradient
        gradient = made
    if not widths:
        return gradient
    inner = (slice(w[0], w[0] + size) for w, size in zip(widths, sizes, strict=True))
    return rows_first(gradient[(..., *inner)])


def window_counts(
    windows: Windows, sizes: tuple[int, ...], include_pad: bool, kind: np.dtype[Any]
) -> list[Any]:
    """How many elements the mean of a window is over, along each dimension."""
    found = []
    for k, size in enumerate(sizes):
        first, last = (-windows.padding[k], size + windows.padding[k])
        numbers = []
        for i in range(windows.counts(sizes)[k]):
            start = i * windows.stride[k] - windows.padding[k]
            end = min(start + windows.size[k], last)
            numbers.append(
                end - max(start, first) if include_pad else min(end, size) - max(start, 0)
            )
        found.append(np.array(numbers, kind).reshape(-1, *[1] * (len(sizes) - 1 - k)))
    return found


def per_dimension(value: Any, rank: int, name: str, caller: str) -> tuple[int, ...]:
    """One number for each of `rank` dimensions, from as many or from one for all."""
    if value.__class__ is int:
        return (value,) * rank
    if value.__class__ is tuple and len(value) == rank and all(n.__class__ is int for n in value):
        return value
    sizes = whole_numbers(caller, name, value)
    if len(sizes) == 1:
        return sizes * rank
    if len(sizes) != rank:
        raise errors.InvalidArgument(
            f"{caller}: {name} must either be a single int, or a tuple of {rank} ints"
        )
    return sizes


def windows_of(
    caller: str, rank: int, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Windows:
    """Windows from the arguments of a pooling function, checked."""
    size = per_dimension(size, rank, "kernel_size", caller)
    empty = stride is None or (hasattr(stride, "__len__") and not len(stride))
    return _checked(
        caller,
        size,
        size if empty else per_dimension(stride, rank, "stride", caller),
        per_dimension(padding, rank, "padding", caller),
        per_dimension(dilation, rank, "dilation", caller),
        bool(ceil_mode),
    )


@functools.lru_cache(256)
def _checked(caller: str, *given: Any) -> Windows:
    windows = Windows(*given)
    if min(windows.size) <= 0 or min(windows.stride) <= 0 or min(windows.dilation) <= 0:
        raise errors.InvalidArgument(
            f"{caller}: kernel size, stride and dilation should be greater than zero"
        )
    for k, padding_size in enumerate(windows.padding):
        if padding_size < 0 or padding_size > windows.reach(k) // 2:
            raise errors.InvalidArgument(
                f"{caller}: pad should be at most half of effective kernel size, but got "
                f"pad={padding_size}, kernel_size={windows.size[k]} and dilation="
                f"{windows.dilation[k]}"
            )
    return windows


@functools.lru_cache(256)
def check_room(caller: str, shape: tuple[int, ...], windows: Windows) -> None:
    """Raise unless the input has the right number of dimensions, and every window fits."""
    rank = len(windows.size)
    if len(shape) not in (rank + 1, rank + 2):
        raise errors.InvalidArgument(
            f"{caller}: Expected {rank + 1}D or {rank + 2}D input, but got size {list(shape)}"
        )
    if min(windows.counts(shape[-rank:])) < 1:
        raise errors.InvalidArgument(
            f"{caller}: Given input size: {list(shape)}, output size is too small: "
            f"{list(windows.counts(shape[-rank:]))}"
        )
