"""Patches of images as columns, and channels that are moved into space and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native, takes_tensors
from lamina.core.call import operation
from lamina.core.samples import sample
from lamina.ops import convolution_kernels as kernels
from lamina.ops.axes import rows_first
from lamina.ops.convolution_kernels import Geometry
from lamina.ops.halves import in_float
from lamina.ops.pooling_windows import per_dimension

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


# --- columns -----------------------------------------------------------------------------------


def _im2col(input: Any, kernel: Any, geometry: Geometry, sizes: Any) -> Any:
    batch, channels = input.shape[:2]
    counts = geometry.output(sizes, kernel)
    array = kernels.padded(input, geometry.padding)
    found = kernels.patches(array, kernel, counts, geometry)
    return found.reshape(batch, channels * math.prod(kernel), math.prod(counts))


@in_float
def _col2im(input: Any, kernel: Any, geometry: Geometry, sizes: Any) -> Any:
    counts = geometry.output(sizes, kernel)
    channels = input.shape[1] // math.prod(kernel)
    parts = input.reshape(input.shape[0], channels, *kernel, *counts)
    room = [size + 2 * p for size, p in zip(sizes, geometry.padding, strict=True)]
    made: Any = np.zeros_like(input, shape=(*parts.shape[:2], *room))
    kernels.add_patches(made, parts, geometry)
    inner = (slice(p, p + size) for p, size in zip(geometry.padding, sizes, strict=True))
    return rows_first(made[(..., *inner)])


_EXAMPLE = Geometry((2, 1), (0, 1), (1, 1), 1)
im2col = operation(
    "im2col",
    _im2col,
    grad={
        "input": lambda F, g, kernel, geometry, sizes: F.col2im(g, kernel, geometry, sizes),
    },
    node_name="Im2ColBackward0",
    samples=lambda make: [sample(make(1, 2, 5, 4), (3, 2), _EXAMPLE, (5, 4))],
    doc="The patches that a kernel meets, as columns.",
)
col2im = operation(
    "col2im",
    _col2im,
    grad={
        "input": lambda F, g, kernel, geometry, sizes: F.im2col(g, kernel, geometry, sizes),
    },
    node_name="Col2ImBackward0",
    samples=lambda make: [sample(make(1, 12, 10), (3, 2), _EXAMPLE, (5, 4))],
    doc="The image that is the sum of overlapping patches.",
)


def _geometry(
    caller: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[tuple[int, ...], Geometry]:
    kernel = per_dimension(kernel_size, 2, "kernel_size", caller)
    geometry = Geometry(
        per_dimension(stride, 2, "stride", caller),
        per_dimension(padding, 2, "padding", caller),
        per_dimension(dilation, 2, "dilation", caller),
        1,
    )
    if min(*kernel, *geometry.stride, *geometry.dilation) <= 0 or min(geometry.padding) < 0:
        raise errors.InvalidArgument(
            f"{caller}: kernel size, stride and dilation should be greater than zero, and padding "
            "non-negative"
        )
    return kernel, geometry


def _check_counts(caller: str, kernel: Any, geometry: Geometry, sizes: Any) -> tuple[int, ...]:
    counts = geometry.output(sizes, kernel)
    if min(counts) < 1:
        raise errors.InvalidArgument(
            f"{caller}: with spatial size {list(sizes)}, kernel_size={list(kernel)}, dilation="
            f"{list(geometry.dilation)} and padding={list(geometry.padding)}, the array of sliding "
            f"blocks would have shape {list(counts)}, but its components must be at least one"
        )
    return counts


@takes_tensors
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The patches of images as columns: (N, C, H, W) to (N, C * kernel, positions).

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: the size of a patch.
        dilation: steps between elements of a patch.
        padding: zeros on all sides.
        stride: steps between patches.
    """
    kernel, geometry = _geometry("unfold", kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) not in (3, 4):
        raise errors.InvalidArgument(
            f"unfold: Expected 3D or 4D (batch mode) tensor, but got size {list(shape)}"
        )
    sizes = tuple(shape[-2:])
    _check_counts("unfold", kernel, geometry, sizes)
    if len(shape) == 3:
        return im2col(input.unsqueeze(0), kernel, geometry, sizes).squeeze(0)
    return im2col(input, kernel, geometry, sizes)


def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """The images that are sums of overlapping patches: the transpose of `unfold`.

    Args:
        input: (N, C * kernel, positions), or without N.
        output_size: the sizes of the images.
        kernel_size, dilation, padding, stride: as for `unfold`.
    """
    kernel, geometry = _geometry("fold", kernel_size, dilation, padding, stride)
    sizes = per_dimension(output_size, 2, "output_size", "fold")
    shape = input._array.shape
    if len(shape) not in (2, 3):
        raise errors.InvalidArgument(
            f"fold: Expected 2D or 3D (batch mode) tensor for input, but got size {list(shape)}"
        )
    if shape[-2] % math.prod(kernel):
        raise errors.InvalidArgument(
            f"fold: Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got {shape[-2]} and kernel_size={list(kernel)}"
        )
    counts = _check_counts("fold", kernel, geometry, sizes)
    if shape[-1] != math.prod(counts):
        raise errors.InvalidArgument(
            f"fold: Given output_size={list(sizes)}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {' * '.join(map(str, counts))} = "
            f"{math.prod(counts)}, but got {shape[-1]}"
        )
    if len(shape) == 2:
        return col2im(input.unsqueeze(0), kernel, geometry, sizes).squeeze(0)
    return col2im(input, kernel, geometry, sizes)


# --- channels and space ------------------------------------------------------------------------


def _pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    *lead, channels, height, width = input.shape
    if r <= 0 or channels % (r * r):
        raise errors.InvalidArgument(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but {channels} is not divisible by {r * r}"
        )
    parts = input.reshape(*lead, channels // (r * r), r, r, height, width)
    moved = np.moveaxis(parts, (-4, -3), (-3, -1))
    return moved.reshape(*lead, channels // (r * r), height * r, width * r)


def _pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    r = downscale_factor
    *lead, channels, height, width = input.shape
    if r <= 0 or height % r or width % r:
        raise errors.InvalidArgument(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
            f"{height} x {width} is not divisible by {r}"
        )
    parts = input.reshape(*lead, channels, height // r, r, width // r, r)
    moved = np.moveaxis(parts, (-3, -1), (-4, -3))
    return moved.reshape(*lead, channels * r * r, height // r, width // r)


pixel_shuffle = operation(
    "pixel_shuffle",
    _pixel_shuffle,
    grad={"input": lambda F, g, upscale_factor: F.pixel_unshuffle(g, upscale_factor)},
    halves_in_float=False,
    samples=lambda make: [sample(make(1, 8, 2, 3), 2)],
    doc="Groups of channels laid out as blocks of pixels: (*, C r^2, H, W) to (*, C, H r, W r).",
)
pixel_unshuffle = operation(
    "pixel_unshuffle",
    _pixel_unshuffle,
    grad={"input": lambda F, g, downscale_factor: F.pixel_shuffle(g, downscale_factor)},
    halves_in_float=False,
    samples=lambda make: [sample(make(1, 2, 4, 6), 2)],
    doc="Blocks of pixels laid out as channels: the inverse of `pixel_shuffle`.",
)


def _channel_shuffle(input: Any, groups: int) -> Any:
    channels = input.shape[1]
    if groups <= 0 or channels % groups:
        raise errors.InvalidArgument(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} "
            "groups."
        )
    parts = input.reshape(input.shape[0], groups, channels // groups, *input.shape[2:])
    return np.swapaxes(parts, 1, 2).reshape(input.shape)


channel_shuffle = operation(
    "channel_shuffle",
    _channel_shuffle,
    grad={
        "input": lambda F, g, groups, input_shape: F.channel_shuffle(g, input_shape[1] // groups)
    },
    halves_in_float=False,
    samples=lambda make: [sample(make(1, 6, 2, 2), 2)],
    doc="Channels in a new order: one of each group after the other.",
)


@native
def native_channel_shuffle(input: Any, groups: int) -> Any:
    """The same as `channel_shuffle`."""
    return channel_shuffle(input, groups)
