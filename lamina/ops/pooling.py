"""Pooling: the mean or the largest element of windows."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.arguments import native, takes_tensors
from lamina.core.call import operation
from lamina.core.modes import state as modes
from lamina.core.samples import sample
from lamina.ops.halves import in_float
from lamina.ops.pooling_means import means_in, spread_means
from lamina.ops.pooling_windows import (
    LEAST_WORK,
    Windows,
    check_room,
    maximum_and_position,
    maximum_in,
    position_of_maximum,
    windows_of,
)

__all__ = ["avg_pool1d", "max_pool1d", "max_pool2d", "max_pool3d"]


# --- the largest element -----------------------------------------------------------------------


def _max_pool(input: Any, windows: Windows) -> Any:
    return maximum_in(input, windows)


def _max_pool_with_indices(input: Any, windows: Windows) -> tuple[Any, Any]:
    return maximum_and_position(input, windows)


def _max_pool_positions(array: Any, windows: Windows) -> Any:
    return position_of_maximum(array, windows)


max_pool_positions = operation(
    "max_pool_positions",
    _max_pool_positions,
    tensors="array",
    doc="Where the largest element of each window is, in the flattened dimensions.",
)


def _sizes(shape: Any, rank: int) -> tuple[int, ...]:
    return tuple(shape[len(shape) - rank :])


def _declare_max_pool(rank: int, node_name: str) -> tuple[Any, Any]:
    """Two operations: with indices, and without, which finds them when a gradient is wanted."""
    plain = operation(
        f"max_pool{rank}d",
        _max_pool,
        tensors="input",
        grad={
            "input": lambda F, g, input, windows: F.plane_scatter(
                g, F.max_pool_positions(input, windows), _sizes(input.shape, len(windows.size))
            )
        },
        node_name=node_name,
        halves_in_float=False,
        samples=lambda make: [
            sample(make.distinct(1, 2, *[5] * rank), _example(rank, 2, 2, 0)),
            sample(make.distinct(1, 2, *[5] * rank), _example(rank, 3, 2, 1)),
        ],
        doc="The largest element of each window.",
    )
    indexed = operation(
        f"max_pool{rank}d_with_indices",
        _max_pool_with_indices,
        tensors="input",
        grad={
            "input": lambda F, g, out1, input_shape, windows: F.plane_scatter(
                g[0], out1, _sizes(input_shape, len(windows.size))
            )
        },
        node_name=node_name,
        halves_in_float=False,
        samples=lambda make: [sample(make.distinct(1, 2, *[5] * rank), _example(rank, 2, 2, 0))],
        doc="The largest element of each window, and its index in the flattened dimensions.",
    )
    return plain, indexed


def _example(rank: int, size: int, stride: int, padding: int) -> Windows:
    return Windows((size,) * rank, (stride,) * rank, (padding,) * rank, (1,) * rank, False)


_MAX_POOLS = {
    2: _declare_max_pool(2, "MaxPool2DWithIndicesBackward0"),
    3: _declare_max_pool(3, "MaxPool3DWithIndicesBackward0"),
}


def _max_pooled(
    caller: str, rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    windows = windows_of(caller, rank, kernel_size, stride, padding, dilation, ceil_mode)
    check_room(caller, input._array.shape, windows)
    return _found(rank, input, windows, return_indices)


def _found(rank: int, input: Any, windows: Windows, return_indices: bool) -> Any:
    """The largest elements, and their places if they are asked for.

    Where a gradient may be, machine code finds the places with the elements, and they are kept.
    """
    plain, indexed = _MAX_POOLS[rank]
    if return_indices:
        return indexed(input, windows)
    if input._requires_grad and modes.grad_enabled and input._array.size >= LEAST_WORK:
        return indexed(input, windows)[0]
    return plain(input, windows)


def _as_line(windows: Windows) -> Windows:
    """Windows over one dimension, as windows of height 1 over two."""
    size, stride, padding, dilation, ceil_mode = windows
    return Windows((1, *size), (1, *stride), (0, *padding), (1, *dilation), ceil_mode)


@native
def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window over the last dimension.

    Args:
        input: (N, C, L) or (C, L).
        kernel_size: how many elements a window has.
        stride: steps between windows; `kernel_size` if None.
        padding: how far windows reach over both ends; nothing there is ever the largest.
        dilation: steps between elements of a window.
        ceil_mode: whether a last window may reach over the end.
        return_indices: whether to return also where each largest element is.

    >>> import lamina
    >>> lamina.max_pool1d(lamina.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[3., 2.]]])
    """
    windows = windows_of("max_pool1d", 1, kernel_size, stride, padding, dilation, ceil_mode)
    check_room("max_pool1d", input._array.shape, windows)
    found = _found(2, input.unsqueeze(-2), _as_line(windows), return_indices)
    if return_indices:
        return found[0].squeeze(-2), found[1].squeeze(-2)
    return found.squeeze(-2)


@native
def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window over the last two dimensions; see `max_pool1d`."""
    return _max_pooled(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@native
def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window over the last three dimensions; see `max_pool1d`."""
    return _max_pooled(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


# --- the mean ----------------------------------------------------------------------------------


def _avg_pool(input: Any, windows: Windows, include_pad: bool, divisor: int | None) -> Any:
    return means_in(input, windows, include_pad, divisor)


@in_float
def _avg_pool_spread(
    input: Any, windows: Windows, include_pad: bool, divisor: int | None, sizes: Any
) -> Any:
    return spread_means(input, windows, include_pad, divisor, tuple(sizes))


avg_pool_spread = operation(
    "avg_pool_spread",
    _avg_pool_spread,
    grad={
        "input": lambda F, g, windows, include_pad, divisor: F.avg_pool2d(
            g, windows, include_pad, divisor
        )
    },
    doc="The gradients of means of windows, shared among their elements.",
)


def _declare_avg_pool(rank: int) -> Any:
    return operation(
        f"avg_pool{rank}d",
        _avg_pool,
        grad={
            "input": lambda F, g, windows, include_pad, divisor, input_shape: F.avg_pool_spread(
                g, windows, include_pad, divisor, _sizes(input_shape, len(windows.size))
            )
        },
        node_name=f"AvgPool{rank}DBackward0",
        samples=lambda make: [
            sample(make(1, 2, *[5] * rank), _example(rank, 2, 2, 0), True, None),
            sample(make(1, 2, *[5] * rank), _example(rank, 3, 2, 1), False, None),
        ],
        doc="The mean of each window.",
    )


_AVG_POOLS = {2: _declare_avg_pool(2), 3: _declare_avg_pool(3)}


def _avg_pooled(
    caller: str, rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    windows = windows_of(caller, rank, kernel_size, stride, padding, 1, ceil_mode)
    check_room(caller, input._array.shape, windows)
    if divisor_override == 0:
        raise errors.InvalidArgument(f"{caller}: divisor must be not zero")
    return _AVG_POOLS[rank](input, windows, count_include_pad, divisor_override)


@native
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window over the last dimension.

    Args:
        input: (N, C, L) or (C, L).
        kernel_size: how many elements a window has.
        stride: steps between windows; `kernel_size` if None.
        padding: zeros on both sides.
        ceil_mode: whether a last window may reach over the end.
        count_include_pad: whether padding counts in the mean.

    >>> import lamina
    >>> lamina.avg_pool1d(lamina.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[2., 1.]]])
    """
    windows = windows_of("avg_pool1d", 1, kernel_size, stride, padding, 1, ceil_mode)
    check_room("avg_pool1d", input._array.shape, windows)
    line = _as_line(windows)
    return _AVG_POOLS[2](input.unsqueeze(-2), line, count_include_pad, None).squeeze(-2)


@native
def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window over the last two dimensions; see `avg_pool1d`.

    `divisor_override` is what sums are divided by instead of the number of elements.
    """
    return _avg_pooled(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@native
def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window over the last three dimensions; see `avg_pool2d`."""
    return _avg_pooled(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@takes_tensors
def max_pool1d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool1d` with `return_indices=True`."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@takes_tensors
def max_pool2d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool2d` with `return_indices=True`."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@takes_tensors
def max_pool3d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool3d` with `return_indices=True`."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)
