"""Normalization over a batch: each channel with mean 0 and variance 1."""

from __future__ import annotations

import math
from typing import Any

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.arguments import native
from lamina.core.call import operation
from lamina.core.inplace import inplace
from lamina.core.modes import no_grad
from lamina.core.op import offer, traced
from lamina.core.samples import sample
from lamina.ops import normalization_kernels as kernels
from lamina.ops.halves import in_float
from lamina.ops.normalization import (
    check_channel_parameters,
    standard_values,
    through_statistics,
)

__all__ = ["batch_norm", "instance_norm"]


@fused
def _batch_norm(input: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    return kernels.batch_norm_forward(input, weight, bias, None, None, eps)


def _batch_norm_backward(
    gradients: Any, input: Any, mean: Any, variance: Any, weight: Any, eps: float, needs: Any
) -> tuple[Any, Any, Any]:
    """The same on tensors, as a function of the input alone: to be differentiated again."""
    g, g_mean, g_variance = gradients
    g = traced.zeros_like(input) if g is None else g
    ndim = input._array.ndim
    along, dims = (-1, *[1] * (ndim - 2)), (0, *range(2, ndim))
    standard, rate = standard_values(input, dims, eps)
    scaled = g if weight is None else g * weight.reshape(along)
    of_input = through_statistics(scaled, standard, rate, dims)
    scale = 1 / max(math.prod(input.shape) // max(input.shape[1], 1), 1)
    if g_mean is not None:
        of_input = of_input + g_mean.reshape(along) * scale
    if g_variance is not None:
        of_input = of_input + g_variance.reshape(along) * (2 * scale) * standard / rate
    return (
        of_input,
        traced.channel_sums(g * standard) if needs[1] else None,
        traced.channel_sums(g) if needs[2] else None,
    )


offer("batch_norm_backward", in_float(kernels.batch_norm_backward), _batch_norm_backward)
_of_batch = operation(
    "batch_norm",
    _batch_norm,
    tensors="input ?weight ?bias",
    grad=lambda F, g, input, out1, out2, weight, eps, needs: F.batch_norm_backward(
        g, input, out1, out2, weight, eps, needs
    ),
    node_name="NativeBatchNormBackward0",
    samples=lambda make: [
        sample(make(3, 2, 4), make(2), make(2), 1e-5),
        sample(make(4, 2), None, None, 1e-5),
    ],
    doc="Channels with mean 0 and variance 1, scaled and shifted; with their means and variances.",
)


@fused
def _fixed_batch_norm(
    input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float
) -> Any:
    return kernels.batch_norm_forward(input, weight, bias, mean, variance, eps)[0]


def _for_channels(F: Any, value: Any, ndim: int) -> Any:
    return F.reshape(value, (-1, *[1] * (ndim - 2)))


def _fixed_input_rule(F: Any, g: Any, weight: Any, variance: Any, eps: float) -> Any:
    slope = F.rsqrt(variance + eps)
    return g * _for_channels(F, slope if weight is None else slope * weight, g.ndim)


def _fixed_weight_rule(F: Any, g: Any, input: Any, mean: Any, variance: Any, eps: float) -> Any:
    away = input - _for_channels(F, mean, g.ndim)
    return F.channel_sums(g * away) * F.rsqrt(variance + eps)


_with_fixed = operation(
    "batch_norm_with_fixed_statistics",
    _fixed_batch_norm,
    tensors="input ?weight ?bias mean variance",
    grad={
        "input": _fixed_input_rule,
        "weight": _fixed_weight_rule,
        "bias": lambda F, g: F.channel_sums(g),
    },
    node_name="NativeBatchNormBackward0",
    samples=lambda make: [
        sample(make(4, 2, 3), make(2), make(2), make(2), make(2, low=0.5), 1e-5),
        sample(make(4, 2), None, None, make(2), make(2, low=0.5), 1e-5),
    ],
    doc="Channels shifted and scaled by given means and variances.",
)


def _running_average(input: Any, value: Any, momentum: float) -> Any:
    return input * (1 - momentum) + value * momentum


_average_in = inplace(
    operation(
        "running_average",
        _running_average,
        tensors="input value",
        doc="An average over batches in which older ones count less and less.",
    )
)


@native
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    r"""Each channel shifted and scaled to mean 0 and variance 1, over the batch and positions.

    Args:
        input: (N, C, ...).
        running_mean, running_var: statistics over batches, (C). In training they are updated in
            place, otherwise used. They may be None in training.
        weight, bias: (C), or None.
        training: whether the batch's own statistics are used.
        momentum: the share of a new batch in the running statistics.
        eps: added to the variance.
    """
    shape = input._array.shape
    if not input._array.size:
        made = input.clone() if weight is None else input * weight[0]
        return made if bias is None else made + bias[0]
    if len(shape) < 2:
        raise errors.InvalidArgument(
            f"batch_norm: expected an input of at least 2 dimensions, but got size {list(shape)}"
        )
    check_channel_parameters(
        shape[1], running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    count = math.prod(shape) // shape[1] if shape[1] else 0
    if training:
        if count == 1:
            raise errors.InvalidValue(
                "Expected more than 1 value per channel when training, got input size "
                f"{list(shape)}",
                help=["a variance needs two values: use a larger batch, or `model.eval()`"],
            )
    elif running_mean is None or running_var is None:
        raise errors.InvalidArgument(
            "batch_norm: Expected running_mean and running_var to be defined when training=False"
        )
    if not training:
        return _with_fixed(input, weight, bias, running_mean, running_var, eps)
    out, mean, variance = _of_batch(input, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        with no_grad():
            if running_mean is not None:
                _average_in(running_mean, mean, momentum)
            if running_var is not None:
                _average_in(running_var, variance * (count / max(count - 1, 1)), momentum)
    return out


@native
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel of each sample, shifted and scaled to mean 0 and variance 1.

    Args:
        input: (N, C, ...).
        running_mean, running_var: statistics over batches, (C), or None.
        weight, bias: (C), or None.
        use_input_stats: whether the input's own statistics are used.
        momentum: the share of a new batch in the running statistics.
        eps: added to the variance.
    """
    batch, channels, *sizes = input._array.shape
    if use_input_stats and math.prod(sizes) == 1:
        raise errors.InvalidValue(
            "Expected more than 1 spatial element when training, got input size "
            f"{list(input._array.shape)}"
        )
    if not use_input_stats and (running_mean is None or running_var is None):
        raise errors.InvalidArgument(
            "Expected running_mean and running_var to be defined when use_input_stats=False"
        )
    repeated: list[Any] = [
        None if value is None else value.repeat(batch)
        for value in (running_mean, running_var, weight, bias)
    ]
    made = batch_norm(
        input.reshape(1, batch * channels, *sizes),
        repeated[0],
        repeated[1],
        repeated[2],
        repeated[3],
        use_input_stats,
        momentum,
        eps,
    )
    if use_input_stats:
        with no_grad():
            for value, of_samples in zip((running_mean, running_var), repeated[:2], strict=True):
                if value is not None:
                    value.copy_(of_samples.reshape(batch, channels).mean(0))
    return made.view(input._array.shape)
