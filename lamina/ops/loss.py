"""Losses of each element: squared and absolute errors, binary cross-entropy, divergences."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.arguments import takes_tensors
from lamina.core.autocasting import in_float32
from lamina.core.call import operation
from lamina.core.op import PROMOTE
from lamina.core.samples import sample
from lamina.core.warning import warn
from lamina.ops.reductions_of_losses import (
    check_reduction,
    reduced,
    reduced_tensor,
    reduction_of,
    share,
)

__all__: list[str] = []


def _pairs(*rest: Any) -> Any:
    """Samples of a loss between two tensors."""
    return lambda make: [
        sample(make(3, 4), make(3, 4), *rest),
        sample(make(3, 4), make(3, 4), "sum", *rest[1:]),
        sample(make(3, 4), make(1, 4), "none", *rest[1:]),
    ]


def _check_pair(name: str, input: Any, target: Any, reduction: str) -> None:
    """A wrong reduction raises; sizes that only broadcast are worth a warning."""
    if reduction != "mean":
        check_reduction(reduction)
    if input._array.shape != target._array.shape:
        warn(
            f"{name}: the target's size ({target.shape}) is different to the input size "
            f"({input.shape}): they are broadcast, and every element meets several others"
        )


# --- distances ---------------------------------------------------------------------------------


@fused
def _mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    difference = input - target
    return reduced(difference * difference, reduction)


@fused
def _mse_slope(F: Any, g: Any, input: Any, target: Any, reduction: str) -> Any:
    difference = input - target
    return difference * (share(g, difference.shape, reduction) * 2)


_mse = operation(
    "mse_loss",
    _mse_loss,
    tensors="input target",
    grad={
        "input": lambda F, g, input, target, reduction: _mse_slope(F, g, input, target, reduction),
        "target": lambda F, g, input, target, reduction: _mse_slope(F, g, target, input, reduction),
    },
    dtypes=PROMOTE,
    samples=_pairs("mean"),
    doc="The mean of $(x - y)^2$.",
)


@takes_tensors
def mse_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The mean of $(x - y)^2$.

    Args:
        input: the output of a model.
        target: what was wanted.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
        weight: a weight for each element; the mean is then over the sum of weights.

    >>> import lamina
    >>> lamina.nn.functional.mse_loss(lamina.tensor([1.0, 2.0]), lamina.tensor([1.0, 4.0]))
    tensor(2.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_pair("mse_loss", input, target, reduction)
    if weight is not None:
        return _weighted(_mse(input, target, "none"), weight, reduction)
    return _mse(input, target, reduction)


def _weighted(losses: Any, weight: Any, reduction: str) -> Any:
    """Losses times weights; the mean is over the sum of weights."""
    if weight._array.shape != losses._array.shape:
        raise errors.InvalidValue("Weights and input must have the same size.")
    losses = losses * weight
    if reduction == "mean":
        return losses.sum() / weight.sum()
    return reduced_tensor(losses, reduction)


@in_float32
@takes_tensors
def l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The mean of $|x - y|$; arguments as for `mse_loss`.

    >>> import lamina
    >>> lamina.nn.functional.l1_loss(lamina.tensor([1.0, 2.0]), lamina.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_pair("l1_loss", input, target, reduction)
    losses = (input - target).abs()
    if weight is not None:
        return _weighted(losses, weight, reduction)
    return reduced_tensor(losses, reduction)


@fused
def _smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    distance = np.abs(input - target)
    near = np.minimum(distance, beta)
    return reduced(near * near * (0.5 / beta) + (distance - near), reduction)


@fused
def _clamped_slope(F: Any, g: Any, first: Any, second: Any, reduction: str, limit: float) -> Any:
    difference = first - second
    return F.clamp(difference, -limit, limit) * share(g, difference.shape, reduction)


_smooth_l1 = operation(
    "smooth_l1_loss",
    _smooth_l1_loss,
    tensors="input target",
    grad={
        "input": lambda F, g, input, target, reduction, beta: _clamped_slope(
            F, g / beta, input, target, reduction, beta
        ),
        "target": lambda F, g, input, target, reduction, beta: _clamped_slope(
            F, g / beta, target, input, reduction, beta
        ),
    },
    node_name="SmoothL1LossBackward0",
    dtypes=PROMOTE,
    samples=_pairs("mean", 0.7),
    doc="Quadratic within `beta` of the target, linear beyond.",
)


@takes_tensors
def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    r"""The mean of $d^2 / 2 \beta$ where $d = |x - y| < \beta$, of $d - \beta / 2$ elsewhere."""
    reduction = reduction_of(size_average, reduce, reduction)
    _check_pair("smooth_l1_loss", input, target, reduction)
    if beta < 0:
        raise errors.InvalidArgument("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _smooth_l1(input, target, reduction, beta)


@fused
def _huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    distance = np.abs(input - target)
    near = np.minimum(distance, delta)
    return reduced(near * (distance - near * 0.5), reduction)


_huber = operation(
    "huber_loss",
    _huber_loss,
    tensors="input target",
    grad={
        "input": lambda F, g, input, target, reduction, delta: _clamped_slope(
            F, g, input, target, reduction, delta
        ),
        "target": lambda F, g, input, target, reduction, delta: _clamped_slope(
            F, g, target, input, reduction, delta
        ),
    },
    dtypes=PROMOTE,
    samples=_pairs("mean", 0.7),
    doc="Quadratic within `delta` of the target, linear with slope `delta` beyond.",
)


@takes_tensors
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    r"""The mean of $d^2 / 2$ where $d = |x - y| < \delta$, of $\delta (d - \delta / 2)$ beyond."""
    _check_pair("huber_loss", input, target, reduction)
    if delta <= 0:
        raise errors.InvalidArgument("huber_loss does not support non-positive values for delta.")
    if weight is not None:
        return _weighted(_huber(input, target, "none", delta), weight, reduction)
    return _huber(input, target, reduction, delta)


@fused
def _soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    return reduced(np.logaddexp(0, -target * input), reduction)


_soft_margin = operation(
    "soft_margin_loss",
    _soft_margin_loss,
    tensors="input target",
    grad={
        "input": lambda F, g, input, target, reduction: (
            share(g, input.shape, reduction) * (-target * F.sigmoid(-target * input))
        )
    },
    dtypes=PROMOTE,
    samples=_pairs("mean"),
    doc=r"The mean of $\log(1 + e^{-y x})$, for targets that are 1 or -1.",
)


def soft_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $\log(1 + e^{-y x})$, for targets $y$ that are 1 or -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    return _soft_margin(input, target, reduction)
