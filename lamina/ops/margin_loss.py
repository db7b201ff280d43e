"""Losses of class scores by margins: how far the target's score is above the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.ops.constants import constant_like
from lamina.ops.reductions_of_losses import (
    reduced,
    reduction_of,
    share,
)

__all__: list[str] = []


@takes_tensors
def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean over classes $j \ne t$ of $w_t \max(0, m - x_t + x_j)^p$."""
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise errors.InvalidValue(f"multi_margin_loss: only p == 1 and p == 2 supported, got {p}")
    if not input._array.ndim:
        input = input.unsqueeze(0)
    if input._array.ndim == 1:
        target = target.reshape(())
    return _multi_margin(input, target, weight, p, margin, reduction)


def _one_hot(target: Any, classes: int) -> Any:
    return np.expand_dims(target, -1) == constant_like(target, np.arange(classes))


def _multi_margin_parts(input: Any, target: Any, weight: Any, margin: float) -> tuple[Any, ...]:
    """Excess of each class over the margin, 0 at the target; where the target is; weights."""
    hot = _one_hot(target, input.shape[-1])
    own = np.sum(np.where(hot, input, 0), axis=-1, keepdims=True)
    excess = np.where(hot, 0, np.maximum(margin - own + input, 0))
    return excess, hot, (1 if weight is None else weight[np.expand_dims(target, -1)])


def _multi_margin_kernel(
    input: Any, target: Any, weight: Any, p: int, margin: float, reduction: str
) -> Any:
    excess, _, weights = _multi_margin_parts(input, target, weight, margin)
    return reduced(np.sum(excess**p * weights, axis=-1) / input.shape[-1], reduction)


def _multi_margin_slope(input: Any, target: Any, weight: Any, p: int, margin: float) -> Any:
    """The derivative of each row's loss with respect to the row."""
    excess, hot, weights = _multi_margin_parts(input, target, weight, margin)
    slope = (np.where(excess > 0, 1, 0) if p == 1 else 2 * excess) * weights / input.shape[-1]
    slope = slope.astype(input.dtype)
    return np.where(hot, -np.sum(slope, axis=-1, keepdims=True), slope)


operation(
    "multi_margin_slope",
    _multi_margin_slope,
    tensors="input target ?weight",
    doc="The derivative of each row's multi-class margin loss.",
)
_multi_margin = operation(
    "multi_margin_loss",
    _multi_margin_kernel,
    tensors="input target ?weight",
    grad={
        "input": lambda F, g, input, target, weight, p, margin, reduction: (
            share(g, input.shape[:-1], reduction, F, -1)
            * F.multi_margin_slope(input, target, weight, p, margin)
        )
    },
    samples=lambda make: [sample(make(4, 3), make.integers(4, high=3), None, 1, 1.0, "mean")],
    doc="The margin by which other classes come too close to the target's.",
)


@takes_tensors
def multilabel_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $\max(0, 1 - (x_t - x_j))$ over target classes $t$ and other classes $j$.

    A row of targets ends at its first -1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if not input._array.ndim:
        input, target = input.unsqueeze(0), target.reshape(1)
    return _multilabel_margin(input, target, reduction)


def _multilabel_parts(input: Any, target: Any) -> tuple[Any, Any, Any]:
    """`1 - (x_t - x_j)` where positive, for each pair; which t count; one-hot of all t."""
    classes = input.shape[-1]
    counts = np.cumsum(target < 0, axis=-1) == 0
    hot = _one_hot(np.where(counts, target, -1), classes)
    is_target = np.any(hot, axis=-2)
    own = np.take_along_axis(input, np.where(counts, target, 0), -1)
    gaps = 1 - np.expand_dims(own, -1) + np.expand_dims(input, -2)
    wanted = np.expand_dims(counts, -1) & ~np.expand_dims(is_target, -2)
    return np.where(wanted, np.maximum(gaps, 0), 0), hot, is_target


def _multilabel_margin_kernel(input: Any, target: Any, reduction: str) -> Any:
    gaps, _, _ = _multilabel_parts(input, target)
    return reduced(np.sum(gaps, axis=(-1, -2)) / input.shape[-1], reduction)


def _multilabel_margin_slope(input: Any, target: Any) -> Any:
    gaps, hot, _ = _multilabel_parts(input, target)
    active = (gaps > 0).astype(input.dtype)
    pull = np.sum(hot * np.sum(active, axis=-1, keepdims=True), axis=-2)
    return (np.sum(active, axis=-2) - pull) / input.shape[-1]


operation(
    "multilabel_margin_slope",
    _multilabel_margin_slope,
    tensors="input target",
    doc="The derivative of each row's multi-label margin loss.",
)
_multilabel_margin = operation(
    "multilabel_margin_loss",
    _multilabel_margin_kernel,
    tensors="input target",
    grad={
        "input": lambda F, g, input, target, reduction: (
            share(g, input.shape[:-1], reduction, F, -1) * F.multilabel_margin_slope(input, target)
        )
    },
    samples=lambda make: [sample(make(4, 3), make.integers(4, 3, high=3), "mean")],
    doc="The margin by which other classes come too close to any of the targets'.",
)


def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean over classes of $-(t \log \sigma(x) + (1 - t) \log \sigma(-x))$."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = -(target * traced.logsigmoid(input) + (1 - target) * traced.logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    rows = losses.sum(-1) / input.shape[-1]
    return rows if reduction == "none" else rows.mean() if reduction == "mean" else rows.sum()
