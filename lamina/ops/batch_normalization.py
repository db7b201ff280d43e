"""Normalization over a batch: each channel with mean 0 and variance 1."""

from __future__ import annotations

import math
from typing import Any

from lamina import errors
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


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    mean, variance = (None, None) if training else (running_mean, running_var)
    return kernels.batch_norm_forward(input, weight, bias, mean, variance, eps)


def _batch_norm_backward(
    g: Any, input: Any, mean: Any, rate: Any, weight: Any, training: bool, eps: float, needs: Any
) -> tuple[Any, Any, Any]:
    """The same on tensors, as a function of the input alone: to be differentiated again."""
    along = (-1, *[1] * (input._array.ndim - 2))
    dims = (0, *range(2, input._array.ndim))
    if training:
        standard, rate = standard_values(input, dims, eps)
    else:
        rate = rate.detach().reshape(along)
        standard = (input - mean.detach().reshape(along)) * rate
    scaled = g if weight is None else g * weight.reshape(along)
    if not needs[0]:
        of_input = None
    elif training:
        of_input = through_statistics(scaled, standard, rate, dims)
    else:
        of_input = scaled * rate
    return (
        of_input,
        traced.channel_sums(g * standard) if needs[1] else None,
        traced.channel_sums(g) if needs[2] else None,
    )


offer("batch_norm_backward", in_float(kernels.batch_norm_backward), _batch_norm_backward)
_batch_norm_op = operation(
    "batch_norm",
    _batch_norm,
    tensors="input ?weight ?bias ?running_mean ?running_var",
    grad=lambda F, g, input, out1, out2, weight, training, eps, needs: (
        *F.batch_norm_backward(g[0], input, out1, out2, weight, training, eps, needs),
        None,
        None,
    ),
    node_name="NativeBatchNormBackward0",
    samples=lambda make: [
        sample(make(3, 2, 4), make(2), make(2), None, None, True, 1e-5),
        sample(make(4, 2), None, None, make(2), make(2, low=0.5), False, 1e-5),
    ],
    doc="Channels with mean 0 and variance 1, scaled and shifted; with their statistics.",
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
    out, mean, _, variance = _batch_norm_op(
        input, weight, bias, running_mean, running_var, training, eps
    )
    if training and (running_mean is not None or running_var is not None):
        with no_grad():
            if running_mean is not None:
                _average_in(running_mean, mean, momentum)
            if running_var is not None:
                _average_in(running_var, variance * (count / max(count - 1, 1)), momentum)
    return out


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
    repeated = [
        None if value is None else value.repeat(batch)
        for value in (running_mean, running_var, weight, bias)
    ]
    made = batch_norm(
        input.reshape(1, batch * channels, *sizes), *repeated, use_input_stats, momentum, eps
    )
    if use_input_stats:
        with no_grad():
            for value, of_samples in zip((running_mean, running_var), repeated[:2], strict=True):
                if value is not None:
                    value.copy_(of_samples.reshape(batch, channels).mean(0))
    return made.view(input._array.shape)
