"""Losses of pairs and triples: rankings, similarities, and distances between examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native, takes_tensors
from lamina.core.autocasting import in_float32
from lamina.core.op import traced
from lamina.ops.reductions_of_losses import (
    check_reduction,
    reduced_tensor,
    reduction_of,
)

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


@native
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    r"""The cosine of the angle between vectors along a dimension: $x \cdot y / |x| |y|$.

    Args:
        x1, x2: tensors that broadcast against each other.
        dim: the dimension in which vectors lie.
        eps: the least length that is divided by.

    >>> import lamina
    >>> lamina.cosine_similarity(lamina.tensor([[1.0, 0.0]]), lamina.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    if x1._array.shape != x2._array.shape:
        # Lengths are those of the broadcast vectors.
        shape = np.broadcast_shapes(x1._array.shape, x2._array.shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    length_1 = _length(x1, dim).clamp_min(eps)
    length_2 = _length(x2, dim).clamp_min(eps)
    return ((x1 / length_1) * (x2 / length_2)).sum(dim)


def _length(x: Any, dim: int) -> Any:
    return traced.vector_norm(x, 2, dim, True)


@native
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    r"""The length of $x - y + \epsilon$ along the last dimension.

    >>> import lamina
    >>> lamina.pairwise_distance(lamina.zeros(1, 2), lamina.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@native
def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norms of the differences of all pairs of rows: (N, M) to (N (N - 1) / 2)."""
    if input.dim() != 2:
        raise errors.InvalidArgument(
            f"pdist only supports 2D tensors, got: {input.dim()}D", help=["one row for each point"]
        )
    first, second = np.triu_indices(input.shape[0], 1)
    return (input[first] - input[second]).norm(p, -1)


@in_float32
def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $x$ where the target is 1, and of $\max(0, m - x)$ where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    apart = traced.where(target == 1, 0.0, (margin - input).clamp_min(0))
    together = traced.where(target == -1, 0.0, input)
    return reduced_tensor(apart + together, reduction)


@takes_tensors
def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $\max(0, -t (x_1 - x_2) + m)$: a target of 1 wants $x_1$ to be the larger."""
    reduction = reduction_of(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise errors.InvalidArgument(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced_tensor((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@in_float32
def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $1 - \cos$ where the target is 1, and of $\max(0, \cos - m)$ where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    # A tiny number keeps the derivative of the root finite at the zero vector.
    tiny = 1e-12
    product = (input1 * input2).sum(-1)
    squares = ((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)
    cosine = product / squares.sqrt()
    together = traced.where(target == 1, 1 - cosine, 0.0)
    apart = traced.where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return reduced_tensor(together + apart, reduction)


@in_float32
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $\max(0, d(a, p) - d(a, n) + m)$ for distances of p-norm.

    Args:
        anchor, positive, negative: examples, along the last dimension.
        margin: how much farther the negative example should be.
        p: the norm.
        eps: added to differences.
        swap: whether the distance from positive to negative counts if it is the smaller.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if margin <= 0:
        raise errors.InvalidValue(f"margin must be greater than 0, got {margin}")

    def distance(x: Any, y: Any) -> Any:
        return pairwise_distance(x, y, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    r"""The mean of $\max(0, d(a, p) - d(a, n) + m)$ for a distance of your own."""
    check_reduction(reduction)
    if margin <= 0:
        raise errors.InvalidValue(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Any,
    positive: Any,
    negative: Any,
    distance: Callable[[Any, Any], Any],
    margin: float,
    swap: bool,
    reduction: str,
) -> Any:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = traced.minimum(far, distance(positive, negative))
    return reduced_tensor((near - far + margin).clamp_min(0), reduction)
