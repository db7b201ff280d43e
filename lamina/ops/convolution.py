"""Convolution and its transpose, in one, two and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.call import operation
from lamina.core.op import LINEAR, PRODUCT
from lamina.core.samples import sample
from lamina.ops.convolution_checks import check, is_batched, sizes_of
from lamina.ops.convolution_kernels import (
    Geometry,
    convolve,
    convolve_for_weight,
    convolve_transposed,
)
from lamina.ops.halves import in_float
from lamina.ops.padding import constant_pad_nd

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
]


# --- the operation -----------------------------------------------------------------------------


@in_float
def _convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    geometry = Geometry(tuple(stride), tuple(padding), tuple(dilation), groups)
    if transposed:
        return convolve_transposed(input, weight, bias, geometry, tuple(output_padding))
    return convolve(input, weight, bias, geometry)


@in_float
def _convolution_weight(
    input: Any, gradient: Any, stride: Any, padding: Any, dilation: Any, groups: int, kernel: Any
) -> Any:
    geometry = Geometry(tuple(stride), tuple(padding), tuple(dilation), groups)
    return convolve_for_weight(input, gradient, geometry, tuple(kernel))


def _left_over(
    sizes: Any, outputs: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[int, ...]:
    """How far a transposed convolution's result falls short of the convolution's input."""
    return tuple(
        size - ((out - 1) * s - 2 * p + d * (k - 1) + 1)
        for size, out, k, s, p, d in zip(
            sizes, outputs, kernel, stride, padding, dilation, strict=True
        )
    )


def _input_rule(
    F: Any, g: Any, weight: Any, input_shape: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, groups: int,
) -> Any:  # fmt: skip
    weight = F.conj(weight)
    if transposed:
        zeros = (0,) * len(stride)
        made = F.convolution(g, weight, None, stride, padding, dilation, False, zeros, groups)
        if tuple(made.shape) == tuple(input_shape):
            return made
        # An output padding of a whole stride and more lets the kernel in once too often.
        return F.slice_view(made, (..., *(slice(0, size) for size in input_shape[2:])))
    extra = _left_over(input_shape[2:], g.shape[2:], weight.shape[2:], stride, padding, dilation)
    return F.convolution(g, weight, None, stride, padding, dilation, True, extra, groups)


def _weight_rule(
    F: Any, g: Any, input: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, groups: int,
) -> Any:  # fmt: skip
    first, second = (g, F.conj(input)) if transposed else (F.conj(input), g)
    kernel = tuple(weight_shape[2:])
    return F.convolution_weight(first, second, stride, padding, dilation, groups, kernel)


@in_float
def _channel_sums(input: Any) -> Any:
    return np.sum(input, axis=(0, *range(2, input.ndim)))


def _channel_spread(input: Any, size: Any) -> Any:
    return np.broadcast_to(input.reshape(-1, *[1] * (len(size) - 2)), size)


channel_sums = operation(
    "channel_sums",
    _channel_sums,
    grad={"input": lambda F, g, input_shape: F.channel_spread(g, input_shape)},
    tangent=LINEAR,
    doc="The sum over all dimensions but that of the channels.",
)
channel_spread = operation(
    "channel_spread",
    _channel_spread,
    grad={"input": lambda F, g: F.channel_sums(g)},
    tangent=LINEAR,
    doc="One number for each channel, repeated along all other dimensions.",
)
convolution_weight = operation(
    "convolution_weight",
    _convolution_weight,
    tensors="input gradient",
    grad={
        "input": lambda F, g, gradient, input_shape, stride, padding, dilation, groups: (
            _input_rule(
                F, F.conj(gradient), F.conj(g), input_shape, stride, padding, dilation, False,
                groups,
            )
        ),
        "gradient": lambda F, g, input, gradient_shape, stride, padding, dilation, groups: (
            _input_rule(
                F, F.conj(input), F.conj(g), gradient_shape, stride, padding, dilation, True,
                groups,
            )
        ),
    },
    doc="The gradient of a convolution's weight.",
)  # fmt: skip
convolution = operation(
    "convolution",
    _convolution,
    tensors="input weight ?bias",
    grad={
        "input": _input_rule,
        "weight": _weight_rule,
        "bias": lambda F, g: F.channel_sums(g),
    },
    tangent=PRODUCT,
    samples=lambda make: [
        sample(make(2, 4, 5), make(6, 2, 3), make(6), (2,), (1,), (1,), False, (0,), 2),
        sample(make(2, 3, 5, 4), make(2, 3, 2, 2), None, (1, 2), (0, 1), (2, 1), False, (0, 0), 1),
        sample(
            make(1, 2, 3, 3), make(2, 3, 2, 2), make(3), (2, 2), (1, 0), (1, 1), True, (1, 0), 1
        ),
    ],
    doc="""Convolution, or its transpose, over any number of spatial dimensions.

    >>> import lamina
    >>> x, w = lamina.ones(1, 1, 4), lamina.ones(1, 1, 3)
    >>> lamina.convolution(x, w, None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[3., 3.]]])
    """,
)


# --- the public forms --------------------------------------------------------------------------


def _convolve(
    caller: str, count: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Any:  # fmt: skip
    stride = sizes_of(stride, count, "stride", caller)
    dilation = sizes_of(dilation, count, "dilation", caller)
    batched = is_batched(caller, input, count)
    if isinstance(padding, str):
        input, padding = _named_padding(caller, padding, input, weight, stride, dilation)
    padding = sizes_of(padding, count, "padding", caller)
    if not batched:
        input = input.unsqueeze(0)
    check(caller, input, weight, bias, Geometry(stride, padding, dilation, groups), False)
    zeros = (0,) * count
    result = convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)
    return result if batched else result.squeeze(0)


def _named_padding(
    caller: str, padding: str, input: Any, weight: Any, stride: Any, dilation: Any
) -> tuple[Any, tuple[int, ...]]:
    """The padding that "same" or "valid" means, and the input, padded if its sides differ."""
    if padding == "valid":
        return input, (0,) * len(stride)
    if padding != "same":
        raise errors.InvalidArgument(f"{caller}: Invalid padding string: {padding!r}")
    if any(s != 1 for s in stride):
        raise errors.InvalidArgument(
            f"{caller}: padding='same' is not supported for strided convolutions"
        )
    kernel = weight._array.shape[2:]
    totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(total % 2 for total in totals):
        widths = [width for total in reversed(totals) for width in (0, total % 2)]
        input = constant_pad_nd(input, widths, 0)
    return input, tuple(total // 2 for total in totals)


def _convolve_transposed(
    caller: str, count: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    output_padding: Any, groups: int, dilation: Any,
) -> Any:  # fmt: skip
    stride = sizes_of(stride, count, "stride", caller)
    padding = sizes_of(padding, count, "padding", caller)
    dilation = sizes_of(dilation, count, "dilation", caller)
    extra = sizes_of(output_padding, count, "output_padding", caller)
    batched = is_batched(caller, input, count)
    if not batched:
        input = input.unsqueeze(0)
    geometry = Geometry(stride, padding, dilation, groups)
    check(caller, input, weight, bias, geometry, True)
    if any(e >= max(s, d) or e < 0 for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise errors.InvalidArgument(
            f"{caller}: output padding must be smaller than either stride or dilation, but got "
            f"output_padding={list(extra)}, stride={list(stride)}, dilation={list(dilation)}"
        )
    sizes = geometry.transposed_output(input._array.shape[2:], weight._array.shape[2:], extra)
    if min(sizes) <= 0:
        raise errors.InvalidArgument(f"{caller}: the output would have sizes {list(sizes)}")
    result = convolution(input, weight, bias, stride, padding, dilation, True, extra, groups)
    return result if batched else result.squeeze(0)


@native
def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Convolution over the last dimension.

    Args:
        input: (N, C, L) or (C, L).
        weight: (O, C / groups, K).
        bias: (O), or None.
        stride: steps between positions of the kernel.
        padding: zeros on both sides, or "same" or "valid".
        dilation: steps between elements of the kernel.
        groups: how many groups of channels are convolved apart from each other.

    >>> import lamina
    >>> lamina.conv1d(lamina.ones(1, 1, 4), lamina.ones(1, 1, 3))
    tensor([[[3., 3.]]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@native
def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Convolution over the last two dimensions; arguments as for `conv1d`, in pairs."""
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@native
def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Convolution over the last three dimensions; arguments as for `conv1d`, in triples."""
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@native
def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of a convolution over the last dimension: what takes its gradients back.

    Args:
        input: (N, C, L) or (C, L).
        weight: (C, O / groups, K).
        bias: (O), or None.
        stride: steps between the places that input elements are spread to.
        padding: how much of both ends of the result is cut off.
        output_padding: how much is added to its end.
        groups: how many groups of channels are convolved apart from each other.
        dilation: steps between elements of the kernel.
    """
    return _convolve_transposed(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@native
def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of `conv2d`; arguments as for `conv_transpose1d`, in pairs."""
    return _convolve_transposed(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@native
def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of `conv3d`; arguments as for `conv_transpose1d`, in triples."""
    return _convolve_transposed(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@native
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """Convolution over time, of (time, batch, channels) with (kernel, channels, outputs)."""
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return result.permute(2, 0, 1)
