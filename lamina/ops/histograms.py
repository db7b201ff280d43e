"""Counts of elements by value or by bin."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.op import NOT_WRITTEN
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops import results


def _bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    place = [(this_place(), "called here")]
    if input.dtype.kind not in "iu":
        raise errors.NotImplementedForDtype(
            f"bincount is not implemented for {dtypes.from_numpy(input.dtype)}", place
        )
    if minlength < 0:
        raise errors.InvalidArgument("minlength should be >= 0", place)
    if input.ndim != 1 or (input.size and np.min(input) < 0):
        raise errors.InvalidArgument(
            "bincount only supports 1-d non-negative integral inputs.", place
        )
    found = np.bincount(input, weights, minlength)
    if weights is not None:
        kind = np.float32 if weights.dtype.name == "float32" else np.float64
        return found.astype(kind)
    return found.astype(np.int64)


bincount = operation(
    "bincount",
    _bincount,
    tensors="input ?weights",
    grad={"weights": NOT_WRITTEN},
    node_name="NotImplemented",
    samples=lambda make: [sample(make.integers(7)), sample(make.integers(7), make(7))],
    doc="How often each number from 0 up occurs, or the sum of its weights.",
)


def _limits(
    input: Any, low: float, high: float, is_free: bool, margin: float, name: str
) -> tuple[float, float]:
    """The first and the last edge: those of the data if free; a margin around a single value."""
    if is_free and input.size:
        low, high = float(np.min(input)), float(np.max(input))
    if low == high:
        low, high = low - margin, high + margin
    if not (np.isfinite(low) and np.isfinite(high)):
        raise errors.InvalidArgument(
            f"{name}: range of [{low}, {high}] is not finite", [(this_place(), "called here")]
        )
    if low > high:
        raise errors.InvalidArgument(
            f"{name}: max must be larger than min, got [{low}, {high}]",
            [(this_place(), "called here")],
        )
    return low, high


def _histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    if input.dtype.kind != "f":
        raise errors.NotImplementedForDtype(
            f"histc is not implemented for {dtypes.from_numpy(input.dtype)}",
            [(this_place(), "called here")],
        )
    bins = operator.index(bins)
    if bins <= 0:
        raise errors.InvalidArgument("bins must be > 0", [(this_place(), "called here")])
    low, high = _limits(input, float(min), float(max), min == max, 1.0, "histc")
    flat = np.ravel(input)
    flat = flat[(flat >= low) & (flat <= high)]
    places = ((flat - low) * bins / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), None, bins).astype(input.dtype)


histc = operation(
    "histc",
    _histc,
    samples=lambda make: [sample(make(20), 4, -2, 2)],
    doc="How many elements fall into each of equally wide bins.",
)


def _histogram(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    return _counted(input, _edges(input, bins, range), weight, density)


def _edges(input: Any, bins: int, limits: Any) -> Any:
    if input.dtype.kind != "f":
        raise errors.NotImplementedForDtype(
            f"histogram is not implemented for {dtypes.from_numpy(input.dtype)}",
            [(this_place(), "called here")],
        )
    low, high = (0.0, 1.0) if limits is None else limits
    low, high = _limits(input, float(low), float(high), limits is None, 0.5, "histogram")
    return np.linspace(low, high, bins + 1).astype(input.dtype)


def _counted(input: Any, edges: Any, weight: Any, density: bool) -> Any:
    bins = edges.shape[0] - 1
    flat = np.ravel(input)
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    places = np.minimum(np.searchsorted(edges, flat[inside], side="right") - 1, bins - 1)
    weights = None if weight is None else np.ravel(weight)[inside]
    counts = np.bincount(places, weights, bins).astype(input.dtype)
    if density:
        counts = counts / np.sum(counts) / (edges[1:] - edges[:-1])
    return counts, edges


def _histogram_of_edges(input: Any, bins: Any, *, weight: Any = None, density: bool = False) -> Any:
    return _counted(input, bins, weight, density)


_by_number = operation(
    "histogram",
    _histogram,
    tensors="input ?weight",
    result=results.histogram,
    samples=lambda make: [],
    doc="The counts in equally wide bins, and the bins' edges.",
)
_by_edges = operation(
    "histogram_of_edges",
    _histogram_of_edges,
    tensors="input bins ?weight",
    result=results.histogram,
    samples=lambda make: [],
    doc="The counts in bins of given edges, and these.",
)


@native
def histogram(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False,
    out: Any = None,
) -> Any:  # fmt: skip
    """The counts of elements in bins, and the bins' edges.

    Args:
        input: The tensor; all its elements are counted.
        bins: How many equally wide bins; or a tensor with their edges.
        range: The first and last edge; those of the data if None.
        weight: How much each element counts.
        density: Whether to give a density, whose integral is 1, instead of counts.
        out: Where to write both.

    >>> import lamina
    >>> lamina.histogram(lamina.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 4.0)).hist
    tensor([2., 1.])
    """
    if isinstance(bins, Tensor):
        return _by_edges(input, bins, weight=weight, density=density, out=out)
    return _by_number(input, bins, range=range, weight=weight, density=density, out=out)


def _histogramdd(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    lines = np.moveaxis(input.reshape((-1, input.shape[-1])), -1, 0)
    number = lines.shape[0]
    counts = [bins] * number if isinstance(bins, int) else list(bins)
    limits = [None] * number if range is None else list(zip(range[::2], range[1::2], strict=True))
    return _counted_together(
        input, [_edges(*each) for each in zip(lines, counts, limits, strict=True)], weight, density
    )


def _histogramdd_of_edges(
    input: Any, bins: Any, *, weight: Any = None, density: bool = False
) -> Any:
    return _counted_together(input, list(bins), weight, density)


def _counted_together(input: Any, edges: list[Any], weight: Any, density: bool) -> Any:
    lines = np.moveaxis(input.reshape((-1, input.shape[-1])), -1, 0)
    shape = tuple(each.shape[0] - 1 for each in edges)
    inside = np.ones_like(lines[0], dtype=bool)
    place = np.zeros_like(lines[0], dtype=np.int64)
    for line, each, bins in zip(lines, edges, shape, strict=True):
        inside = inside & (line >= each[0]) & (line <= each[-1])
        at = np.searchsorted(each, line, side="right") - 1
        place = place * bins + np.minimum(at, bins - 1)
    weights = None if weight is None else np.ravel(weight)[inside]
    size = int(np.prod(shape))
    counts = np.bincount(place[inside], weights, size).astype(input.dtype).reshape(shape)
    if density:
        counts = counts / np.sum(counts)
        for axis, each in enumerate(edges):
            widths = np.diff(each).reshape((-1, *(1,) * (len(shape) - axis - 1)))
            counts = counts / widths
    return (counts, *edges)


_together_by_number = operation(
    "histogramdd",
    _histogramdd,
    tensors="input ?weight",
    samples=lambda make: [],
    doc="The counts of points in boxes, and the boxes' edges in each dimension.",
)
_together_by_edges = operation(
    "histogramdd_of_edges",
    _histogramdd_of_edges,
    tensors="input *bins ?weight",
    samples=lambda make: [],
    doc="The counts of points in boxes of given edges, and these.",
)


@native
def histogramdd(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """The counts of points in boxes; the last dimension of `input` holds their coordinates.

    Args:
        input: The points.
        bins: How many boxes along each dimension, or tensors with their edges.
        range: The first and last edge of each dimension, one pair after another.
        weight: How much each point counts.
        density: Whether to give a density, whose integral is 1, instead of counts.

    Returns:
        A named result of `hist` and the tuple `bin_edges`.
    """
    if not isinstance(bins, int) and isinstance(bins[0], Tensor):
        found = _together_by_edges(input, list(bins), weight=weight, density=density)
    else:
        found = _together_by_number(input, bins, range=range, weight=weight, density=density)
    return results.histogramdd(found[0], tuple(found[1:]))


__all__ = ["bincount", "histc", "histogram", "histogramdd"]
