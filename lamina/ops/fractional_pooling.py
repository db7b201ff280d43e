"""Pooling over windows at random places, for sizes that shrink by a fraction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.call import operation
from lamina.core.op import raw
from lamina.core.samples import sample
from lamina.core.tensor import wrap
from lamina.ops.constants import constant_like
from lamina.ops.draws import draw
from lamina.ops.pooling_windows import per_dimension

__all__: list[str] = []


def _starts(shares: Any, size: int, count: int, window: int) -> Any:
    """Where windows start, for every plane: steps vary by one element, as a random share says."""
    last = size - window
    if count == 1:
        return np.full_like(shares, last, dtype=np.int64, shape=(*shares.shape, 1))
    alpha = last / (count - 1)
    shares = np.expand_dims(shares, -1)
    steps = constant_like(shares, np.arange(count))
    found = ((steps + shares) * alpha).astype(np.int64) - (shares * alpha).astype(np.int64)
    found[..., -1] = last
    return found


def _positions(input: Any, shares: Any, windows: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """Where the largest element of each window is, in the flattened dimensions."""
    rank = len(sizes)
    lengths = input.shape[2:]
    index: Any = 0
    for k in range(rank):
        # In two dimensions the first random number belongs to the last dimension.
        share = shares[..., rank - 1 - k if rank == 2 else k]
        places = np.expand_dims(_starts(share, lengths[k], sizes[k], windows[k]), -1)
        places = places + constant_like(places, np.arange(windows[k]))
        after = rank - 1 - k
        shape = (
            *share.shape, *[1] * k, sizes[k], *[1] * after, *[1] * k, windows[k], *[1] * after
        )  # fmt: skip
        index = index * lengths[k] + places.reshape(shape)
    lead = input.shape[:2]
    index = np.broadcast_to(index, (*lead, *index.shape[2:]))
    index = index.reshape(*lead, *sizes, math.prod(windows))
    flat = input.reshape(*lead, math.prod(lengths))
    lines = index.reshape(*lead, math.prod(index.shape[2:]))
    values = np.take_along_axis(flat, lines, -1).reshape(index.shape)
    choice = np.expand_dims(np.argmax(values, axis=-1), -1)
    return np.take_along_axis(index, choice, -1)[..., 0]


def _fractional(
    input: Any, shares: Any, windows: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Any, Any]:
    indices = _positions(input, shares, windows, sizes)
    return raw.plane_gather(input, indices, len(sizes)), indices


def _declare(rank: int) -> Any:
    return operation(
        f"fractional_max_pool{rank}d",
        _fractional,
        tensors="input shares",
        grad={
            "input": lambda F, g, out1, input_shape: F.plane_scatter(
                g[0], out1, tuple(input_shape[2:])
            )
        },
        node_name=f"FractionalMaxPool{rank}DBackward0",
        halves_in_float=False,
        samples=lambda make: [
            sample(
                make.distinct(1, 2, *[5] * rank), make(1, 2, rank, low=0, high=1), (2,) * rank,
                (3,) * rank,
            )
        ],
        doc="The largest element of each of a number of windows at random places.",
    )  # fmt: skip


_POOLS = {2: _declare(2), 3: _declare(3)}


def _pooled(
    caller: str, rank: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any,
    samples: Any,
) -> Any:  # fmt: skip
    windows = per_dimension(kernel_size, rank, "kernel_size", caller)
    shape = input._array.shape
    if len(shape) not in (rank + 1, rank + 2):
        raise errors.InvalidArgument(
            f"{caller}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}"
        )
    if (output_size is None) == (output_ratio is None):
        raise errors.InvalidValue(
            f"{caller} requires specifying either an output_size or an output_ratio, not both"
        )
    lengths = shape[-rank:]
    if output_size is None:
        ratios = output_ratio if hasattr(output_ratio, "__iter__") else (output_ratio,) * rank
        output_size = tuple(int(size * ratio) for size, ratio in zip(lengths, ratios, strict=True))
    sizes = per_dimension(output_size, rank, "output_size", caller)
    for size, count, window in zip(lengths, sizes, windows, strict=True):
        if count + window - 1 > size or count <= 0:
            raise errors.InvalidArgument(
                f"{caller}(): pool size ({window}) and output size ({count}) too large relative to "
                f"input size ({size})"
            )
    batch = input if len(shape) == rank + 2 else input.unsqueeze(0)
    if samples is None:
        wanted = (*batch._array.shape[:2], rank)
        samples = wrap(draw("uniform", None, wanted, input._array.dtype, input.device), None)
    values, indices = _POOLS[rank](batch, samples, windows, sizes)
    if len(shape) == rank + 1:
        return values.squeeze(0), indices.squeeze(0)
    return values, indices


@takes_tensors
def fractional_max_pool2d_with_indices(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> tuple[Any, Any]:
    """`fractional_max_pool2d` with `return_indices=True`."""
    return _pooled(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples
    )


@takes_tensors
def fractional_max_pool3d_with_indices(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> tuple[Any, Any]:
    """`fractional_max_pool3d` with `return_indices=True`."""
    return _pooled(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples
    )


@takes_tensors
def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest elements of windows at random places over the last two dimensions.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: the size of a window.
        output_size: how many windows there are.
        output_ratio: or, that as a share of the input's size.
        return_indices: whether to return also where each largest element is.
    """
    found = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return found if return_indices else found[0]


@takes_tensors
def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The same as `fractional_max_pool2d`, over the last three dimensions."""
    found = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return found if return_indices else found[0]
