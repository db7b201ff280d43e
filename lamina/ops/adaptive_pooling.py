"""Adaptive pooling: as many windows as the result should have elements, as even as can be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native, takes_tensors
from lamina.core.call import operation
from lamina.core.op import raw, traced
from lamina.core.samples import sample
from lamina.ops.constants import constant_like
from lamina.ops.halves import in_float
from lamina.ops.pooling_windows import Windows, lowest, position_of_maximum

__all__ = ["adaptive_avg_pool1d", "adaptive_max_pool1d"]


def _bounds(size: int, count: int) -> list[tuple[int, int]]:
    """Where each of `count` windows over `size` elements starts and ends."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def along(array: Any, matrix: Any, axis: int) -> Any:
    """The product of a matrix with every line of an array along an axis (counted from the end)."""
    if axis == -1:
        return np.matmul(array, np.swapaxes(matrix, 0, 1))
    if axis == -2:
        return np.matmul(matrix, array)
    return np.moveaxis(np.matmul(np.moveaxis(array, axis, -1), np.swapaxes(matrix, 0, 1)), -1, axis)


def _averages(like: Any, size: int, count: int) -> Any:
    """The matrix (count, size) that takes the mean of each window."""
    matrix = np.zeros((count, size), like.dtype)
    for i, (start, end) in enumerate(_bounds(size, count)):
        matrix[i, start:end] = 1 / (end - start)
    return constant_like(like, matrix)


def _adaptive_avg(input: Any, sizes: Any) -> Any:
    rank = len(sizes)
    for k, count in enumerate(sizes):
        axis = k - rank
        if input.shape[axis] != count:
            input = along(input, _averages(input, input.shape[axis], count), axis)
    return input


@in_float
def _adaptive_avg_spread(input: Any, sizes: Any) -> Any:
    rank = len(sizes)
    for k, size in enumerate(sizes):
        axis = k - rank
        if input.shape[axis] != size:
            matrix = _averages(input, size, input.shape[axis])
            input = along(input, np.swapaxes(matrix, 0, 1), axis)
    return input


def _last(shape: Any, count: int) -> tuple[int, ...]:
    return tuple(shape[len(shape) - count :])


adaptive_avg_spread = operation(
    "adaptive_avg_spread",
    _adaptive_avg_spread,
    grad={
        "input": lambda F, g, input_shape, sizes: F.adaptive_avg_pool2d(
            g, _last(input_shape, len(sizes))
        )
    },
    doc="The gradients of means of adaptive windows, shared among their elements.",
)


def _declare_avg(rank: int) -> Any:
    return operation(
        f"adaptive_avg_pool{rank}d",
        _adaptive_avg,
        grad={
            "input": lambda F, g, input_shape, sizes: F.adaptive_avg_spread(
                g, _last(input_shape, len(sizes))
            )
        },
        node_name=f"AdaptiveAvgPool{rank}DBackward0",
        samples=lambda make: [sample(make(1, 2, *[5] * rank), (3,) * rank)],
        doc="The mean of each of a given number of windows.",
    )


_AVG = {2: _declare_avg(2), 3: _declare_avg(3)}


def _output_sizes(caller: str, rank: int, input: Any, output_size: Any) -> tuple[int, ...]:
    """The wanted sizes; None stands for the input's own."""
    shape = input._array.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise errors.InvalidArgument(
            f"{caller}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(shape)}"
        )
    if output_size is None or not hasattr(output_size, "__iter__"):
        output_size = (output_size,) * rank
    wanted = tuple(output_size)
    if len(wanted) != rank:
        raise errors.InvalidArgument(f"{caller}: output_size must be {rank} numbers")
    sizes = tuple(
        size if want is None else int(want)
        for want, size in zip(wanted, shape[-rank:], strict=True)
    )
    if min(sizes) < 0:
        raise errors.InvalidArgument(
            f"{caller}: elements of output_size must be greater than or equal to 0"
        )
    if 0 in shape[-rank:]:
        raise errors.InvalidArgument(
            f"{caller}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {list(shape)}"
        )
    return sizes


def _avg(caller: str, rank: int, input: Any, output_size: Any) -> Any:
    sizes = _output_sizes(caller, rank, input, output_size)
    if set(sizes) == {1}:
        return traced.mean(input, tuple(range(-rank, 0)), True)
    return _AVG[rank](input, sizes)


@native
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """The means of `output_size` windows that cover the last dimension as evenly as can be.

    >>> import lamina
    >>> lamina.adaptive_avg_pool1d(lamina.tensor([[1.0, 2.0, 3.0]]), 2)
    tensor([[1.5000, 2.5000]])
    """
    sizes = _output_sizes("adaptive_avg_pool1d", 1, input, output_size)
    return _AVG[2](input.unsqueeze(-2), (1, *sizes)).squeeze(-2)


@takes_tensors
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The means of windows that cover the last two dimensions as evenly as can be."""
    return _avg("adaptive_avg_pool2d", 2, input, output_size)


@takes_tensors
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The means of windows that cover the last three dimensions as evenly as can be."""
    return _avg("adaptive_avg_pool3d", 3, input, output_size)


# --- maxima ------------------------------------------------------------------------------------


def _positions(input: Any, sizes: Any) -> Any:
    """Where the largest element of each window is, in the flattened dimensions."""
    rank = len(sizes)
    lengths = input.shape[input.ndim - rank :]
    if all(length % count == 0 for length, count in zip(lengths, sizes, strict=True)):
        size = tuple(length // count for length, count in zip(lengths, sizes, strict=True))
        ones = (1,) * rank
        return position_of_maximum(input, Windows(size, size, (0,) * rank, ones, False))
    return _uneven_positions(input, lengths, sizes)


def _uneven_positions(input: Any, lengths: Any, sizes: Any) -> Any:
    """The same where windows differ in size: each is filled up with what is never the largest."""
    rank = len(sizes)
    table: Any = 0
    valid: Any = True
    for k, (length, count) in enumerate(zip(lengths, sizes, strict=True)):
        starts, ends = np.array(_bounds(length, count)).T.reshape(2, count, 1)
        places = starts + np.arange(np.max(ends - starts))
        after = rank - 1 - k
        shape = (count, *[1] * after, *[1] * k, places.shape[1], *[1] * after)
        table = table * length + np.minimum(places, length - 1).reshape(shape)
        valid = valid & (places < ends).reshape(shape)
    table, valid = (part.reshape(*sizes, -1) for part in (table, valid))
    lead = input.shape[: input.ndim - rank]
    values = input.reshape(*lead, math.prod(lengths))[..., table]
    values[(..., *np.nonzero(~valid))] = lowest(input)
    choice = np.expand_dims(np.argmax(values, axis=-1), -1)
    table = np.broadcast_to(constant_like(choice, table), values.shape)
    return np.take_along_axis(table, choice, -1)[..., 0]


adaptive_max_positions = operation(
    "adaptive_max_positions",
    _positions,
    tensors="input",
    doc="Where the largest element of each adaptive window is.",
)


def _adaptive_max(input: Any, sizes: Any) -> tuple[Any, Any]:
    indices = _positions(input, sizes)
    return raw.plane_gather(input, indices, len(sizes)), indices


def _declare_max(rank: int) -> Any:
    return operation(
        f"adaptive_max_pool{rank}d",
        _adaptive_max,
        grad={
            "input": lambda F, g, out1, input_shape, sizes: F.plane_scatter(
                g[0], out1, _last(input_shape, len(sizes))
            )
        },
        node_name=f"AdaptiveMaxPool{rank}DBackward0",
        halves_in_float=False,
        samples=lambda make: [sample(make.distinct(1, 2, *[5] * rank), (3,) * rank)],
        doc="The largest element of each of a given number of windows, and where it is.",
    )


_MAX = {2: _declare_max(2), 3: _declare_max(3)}


def _max(caller: str, rank: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    sizes = _output_sizes(caller, rank, input, output_size)
    found = _MAX[rank](input, sizes)
    return found if return_indices else found[0]


@native
def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that cover the last dimension as evenly as can be."""
    sizes = _output_sizes("adaptive_max_pool1d", 1, input, output_size)
    values, indices = _MAX[2](input.unsqueeze(-2), (1, *sizes))
    if return_indices:
        return values.squeeze(-2), indices.squeeze(-2)
    return values.squeeze(-2)


@takes_tensors
def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that cover the last two dimensions evenly."""
    return _max("adaptive_max_pool2d", 2, input, output_size, return_indices)


@takes_tensors
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that cover the last three dimensions evenly."""
    return _max("adaptive_max_pool3d", 3, input, output_size, return_indices)


@takes_tensors
def adaptive_max_pool1d_with_indices(
    input: Any, output_size: Any, return_indices: bool = False
) -> Any:
    """`adaptive_max_pool1d` with `return_indices=True`."""
    return adaptive_max_pool1d(input, output_size, True)


@takes_tensors
def adaptive_max_pool2d_with_indices(
    input: Any, output_size: Any, return_indices: bool = False
) -> Any:
    """`adaptive_max_pool2d` with `return_indices=True`."""
    return adaptive_max_pool2d(input, output_size, True)


@takes_tensors
def adaptive_max_pool3d_with_indices(
    input: Any, output_size: Any, return_indices: bool = False
) -> Any:
    """`adaptive_max_pool3d` with `return_indices=True`."""
    return adaptive_max_pool3d(input, output_size, True)
