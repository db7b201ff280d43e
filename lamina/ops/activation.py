"""Activation functions, with the signatures of `torch.nn.functional`.

The ones with kinks are declared here; the smooth ones, in `smooth_activation`, are named here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.fast import binary, unary
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import KEEP, traced
from lamina.core.samples import Make, Sample, sample
from lamina.core.tensor import wrap
from lamina.ops.choices import change_by
from lamina.ops.constants import zero_beside
from lamina.ops.draws import draw_for
from lamina.ops.smooth_activation import gelu as gelu
from lamina.ops.smooth_activation import glu as glu
from lamina.ops.smooth_activation import hardshrink as hardshrink
from lamina.ops.smooth_activation import hardsigmoid as hardsigmoid
from lamina.ops.smooth_activation import hardswish as hardswish
from lamina.ops.smooth_activation import log_softmax as log_softmax
from lamina.ops.smooth_activation import logsigmoid as logsigmoid
from lamina.ops.smooth_activation import mish as mish
from lamina.ops.smooth_activation import silu as silu
from lamina.ops.smooth_activation import softmax as softmax
from lamina.ops.smooth_activation import softmin as softmin
from lamina.ops.smooth_activation import softplus as softplus
from lamina.ops.smooth_activation import softshrink as softshrink
from lamina.ops.smooth_activation import softsign as softsign
from lamina.ops.smooth_activation import tanhshrink as tanhshrink

__all__ = [
    "celu",
    "celu_",
    "hardshrink",
    "prelu",
    "relu",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "threshold",
    "threshold_",
]


def _distinct(*arguments: Any) -> Callable[[Make], list[Sample]]:
    """Samples off the kinks at 0."""
    return lambda make: [sample(make.distinct(5, 8), *arguments)]


def _declared(name: str, kernel: Any, rule: Any, node_name: str, samples: Any, doc: str) -> Any:
    return operation(
        name,
        kernel,
        grad={"input": rule},
        node_name=node_name,
        samples=samples,
        doc=doc,
    )


def _run(function: Any, inplace: bool, input: Any, *args: Any) -> Any:
    return change_by(function, input, *args) if inplace else function(input, *args)


# --- relu and its bounded and leaky forms ------------------------------------------------------


@fused
def _relu(input: Any) -> Any:
    if input.dtype.kind in "bc":
        raise errors.DtypeError("Boolean and complex inputs are not supported for relu")
    return np.maximum(input, zero_beside(input))


_relu_op = unary(
    "relu",
    _relu,
    grad=fused(lambda F, g, out: F.where(out <= 0, 0, g)),
    dtypes=KEEP,
    samples=_distinct(),
    doc="Each element if it is positive, else 0.",
)


@takes_numpy_names
def relu(input: Any, inplace: bool = False, **numpy_names: Any) -> Any:
    """Each element if it is positive, else 0."""
    if numpy_names or input is MISSING:
        return again(relu, numpy_names, input, inplace)
    return change_by(_relu_op, input) if inplace else _relu_op(input)


@native
def relu_(input: Any) -> Any:
    """Replace negative elements by 0, in place."""
    return change_by(_relu_op, input)


def _hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    if min_val > max_val:
        raise errors.InvalidArgument("min_val cannot be greater than max_val")
    kind = input.dtype.type
    return np.minimum(np.maximum(input, kind(min_val)), kind(max_val))


@fused
def _hardtanh_rule(F: Any, g: Any, input: Any, min_val: float, max_val: float) -> Any:
    return F.where(F.logical_or(input <= min_val, input >= max_val), 0, g)


_hardtanh_op = _declared(
    "hardtanh", _hardtanh, _hardtanh_rule, "HardtanhBackward0", _distinct(-0.5, 0.75),
    "Each element, moved to the nearest bound if it is outside the bounds.",
)  # fmt: skip


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Each element, moved to the nearest bound if it is outside the bounds."""
    return _run(_hardtanh_op, inplace, input, min_val, max_val)


@native
def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Move each element into the bounds, in place."""
    return change_by(_hardtanh_op, input, min_val, max_val)


def relu6(input: Any, inplace: bool = False) -> Any:
    """Each element, with 0 and 6 as bounds."""
    return _run(_hardtanh_op, inplace, input, 0, 6)


@fused
def _leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    return np.where(input > 0, input, input * input.dtype.type(negative_slope))


_leaky_relu_op = _declared(
    "leaky_relu",
    _leaky_relu,
    lambda F, g, input, negative_slope: F.where(input > 0, g, g * negative_slope),
    "LeakyReluBackward0",
    _distinct(0.1),
    "Each element if it is positive, else a fraction of it.",
)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """Each element if it is positive, else a fraction of it."""
    return _run(_leaky_relu_op, inplace, input, negative_slope)


@native
def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:
    """Shrink negative elements, in place."""
    return change_by(_leaky_relu_op, input, negative_slope)


_rrelu_op = _declared(
    "rrelu",
    lambda input, slope: _leaky_relu(input, slope),
    lambda F, g, input, slope: F.where(input > 0, g, g * slope),
    "RreluWithNoiseBackward0",
    _distinct(0.2),
    "Each element if it is positive, else a fraction of it.",
)
_scaled_negative = binary(
    "scaled_negative",
    lambda input, other: np.where(input > 0, input, input * other),
    grad={
        "input": lambda F, g, input, other: F.where(input > 0, g, g * other),
        "other": lambda F, g, input: F.where(input > 0, 0, g * input),
    },
    node_name="RreluWithNoiseBackward0",
    doc="Each element if it is positive, else its product with a factor of its own.",
)


def _factors(stream: Any, input: Any, lower: float, upper: float) -> Any:
    """A random factor for each element that is not positive, 1 for the others."""
    if input.dtype != np.float64:  # bounds count as numbers of the precision computed in
        lower, upper = float(np.float32(lower)), float(np.float32(upper))
    found = np.ones_like(input, order="C")
    is_scaled = input <= 0
    found[is_scaled] = stream.uniform((int(is_scaled.sum()),), np.float64, lower, upper)
    return found


@native
def rrelu(
    input: Any,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """Each element if it is positive, else a fraction of it: random in training, else the mean."""
    if not training:
        return _run(_rrelu_op, inplace, input, (lower + upper) / 2)
    if not input.dtype.is_floating_point:
        raise errors.NotImplementedForDtype(
            f"rrelu in training is not implemented for {input.dtype}",
            [(this_place(), "called here")],
        )
    drawn = draw_for(None, lambda stream, x: _factors(stream, x, lower, upper), input._array)
    factors = wrap(drawn, None)
    return _run(_scaled_negative, inplace, input, factors)


@native
def rrelu_(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Any:
    """Shrink negative elements, in place."""
    return rrelu(input, lower, upper, training, inplace=True)


_threshold_op = _declared(
    "threshold",
    lambda input, threshold, value: np.where(input <= threshold, input.dtype.type(value), input),
    lambda F, g, input, threshold: F.where(input <= threshold, 0, g),
    "ThresholdBackward0",
    _distinct(0.1, 5.0),
    "Each element above a threshold, else a value.",
)


@native
def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """Each element above a threshold, else a value."""
    return _run(_threshold_op, inplace, input, threshold, value)


@native
def threshold_(input: Any, threshold: float, value: float) -> Any:
    """Replace elements that are not above the threshold, in place."""
    return change_by(_threshold_op, input, threshold, value)


_prelu_kernel = binary(
    "prelu_kernel",
    lambda input, other: np.where(input > 0, input, input * other),
    grad={
        "input": lambda F, g, input, other: F.where(input > 0, g, g * other),
        "other": lambda F, g, input: F.where(input > 0, 0, g * input),
    },
    node_name="PreluKernelBackward0",
    doc="Each element if it is positive, else its product with a learned factor.",
)


@native
def prelu(input: Any, weight: Any) -> Any:
    """Each element if it is positive, else its product with its channel's learned factor."""
    count = weight._array.size
    shape = input._array.shape
    channels = shape[1] if len(shape) > 1 else 1
    if weight._array.ndim > 1:
        raise errors.InvalidArgument("prelu: Expected `weight` to be a scalar or 1D tensor")
    if count != 1 and count != channels:
        raise errors.ShapeMismatch(
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{count} and channel size = {channels}."
        )
    if len(shape) > 1 or weight._array.ndim:
        wanted = (1, count, *(1,) * (len(shape) - 2)) if len(shape) > 1 else (1,) * len(shape)
        weight = traced.reshape(weight, wanted)
    return _prelu_kernel(input, weight)


# --- exponential below zero --------------------------------------------------------------------


@fused
def _elu(input: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    kind = input.dtype.type
    below = np.expm1(np.minimum(input, 0) * kind(input_scale)) * kind(alpha * scale)
    return np.where(input > 0, input * kind(scale), below)


@fused
def _elu_rule(F: Any, g: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    below = F.exp(F.where(input > 0, 0, input) * input_scale) * (input_scale * alpha * scale)
    return g * F.where(input > 0, scale, below)


_elu_op = _declared(
    "elu", _elu, _elu_rule, "EluBackward0", _distinct(1.5, 1.0, 1.0),
    "Each element if it is positive, else an exponential that levels off.",
)  # fmt: skip
_celu_op = _declared(
    "celu", _elu, _elu_rule, "CeluBackward0", _distinct(1.5, 1.0, 0.75),
    "Each element if it is positive, else an exponential that levels off.",
)  # fmt: skip
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    r"""Each element if it is positive, else $\alpha (e^x - 1)$."""
    return _run(_elu_op, inplace, input, alpha, 1.0, 1.0)


@native
def elu_(input: Any, alpha: float = 1.0) -> Any:
    """Apply `elu` in place."""
    return change_by(_elu_op, input, alpha, 1.0, 1.0)


@native
def selu(input: Any, inplace: bool = False) -> Any:
    """A scaled `elu` whose constants keep the mean at 0 and the variance at 1."""
    return _run(_elu_op, inplace, input, *_SELU)


@native
def selu_(input: Any) -> Any:
    """Apply `selu` in place."""
    return selu(input, inplace=True)


@native
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    r"""Each element if it is positive, else $\alpha (e^{x / \alpha} - 1)$."""
    if alpha == 0:
        raise errors.InvalidArgument("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _run(_celu_op, inplace, input, alpha, 1.0, 1.0 / alpha)


@native
def celu_(input: Any, alpha: float = 1.0) -> Any:
    """Apply `celu` in place."""
    return celu(input, alpha, inplace=True)
