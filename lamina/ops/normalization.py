"""Normalization over rows: layer_norm, group_norm, rms_norm; and over neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.arguments import native, takes_tensors
from lamina.core.call import operation
from lamina.core.op import offer, traced
from lamina.core.samples import sample
from lamina.ops import normalization_kernels as kernels
from lamina.ops.halves import in_float
from lamina.ops.padding import constant_pad_nd
from lamina.ops.pooling import avg_pool2d

__all__ = ["group_norm", "layer_norm", "rms_norm"]


@fused
def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    if len(normalized_shape) == 1:
        made, mean, rate = kernels.standardized_rows(input, eps)
        if weight is not None:
            made *= weight
        if bias is not None:
            made += bias
        return made, mean, rate
    split = input.ndim - len(normalized_shape)
    rows = input.reshape(math.prod(input.shape[:split]), math.prod(normalized_shape))
    made, mean, rate = kernels.standardized_rows(rows, eps)
    if weight is not None:
        made *= weight.reshape(-1)
    if bias is not None:
        made += bias.reshape(-1)
    few = (*input.shape[:split], *[1] * len(normalized_shape))
    return made.reshape(input.shape), mean.reshape(few), rate.reshape(few)


def _layer_norm_backward(
    gradients: Any, input: Any, mean: Any, rate: Any, weight: Any, size: Any, eps: float,
    needs: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The same on tensors, as a function of the input alone: to be differentiated again."""
    g, *others = gradients
    g = traced.zeros_like(input) if g is None else g
    dims = tuple(range(-len(size), 0))
    standard, rate = standard_values(input, dims, eps)
    of_input = through_statistics(g if weight is None else g * weight, standard, rate, dims)
    if any(other is not None for other in others):
        count = math.prod(size)
        of_input = of_input + kernels.through_moments(others, standard, rate, count)
    return (
        of_input,
        traced.sum_to_size(g * standard, size) if needs[1] else None,
        traced.sum_to_size(g, size) if needs[2] else None,
    )


def standard_values(x: Any, dims: Any, eps: float) -> tuple[Any, Any]:
    """Tensors shifted and scaled to mean 0 and variance 1, and 1 / deviation."""
    away = x - traced.mean(x, dims, True)
    rate = traced.rsqrt(traced.mean(away * away, dims, True) + eps)
    return away * rate, rate


def through_statistics(g: Any, standard: Any, rate: Any, dims: Any) -> Any:
    """The gradient of values from that of their standardized values."""
    along = traced.mean(g * standard, dims, True)
    return (g - traced.mean(g, dims, True) - standard * along) * rate


offer("layer_norm_backward", in_float(kernels.layer_norm_backward), _layer_norm_backward)
_layer_norm_op = operation(
    "layer_norm",
    _layer_norm,
    tensors="input ?weight ?bias",
    grad=lambda F, g, input, out1, out2, weight, normalized_shape, eps, needs: (
        F.layer_norm_backward(g, input, out1, out2, weight, normalized_shape, eps, needs)
    ),
    node_name="NativeLayerNormBackward0",
    samples=lambda make: [
        sample(make(2, 3, 4), (4,), make(4), make(4)),
        sample(make(2, 3, 4), (3, 4), make(3, 4), None, 1e-3),
        sample(make(3, 4), (4,)),
    ],
    doc="Rows with mean 0 and variance 1, scaled and shifted; with the means and 1 / deviations.",
)


@native
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    r"""$w (x - \bar x) / \sqrt{v + \epsilon} + b$, with mean and variance over the last dimensions.

    Args:
        input: whose last sizes are `normalized_shape`.
        normalized_shape: the sizes over which is normalized, from the right.
        weight, bias: of shape `normalized_shape`, or None.
        eps: added to the variance.

    >>> import lamina
    >>> lamina.nn.functional.layer_norm(lamina.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    size = (normalized_shape,) if normalized_shape.__class__ is int else tuple(normalized_shape)
    if input._array.shape[-len(size) :] != size or not size:
        raise _wrong_size("layer_norm", size, input)
    if weight is not None and weight._array.shape != size:
        raise _wrong_parameter("weight", weight, size)
    if bias is not None and bias._array.shape != size:
        raise _wrong_parameter("bias", bias, size)
    return _layer_norm_op(input, size, weight, bias, eps)[0]


def _wrong_size(name: str, size: Any, input: Any) -> errors.InvalidArgument:
    return errors.InvalidArgument(
        f"{name}: Given normalized_shape={list(size)}, expected input with shape "
        f"[*, {', '.join(map(str, size))}], but got input of size{list(input._array.shape)}",
        help=["normalized_shape gives the input's last sizes"],
    )


def _wrong_parameter(name: str, value: Any, size: Any) -> errors.InvalidArgument:
    return errors.InvalidArgument(
        f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
        f"{list(value._array.shape)} and normalized_shape = {list(size)}"
    )


@fused
def _group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    batch = input.shape[0]
    count = batch * num_groups
    made, mean, rate = kernels.standardized_rows(
        input.reshape(count, input.size // max(count, 1)), eps
    )
    made = made.reshape(input.shape)
    shape = (-1, *[1] * (input.ndim - 2))
    if weight is not None:
        made *= weight.reshape(shape)
    if bias is not None:
        made += bias.reshape(shape)
    return made, mean.reshape(batch, num_groups), rate.reshape(batch, num_groups)


def _group_norm_backward(
    gradients: Any, input: Any, mean: Any, rate: Any, weight: Any, groups: int, eps: float,
    needs: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The same on tensors, as a function of the input alone: to be differentiated again."""
    g, *others = gradients
    g = traced.zeros_like(input) if g is None else g
    shape = input.shape
    rows = (shape[0], groups, math.prod(shape[1:]) // groups)
    standard, rate = standard_values(input.reshape(rows), (-1,), eps)
    scaled = g if weight is None else g * weight.reshape(-1, *[1] * (len(shape) - 2))
    of_input = through_statistics(scaled.reshape(rows), standard, rate, (-1,))
    if any(other is not None for other in others):
        few = (None if other is None else other.unsqueeze(-1) for other in others)
        of_input = of_input + kernels.through_moments(few, standard, rate, rows[2])
    spread = standard.reshape(shape)
    return (
        of_input.reshape(shape),
        traced.channel_sums(g * spread) if needs[1] else None,
        traced.channel_sums(g) if needs[2] else None,
    )


offer("group_norm_backward", in_float(kernels.group_norm_backward), _group_norm_backward)
_group_norm_op = operation(
    "group_norm",
    _group_norm,
    tensors="input ?weight ?bias",
    grad=lambda F, g, input, out1, out2, weight, num_groups, eps, needs: F.group_norm_backward(
        g, input, out1, out2, weight, num_groups, eps, needs
    ),
    node_name="NativeGroupNormBackward0",
    samples=lambda make: [
        sample(make(2, 4, 3), 2, make(4), make(4)),
        sample(make(2, 4), 2, None, make(4), 1e-3),
    ],
    doc="Groups of channels with mean 0 and variance 1, scaled and shifted.",
)


@native
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Each sample's groups of channels, shifted and scaled to mean 0 and variance 1.

    Args:
        input: (N, C, ...).
        num_groups: how many groups the channels are divided into.
        weight, bias: (C), or None.
        eps: added to the variance.
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise errors.InvalidArgument(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if num_groups <= 0 or shape[1] % num_groups:
        raise errors.InvalidArgument(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    check_channel_parameters(shape[1], weight=weight, bias=bias)
    return _group_norm_op(input, num_groups, weight, bias, eps)[0]


def check_channel_parameters(channels: int, **parameters: Any) -> None:
    """Raise if a parameter does not have one number for each channel."""
    for name, value in parameters.items():
        if value is not None and value._array.shape != (channels,):
            raise errors.InvalidArgument(
                f"Expected {name} to be a vector of size equal to the number of channels in input "
                f"({channels}), but got {name} of shape {list(value._array.shape)}"
            )


@fused
def _rms_norm(input: Any, normalized_shape: Any, weight: Any, eps: float) -> tuple[Any, Any]:
    split = input.ndim - len(normalized_shape)
    rows = input.reshape(math.prod(input.shape[:split]), math.prod(normalized_shape))
    square = np.expand_dims(np.vecdot(rows, rows), -1) / max(rows.shape[-1], 1)
    rate = 1 / np.sqrt(square + eps)
    made = rows * rate
    if weight is not None:
        made = made * weight.reshape(-1)
    few = (*input.shape[:split], *[1] * len(normalized_shape))
    return made.reshape(input.shape), rate.reshape(few)


def _rms_norm_backward(
    gradients: Any, input: Any, rate: Any, weight: Any, size: Any, eps: float, needs: Any
) -> tuple[Any, Any]:
    """The gradients on tensors, as a function of the input alone: to be differentiated again."""
    g, of_rate = gradients
    g = traced.zeros_like(input) if g is None else g
    dims = tuple(range(-len(size), 0))
    rate = traced.rsqrt(traced.mean(input * input, dims, True) + eps)
    standard = input * rate
    scaled = g if weight is None else g * weight
    of_input = (scaled - standard * traced.mean(scaled * standard, dims, True)) * rate
    if of_rate is not None:
        count = math.prod(size)
        of_input = of_input + kernels.through_moments((None, of_rate), standard, rate, count)
    return of_input, traced.sum_to_size(g * standard, size) if needs[1] else None


offer("rms_norm_backward", in_float(kernels.rms_norm_backward), _rms_norm_backward)
# PyTorch on the CPU puts this together from smaller operations, the last of them a product.
_rms_norm_op = operation(
    "rms_norm",
    _rms_norm,
    tensors="input ?weight",
    grad=lambda F, g, input, out1, weight, normalized_shape, eps, needs: F.rms_norm_backward(
        g, input, out1, weight, normalized_shape, eps, needs
    ),
    node_name="MulBackward0",
    samples=lambda make: [
        sample(make(2, 3, 4), (4,), make(4), 1e-5),
        sample(make(2, 3, 4), (3, 4), None, 1e-3),
    ],
    doc="Rows with mean square 1, scaled; with the factors.",
)


@native
def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    r"""$w x / \sqrt{\overline{x^2} + \epsilon}$, with the mean square over the last dimensions.

    Args:
        input: whose last sizes are `normalized_shape`.
        normalized_shape: the sizes over which is normalized, from the right.
        weight: of shape `normalized_shape`, or None.
        eps: added to the mean square; by default the dtype's step from 1.
    """
    size = (normalized_shape,) if normalized_shape.__class__ is int else tuple(normalized_shape)
    if input._array.shape[-len(size) :] != size or not size:
        raise _wrong_size("rms_norm", size, input)
    if weight is not None and weight._array.shape != size:
        raise _wrong_parameter("weight", weight, size)
    if eps is None:
        kind = input._array.dtype
        eps = float(np.finfo(kind if kind.kind in "fc" and kind.itemsize > 2 else "f").eps)
    if input._array.dtype.kind == "c":
        made = input * traced.rsqrt((input * input).mean(tuple(range(-len(size), 0)), True) + eps)
        return made if weight is None else made * weight
    return _rms_norm_op(input, size, weight, eps)[0]


# --- lengths and neighbours --------------------------------------------------------------------


@takes_tensors
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    r"""Vectors of length 1 along a dimension: $x / \max(\|x\|_p, \epsilon)$.

    >>> import lamina
    >>> lamina.nn.functional.normalize(lamina.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    length = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return traced.div(input, length) if out is None else traced.div(input, length, out=out)


@takes_tensors
def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    r"""$x / (k + \alpha \overline{x^2})^\beta$, with the mean square over neighbouring channels.

    Args:
        input: (N, C, ...).
        size: how many channels count as neighbours; beyond the first and last are zeros.
        alpha, beta, k: see the formula.
    """
    shape = input._array.shape
    if len(shape) < 3:
        raise errors.InvalidValue(
            f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)"
        )
    if input._array.size == 0:
        return input
    squares = (input * input).reshape(shape[0], 1, shape[1], -1)
    squares = constant_pad_nd(squares, (0, 0, size // 2, (size - 1) // 2), 0)
    mean = avg_pool2d(squares, (size, 1), stride=1).reshape(shape)
    return input / (mean * alpha + k) ** beta
