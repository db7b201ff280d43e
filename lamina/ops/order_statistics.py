"""Order statistics: median, mode, the k-th value, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.autocasting import in_float32
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import Make, Sample, sample
from lamina.core.tensor import Tensor
from lamina.ops import results
from lamina.ops.axes import rows_first
from lamina.ops.extremes import shared_by_equals
from lamina.ops.reduced import (
    at_chosen,
    axis_of,
    counted_along,
    on_lines,
    refuse_complex,
    refuse_empty,
)
from lamina.ops.sorting_kernels import places_around, sorted_along


def _is_nan(input: Any) -> Any:
    return np.not_equal(input, input)


def _at(line: Any, indices: Any, axis: int, keepdim: bool, ndim: int) -> Any:
    """Values and indices as results; `indices` has length 1 along the axis."""
    values = np.take_along_axis(line, indices, axis=axis)
    if not keepdim or not ndim:
        return np.squeeze(values, axis=axis), np.squeeze(indices, axis=axis)
    return values, indices


def _slot(line: Any, axis: int, position: int) -> Any:
    """One element of each line."""
    return rows_first(line[(*(slice(None),) * axis, slice(position, position + 1))])


# --- median ------------------------------------------------------------------------------------


def _median_along_kernel(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    axis = axis_of(dim, input.ndim)
    refuse_complex("median", input)
    refuse_empty("median", input.shape, axis)
    line = on_lines(input)
    half = (line.shape[axis] - 1) // 2
    indices = _slot(places_around(line, axis, half), axis, half)
    if line.dtype.kind != "f":
        return _at(line, indices, axis, keepdim, input.ndim)
    nan = _is_nan(line)
    first = np.argmax(nan, axis=axis, keepdims=True)
    spoilt = np.logical_or.reduce(nan, axis=axis, keepdims=True)
    return _at(line, np.where(spoilt, first, indices), axis, keepdim, input.ndim)


def _nanmedian_along_kernel(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    axis = axis_of(dim, input.ndim)
    refuse_complex("nanmedian", input)
    refuse_empty("nanmedian", input.shape, axis)
    line = on_lines(input)
    order = sorted_along(line, axis)[1]
    count = np.add.reduce(np.equal(line, line), axis=axis, keepdims=True, dtype=np.int64)
    indices = np.take_along_axis(order, np.maximum(count - 1, 0) // 2, axis=axis)
    return _at(line, indices, axis, keepdim, input.ndim)


def _whole(along: Any, input: Any) -> Any:
    """The statistic of all elements; NaN of none."""
    if input.size == 0:
        kind = input.dtype
        lowest = np.nan if kind.kind == "f" else np.iinfo(kind).min
        return np.full_like(input, lowest, shape=())
    return along(np.reshape(input, (-1,)), 0)[0]


def _median_all_kernel(input: Any) -> Any:
    return _whole(_median_along_kernel, input)


def _nanmedian_all_kernel(input: Any) -> Any:
    return _whole(_nanmedian_along_kernel, input)


def _shared_by_all(F: Any, g: Any, input: Any, out: Any, input_shape: Any, input_dtype: Any) -> Any:
    return shared_by_equals(F, g, input, out, input_shape, input_dtype, None, False)


def _line_samples(make: Make) -> list[Sample]:
    return [sample(make.distinct(3, 4), 0), sample(make.distinct(3, 5), -1, True)]


_median_along = operation(
    "median_along",
    _median_along_kernel,
    grad={"input": at_chosen},
    node_name="MedianBackward1",
    result=results.median,
    samples=_line_samples,
    doc="The lower median of each line along a dimension, and its place.",
)
_median_all = operation(
    "median_all",
    _median_all_kernel,
    grad={"input": _shared_by_all},
    node_name="MedianBackward0",
    samples=lambda make: [sample(make.distinct(3, 4))],
    doc="The lower median of all elements.",
)
_nanmedian_along = operation(
    "nanmedian_along",
    _nanmedian_along_kernel,
    grad={"input": at_chosen},
    node_name="NanmedianBackward1",
    result=results.nanmedian,
    samples=_line_samples,
    doc="The lower median of each line's numbers that are not NaN, and its place.",
)
_nanmedian_all = operation(
    "nanmedian_all",
    _nanmedian_all_kernel,
    grad={"input": _shared_by_all},
    node_name="NanmedianBackward0",
    samples=lambda make: [sample(make.distinct(3, 4))],
    doc="The lower median of all numbers that are not NaN.",
)


@native
def median(input: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """The median of all elements, or of each line along a dimension with its place.

    Of an even number of elements it is the lower of the two in the middle.

    >>> import lamina
    >>> lamina.median(lamina.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    if not args and not kwargs:
        return _median_all(input, out=out)
    return _median_along(input, *args, out=out, **kwargs)


@native
def nanmedian(input: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """The median of the elements that are not NaN; see `median`."""
    if not args and not kwargs:
        return _nanmedian_all(input, out=out)
    return _nanmedian_along(input, *args, out=out, **kwargs)


# --- mode and the k-th value -------------------------------------------------------------------


def _mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    axis = axis_of(dim, input.ndim)
    refuse_complex("mode", input)
    refuse_empty("mode", input.shape, axis)
    line = on_lines(input)
    ranked, order = sorted_along(line, axis)
    # How long a run of equal elements is by each place: the first longest run wins.
    place = np.zeros_like(order) + counted_along(order, axis)
    head = (slice(None),) * axis
    differs = np.not_equal(ranked[(*head, slice(1, None))], ranked[(*head, slice(None, -1))])
    start = np.zeros_like(order)
    start[(*head, slice(1, None))] = np.where(differs, place[(*head, slice(1, None))], 0)
    run = place - np.maximum.accumulate(start, axis=axis)
    best = np.argmax(run, axis=axis, keepdims=True)
    return _at(line, np.take_along_axis(order, best, axis=axis), axis, keepdim, input.ndim)


mode = operation(
    "mode",
    _mode,
    grad={"input": at_chosen},
    result=results.mode,
    samples=_line_samples,
    doc="The most frequent value of each line (the least of equals), and where it is last.",
)


def _kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    axis = axis_of(dim, input.ndim)
    refuse_complex("kthvalue", input)
    refuse_empty("kthvalue", input.shape, axis)
    line = on_lines(input)
    if not 1 <= k <= line.shape[axis]:
        raise errors.InvalidArgument(
            f"kthvalue(): selected number k out of range for dimension {axis}",
            [(this_place(), "called here")],
            [f"k counts from 1 to {line.shape[axis]} here"],
        )
    indices = _slot(places_around(line, axis, k - 1), axis, k - 1)
    return _at(line, indices, axis, keepdim, input.ndim)


kthvalue = operation(
    "kthvalue",
    _kthvalue,
    grad={"input": at_chosen},
    result=results.kthvalue,
    samples=lambda make: [sample(make.distinct(3, 4), 2), sample(make.distinct(3, 4), 3, 0, True)],
    doc="The k-th smallest element of each line (k counts from 1), and its place.",
)

# --- quantiles ---------------------------------------------------------------------------------


def _last_places(input: Any, ignores_nan: bool) -> Any:
    """For sorted lines the factor and the offset that turn a quantile into a place.

    NaN lies at the end: it is either left out, or all quantiles of its line lie there.
    """
    length = input.shape[-1]
    known = np.equal(input, input)
    if ignores_nan:
        count = np.add.reduce(known, axis=-1, keepdims=True, dtype=np.int64)
        last = np.maximum(count - 1, 0).astype(input.dtype)
        return last, np.zeros_like(last)
    last = np.logical_and.reduce(known, axis=-1, keepdims=True).astype(input.dtype) * (length - 1)
    return last, (length - 1) - last


last_places = operation(
    "last_places",
    _last_places,
    halves_in_float=False,
    doc="The factor and the offset that turn a quantile into a place in a sorted line.",
)


def _neighbours(input: Any, interpolation: str) -> Any:
    """The places below and above fractional places."""
    if interpolation == "nearest":
        input = np.round(input)
    below = np.ceil(input) if interpolation == "higher" else np.floor(input)
    return below, below.astype(np.int64), np.ceil(input).astype(np.int64)


neighbours = operation(
    "neighbours",
    _neighbours,
    halves_in_float=False,
    doc="The places around fractional ones: that below also as a float.",
)

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _checked_q(name: str, input: Any, q: Any, interpolation: str) -> tuple[Any, bool]:
    """The wanted quantiles as a line, and whether a single one was asked for."""
    place = [(this_place(), "called here")]
    if input._array.size == 0:
        raise errors.EmptyReduction(f"{name}() input tensor must be non-empty", place)
    if input._array.dtype.name not in ("float32", "float64"):
        raise errors.DtypeError(
            f"{name}() input tensor must be either float or double dtype", place
        )
    if interpolation not in _INTERPOLATIONS:
        raise errors.InvalidArgument(
            f"{name}() interpolation must be one of {', '.join(_INTERPOLATIONS)}, "
            f"but got {interpolation}",
            place,
        )
    if isinstance(q, Tensor):
        if q._array.dtype != input._array.dtype:
            raise errors.DtypeError(
                f"{name}() q tensor must be same dtype as the input tensor", place
            )
        if q._array.ndim > 1:
            raise errors.InvalidArgument(f"{name}() q must be a scalar or 1D tensor", place)
        return traced.reshape(q, (-1,)), q._array.ndim == 0
    if not 0 <= q <= 1:
        raise errors.InvalidArgument(f"{name}() q must be in the range [0, 1] but got {q}", place)
    return traced.filled_like(input, (1,), float(q)), True


def _filled_like(input: Any, shape: Any, value: Any) -> Any:
    return np.full_like(input, value, shape=shape)


filled_like = operation(
    "filled_like", _filled_like, doc="A number, in any shape, on the device of a tensor."
)


def _quantile(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignores_nan: bool
) -> Any:
    wanted, is_single = _checked_q(name, input, q, interpolation)
    ndim = input._array.ndim
    if dim is None:
        line = traced.reshape(input, (-1,))
    else:
        axis = axis_of(dim, ndim)
        line = input if ndim else traced.reshape(input, (1,))
        line = traced.transpose(line, axis, -1)
    ranked = traced.sort(line, -1, False)[0]
    factor, offset = last_places(ranked, ignores_nan)
    ranks = wanted * factor + offset
    floor, below, above = neighbours(ranks, interpolation)
    found = traced.pick_along(ranked, -1, below)
    if interpolation in ("linear", "midpoint"):
        step = traced.pick_along(ranked, -1, above) - found
        found = found + step * (ranks - floor if interpolation == "linear" else 0.5)
    return _quantiles_in_front(found, ndim, None if dim is None else axis, keepdim, is_single)


def _quantiles_in_front(
    found: Any, ndim: int, axis: int | None, keepdim: bool, is_single: bool
) -> Any:
    """The quantiles lie along the last dimension: they go to the front, or away if single.

    The input's last dimension lies where the reduced one was.
    """
    lead = () if is_single else found.shape[-1:]
    if axis is None or not ndim:
        return traced.reshape(found, (*lead, *((1,) * ndim if keepdim else ())))
    order = list(range(ndim))
    order[axis], order[-1] = order[-1], order[axis]
    order.remove(ndim - 1)  # where the quantiles are
    found = traced.permute(found, (ndim - 1, *order))
    shape = list(found.shape[1:])
    if keepdim:
        shape.insert(axis, 1)
    return traced.reshape(found, (*lead, *shape))


@in_float32
@native
def quantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *,
    interpolation: str = "linear", out: Any = None,
) -> Any:  # fmt: skip
    """The values below which fractions `q` of the elements lie.

    Args:
        input: float32 or float64.
        q: A number from 0 to 1, or a tensor of such; several make a new first dimension.
        dim: Along which dimension; all elements if None.
        keepdim: Whether the dimension stays, with length 1.
        interpolation: What to take between two elements: `linear`, `lower`, `higher`, `midpoint`
            or `nearest`.
        out: Where to write the result.

    >>> import lamina
    >>> lamina.quantile(lamina.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
    tensor(1.5000)
    """
    return _into(out, _quantile("quantile", input, q, dim, keepdim, interpolation, False))


@in_float32
@native
def nanquantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *,
    interpolation: str = "linear", out: Any = None,
) -> Any:  # fmt: skip
    """The quantiles of the elements that are not NaN; see `quantile`."""
    return _into(out, _quantile("nanquantile", input, q, dim, keepdim, interpolation, True))


def _into(out: Any, made: Any) -> Any:
    return made if out is None else traced.copied(made, out=out)


__all__ = ["kthvalue", "median", "mode", "nanmedian", "nanquantile", "quantile"]
