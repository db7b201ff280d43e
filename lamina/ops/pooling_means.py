"""The means of windows, and what shares their gradients among the windows' elements."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina.codegen.kernels.serving import serves
from lamina.codegen.later import Later
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.constants import constant_like
from lamina.ops.pooling_windows import (
    LEAST_WORK,
    Windows,
    for_native,
    spread_sums,
    sums_in,
    window_counts,
    windowed,
)

if TYPE_CHECKING:
    from lamina.codegen.kernels import pooling as native_pooling
else:
    native_pooling = Later("lamina.codegen.kernels.pooling")


def _divisor(
    like: Any, windows: Windows, sizes: tuple[int, ...], include_pad: bool, divisor: int | None
) -> Any:
    """How many elements count in each window: a number, or an array."""
    if divisor is not None:
        return divisor
    if not windows.ceil_mode and (include_pad or not any(windows.padding)):
        return math.prod(windows.size)
    return constant_like(like, _window_sizes(windows, sizes, include_pad, like.dtype))


@functools.lru_cache(256)
def _window_sizes(
    windows: Windows, sizes: tuple[int, ...], include_pad: bool, kind: np.dtype[Any]
) -> Any:
    return math.prod(window_counts(windows, sizes, include_pad, kind))


def _divided(sums: Any, divisor: Any) -> Any:
    quotient = sums / divisor
    return np.trunc(quotient).astype(sums.dtype) if sums.dtype.kind in "iu" else quotient


@array_function(windowed(None))
def means_in(array: Any, windows: Windows, include_pad: bool, divisor: int | None) -> Any:
    """The mean of each window; `divisor` is used instead of the count of its elements."""
    sizes = array.shape[array.ndim - len(windows.size) :]
    divisor = _divisor(array, windows, sizes, include_pad, divisor)
    if serves(array.size, LEAST_WORK, array):
        return native_pooling.means(array, for_native(windows, windows.counts(sizes)), divisor)
    return _divided(sums_in(array, windows), divisor)


def _spread_rule(
    gradient: Any, windows: Windows, include_pad: bool, divisor: Any, sizes: tuple[int, ...]
) -> Any:
    return fresh((*gradient.shape[: gradient.ndim - len(sizes)], *sizes), gradient.dtype)


@array_function(_spread_rule)
def spread_means(
    gradient: Any, windows: Windows, include_pad: bool, divisor: Any, sizes: tuple[int, ...]
) -> Any:
    """The gradients of means, shared among the elements of the windows."""
    counted = _divisor(gradient, windows, sizes, include_pad, divisor)
    shares = _divided(gradient, counted)
    if serves(shares.size, LEAST_WORK, shares):
        own = for_native(windows, windows.counts(sizes))
        return native_pooling.spread(shares, own, sizes)
    return spread_sums(shares, windows, sizes)
