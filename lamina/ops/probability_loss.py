"""Losses of probabilities and densities: binary cross-entropy, divergence, likelihoods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.arguments import takes_tensors
from lamina.core.autocasting import in_float32
from lamina.core.call import operation
from lamina.core.op import PROMOTE, traced
from lamina.core.samples import sample
from lamina.core.warning import warn
from lamina.ops.reductions_of_losses import (
    check_reduction,
    legacy_reduction,
    reduced,
    reduced_tensor,
    reduction_of,
    share,
)

__all__: list[str] = []

# The logarithm of a probability is not taken to be less than this, so that losses stay finite.
LOWEST_LOG = -100.0


# --- binary cross-entropy ----------------------------------------------------------------------


@fused
def _binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    with np.errstate(divide="ignore"):
        yes = np.maximum(np.log(input), LOWEST_LOG)
        no = np.maximum(np.log1p(-input), LOWEST_LOG)
    losses = (target - 1) * no - target * yes
    return reduced(losses if weight is None else losses * weight, reduction)


@fused
def _bce_input(F: Any, g: Any, input: Any, target: Any, weight: Any, reduction: str) -> Any:
    g = share(g, input.shape, reduction)
    if weight is not None:
        g = g * weight
    return g * (input - target) / F.clamp(input * (1 - input), 1e-12, None)


def _bce_target(F: Any, g: Any, input: Any, weight: Any, reduction: str) -> Any:
    g = share(g, input.shape, reduction)
    if weight is not None:
        g = g * weight
    yes, no = F.clamp(F.log(input), LOWEST_LOG, None), F.clamp(F.log1p(-input), LOWEST_LOG, None)
    return g * (no - yes)


_bce = operation(
    "binary_cross_entropy",
    _binary_cross_entropy,
    tensors="input target ?weight",
    grad={
        "input": lambda F, g, input, target, weight, reduction: _bce_input(
            F, g, input, target, weight, reduction
        ),
        "target": lambda F, g, input, weight, reduction: _bce_target(
            F, g, input, weight, reduction
        ),
    },
    dtypes=PROMOTE,
    samples=lambda make: [
        sample(make(3, 4, low=0.1, high=0.9), make(3, 4, low=0.1, high=0.9)),
        sample(make(3, low=0.1, high=0.9), make(3, low=0.1, high=0.9), make(3), "none"),
    ],
    doc=r"The mean of $-(y \log x + (1 - y) \log(1 - x))$.",
)


@takes_tensors
def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $-(y \log x + (1 - y) \log(1 - x))$, for probabilities $x$.

    Args:
        input: probabilities.
        target: what was wanted, of the same shape, between 0 and 1.
        weight: a weight for each element; broadcasts.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".

    >>> import lamina
    >>> lamina.nn.functional.binary_cross_entropy(lamina.tensor([0.5]), lamina.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input._array.shape != target._array.shape:
        raise errors.InvalidValue(
            f"binary_cross_entropy: the target's size ({target.shape}) is different to the input "
            f"size ({input.shape})",
            help=["give each probability one target: reshape one of them"],
        )
    return _bce(input, target, weight, reduction)


@fused
def _with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """`log(1 + exp(-|x|))` never overflows, and is exact for large `|x|`."""
    below = np.log1p(np.exp(-np.abs(input))) + np.maximum(-input, 0)
    scale = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    losses = (1 - target) * input + scale * below
    return reduced(losses if weight is None else losses * weight, reduction)


def _shared_weighted(g: Any, shape: Any, weight: Any, reduction: str) -> Any:
    g = share(g, shape, reduction)
    return g if weight is None else g * weight


@fused
def _logits_input(
    F: Any, g: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str
) -> Any:
    g = _shared_weighted(g, input.shape, weight, reduction)
    if pos_weight is None:
        return g * (F.sigmoid(input) - target)
    positive = pos_weight * target
    return g * ((positive + 1 - target) * F.sigmoid(input) - positive)


def _logits_target(F: Any, g: Any, input: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    g = _shared_weighted(g, input.shape, weight, reduction)
    if pos_weight is None:
        return -(g * input)
    size = F.abs(input)
    below = F.log1p(F.exp(-size)) + (size - input) * 0.5
    return g * ((pos_weight - 1) * below - input)


_bce_logits = operation(
    "binary_cross_entropy_with_logits",
    _with_logits,
    tensors="input target ?weight ?pos_weight",
    grad={
        "input": lambda F, g, input, target, weight, pos_weight, reduction: _logits_input(
            F, g, input, target, weight, pos_weight, reduction
        ),
        "target": lambda F, g, input, weight, pos_weight, reduction: _logits_target(
            F, g, input, weight, pos_weight, reduction
        ),
    },
    dtypes=PROMOTE,
    samples=lambda make: [
        sample(make(3, 4), make(3, 4, low=0.1, high=0.9)),
        sample(make(3, 4), make(3, 4, low=0.1, high=0.9), make(4), make(4), "none"),
    ],
    doc=r"Binary cross-entropy of $\sigma(x)$, in one step that can't overflow.",
)


@takes_tensors
def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    r"""Binary cross-entropy of $\sigma(x)$, in one step that can't overflow.

    Args:
        input: scores.
        target: what was wanted, of the same shape, between 0 and 1.
        weight: a weight for each element; broadcasts.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
        pos_weight: a weight for what belongs to targets of 1; broadcasts.

    >>> import lamina
    >>> from lamina.nn import functional
    >>> functional.binary_cross_entropy_with_logits(lamina.tensor([0.0]), lamina.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input._array.shape != target._array.shape:
        raise errors.InvalidValue(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})",
            help=["give each score one target: reshape one of them"],
        )
    return _bce_logits(input, target, weight, pos_weight, reduction)


# --- divergence and likelihoods ----------------------------------------------------------------


@in_float32
def kl_div(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    r"""The mean of $y (\log y - x)$, where $x$ are log-probabilities.

    Args:
        input: log-probabilities.
        target: probabilities, or their logarithms if `log_target`.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "batchmean" (the sum over the batch size: the divergence proper), "mean", "sum"
            or "none".
        log_target: whether the target is given as logarithms.
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction == "mean":
        warn(
            "kl_div: reduction='mean' averages over elements; the divergence proper is the sum "
            "over the batch size, reduction='batchmean'"
        )
    elif reduction != "batchmean":
        check_reduction(reduction)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = traced.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0] if input._array.ndim else losses.sum()
    return reduced_tensor(losses, reduction)


@in_float32
@takes_tensors
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $e^x - y x$: how unlikely rates $e^x$ make counts $y$.

    Args:
        input: logarithms of rates, or rates if `log_input` is False.
        target: counts.
        log_input: whether the input is logarithms.
        full: whether to add Stirling's approximation of $\log y!$.
        size_average: replaced by `reduction`.
        eps: added to a rate before its logarithm is taken.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
    """
    reduction = reduction_of(size_average, reduce, reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + traced.where(target > 1, stirling, 0.0)
    return reduced_tensor(losses, reduction)


def gaussian_nll_loss(
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $\frac12 (\log v + (x - y)^2 / v)$: how unlikely bell curves make the targets.

    Args:
        input: means.
        target: what was observed.
        var: variances: one number, or a tensor of the input's shape, of that shape without its
            last dimension, or with 1 there.
        full: whether to add the constant $\frac12 \log 2 \pi$.
        eps: the least variance used; no gradient flows through this limit.
        reduction: "mean", "sum" or "none".
    """
    if isinstance(var, float | int):
        if var < 0:
            raise errors.InvalidValue("var has negative entry/entries")
        var = traced.full_like(input, float(var))
    elif bool((var < 0).any()):
        raise errors.InvalidValue("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif var._array.ndim != input._array.ndim or any(
            size not in (1, wanted) for size, wanted in zip(var.shape, input.shape, strict=True)
        ):
            raise errors.InvalidValue("var is of incorrect size")
    if reduction not in ("mean", "sum", "none"):
        raise errors.InvalidValue(f"{reduction} is not valid")
    # The limit acts on values alone: the gradient is taken as if there were none.
    limited = var + (var.detach().clamp(min=eps) - var.detach())
    losses = 0.5 * (limited.log() + (input - target) ** 2 / limited)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced_tensor(losses, reduction)
