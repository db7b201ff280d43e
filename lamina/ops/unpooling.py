"""Pooling's inverse, pooling by norms, and pooling over windows of random size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.ops.pooling import avg_pool1d, avg_pool2d, avg_pool3d
from lamina.ops.pooling_windows import per_dimension

__all__: list[str] = []


# --- unpooling ---------------------------------------------------------------------------------


def _max_unpool(input: Any, indices: Any, sizes: Any) -> Any:
    lead = input.shape[: input.ndim - len(sizes)]
    made = np.zeros_like(input, shape=(*lead, math.prod(sizes)))
    flat = (*lead, math.prod(input.shape[len(lead) :]))
    np.put_along_axis(made, indices.reshape(flat), input.reshape(flat), -1)
    return made.reshape(*lead, *sizes)


def _declare_unpool(rank: int) -> Any:
    return operation(
        f"max_unpool{rank}d",
        _max_unpool,
        tensors="input indices",
        grad={"input": lambda F, g, indices, sizes: F.plane_gather(g, indices, len(sizes))},
        node_name=f"MaxUnpool{rank}DBackward0",
        halves_in_float=False,
        samples=lambda make: [
            sample(make(1, 1, *[1] * rank), make.integers(1, 1, *[1] * rank, high=4), (2,) * rank)
        ],
        doc="Zeros with maxima where they came from.",
    )


_UNPOOL = {2: _declare_unpool(2), 3: _declare_unpool(3)}


def _unpooled_sizes(
    caller: str, rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> tuple[int, ...]:  # fmt: skip
    """The sizes before pooling: given, or the smallest that may have been."""
    kernel = per_dimension(kernel_size, rank, "kernel_size", caller)
    steps = kernel if stride is None else per_dimension(stride, rank, "stride", caller)
    pads = per_dimension(padding, rank, "padding", caller)
    usual = tuple(
        (size - 1) * s + k - 2 * p
        for size, s, k, p in zip(input._array.shape[-rank:], steps, kernel, pads, strict=True)
    )
    if output_size is None:
        return usual
    sizes = tuple(output_size)[-rank:]
    for size, expected, step in zip(sizes, usual, steps, strict=True):
        if not expected - step < size < expected + step:
            raise errors.InvalidValue(
                f"{caller}: invalid output_size {list(output_size)} (each size must be within the "
                f"stride of {list(usual)})"
            )
    return sizes


def _check_indices(caller: str, input: Any, indices: Any) -> None:
    if indices._array.shape != input._array.shape:
        raise errors.InvalidArgument(
            f"{caller}: Expected shape of indices to be same as that of the input tensor "
            f"({list(input._array.shape)}) but got indices tensor with shape: "
            f"{list(indices._array.shape)}"
        )


def max_unpool1d(
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Any:
    """Zeros with maxima where `max_pool1d(..., return_indices=True)` found them.

    Args:
        input: maxima.
        indices: where they were.
        kernel_size, stride, padding: as in the pooling.
        output_size: the size before the pooling, where that is open.
    """
    _check_indices("max_unpool1d", input, indices)
    sizes = _unpooled_sizes("max_unpool1d", 1, input, kernel_size, stride, padding, output_size)
    return _UNPOOL[2](input.unsqueeze(-2), indices.unsqueeze(-2), (1, *sizes)).squeeze(-2)


def max_unpool2d(
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Any:
    """Zeros with maxima where `max_pool2d` found them; see `max_unpool1d`."""
    _check_indices("max_unpool2d", input, indices)
    sizes = _unpooled_sizes("max_unpool2d", 2, input, kernel_size, stride, padding, output_size)
    return _UNPOOL[2](input, indices, sizes)


def max_unpool3d(
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Any:
    """Zeros with maxima where `max_pool3d` found them; see `max_unpool1d`."""
    _check_indices("max_unpool3d", input, indices)
    sizes = _unpooled_sizes("max_unpool3d", 3, input, kernel_size, stride, padding, output_size)
    return _UNPOOL[3](input, indices, sizes)


# --- pooling by norms --------------------------------------------------------------------------


def _rooted(means: Any, count: int, norm_type: float) -> Any:
    return (traced.sign(means) * traced.relu(traced.abs(means)) * count) ** (1 / norm_type)


def lp_pool1d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    r"""The norm $(\sum |x|^p)^{1/p}$ of each window over the last dimension."""
    (size,) = per_dimension(kernel_size, 1, "kernel_size", "lp_pool1d")
    means = avg_pool1d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _rooted(means, size, norm_type)


def lp_pool2d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The norm of each window over the last two dimensions."""
    size = per_dimension(kernel_size, 2, "kernel_size", "lp_pool2d")
    means = avg_pool2d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _rooted(means, math.prod(size), norm_type)


def lp_pool3d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The norm of each window over the last three dimensions."""
    size = per_dimension(kernel_size, 3, "kernel_size", "lp_pool3d")
    means = avg_pool3d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _rooted(means, math.prod(size), norm_type)
