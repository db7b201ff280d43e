"""Losses with a margin: how far apart classes or pairs should be, as layers."""

from __future__ import annotations

from collections.abc import Callable

from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn.distance import PairwiseDistance
from lamina.nn.loss import _Loss, _WeightedLoss

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _MarginLoss(_Loss):
    """A loss with a margin as its only setting."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_MarginLoss):
    """`max(0, -y * (x1 - x2) + margin)`: the first should rank higher where y is 1.

    Args:
        margin: by how much.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".

    Shape:
        Three inputs `(N,)` or `()`, the target of 1 and -1.

    Example:
        >>> import lamina
        >>> low, high = lamina.tensor([0.5]), lamina.tensor([2.0])
        >>> lamina.nn.MarginRankingLoss(margin=1.0)(low, high, lamina.tensor([1.0]))
        tensor(2.5000)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Loss):
    """`x` where y is 1, `max(0, margin - x)` where it is -1; x is a distance.

    Args:
        margin: how far apart different things should be.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """`1 - cos(x1, x2)` where y is 1, `max(0, cos(x1, x2) - margin)` where it is -1.

    Args:
        margin: from -1 to 1.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".

    Shape:
        Two inputs `(N, D)` or `(D,)`, and a target `(N,)` or `()`.
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """`log(1 + exp(-y * x))` for targets of 1 and -1.

    Args:
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """`sum(max(0, 1 - (x[y] - x[i]))) / C` over wanted classes y and others i.

    Args:
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".

    Shape:
        Scores `(N, C)` or `(C,)`; the target, of that shape, lists classes up to the first -1.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of `BCEWithLogitsLoss`: each class is wanted or not by itself.

    Args:
        weight: one weight a class.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class MultiMarginLoss(_WeightedLoss):
    """`sum(max(0, margin - x[y] + x[i]) ** p) / C` over the classes i that are not y.

    Args:
        p: 1 or 2.
        margin: by how much the wanted class should lead.
        weight: one weight a class.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".

    Shape:
        Scores `(N, C)` or `(C,)`, and classes `(N,)` or `()`.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise InvalidValue(f"only p == 1 and p == 2 supported, not {p}")
        if weight is not None and weight.dim() != 1:
            raise InvalidValue(f"weight must be 1-dimensional, one number a class, not {weight}")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class TripletMarginLoss(_Loss):
    """`max(0, d(a, p) - d(a, n) + margin)`: a positive should be nearer than a negative.

    From Balntas et al., "Learning local feature descriptors with triplets and shallow convolutional
    neural networks" (2016).

    Args:
        margin: by how much; more than zero.
        p: the p of the norm.
        eps: added to differences.
        swap: whether the distance of positive and negative counts too, if it is the less.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".

    Shape:
        Three inputs `(N, D)` or `(D,)`.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(type(self).__name__, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own.

    Args:
        distance_function: takes two tensors and returns distances; `PairwiseDistance()` when left
            out.
        margin: by how much the positive should be nearer; more than zero.
        swap: whether the distance of positive and negative counts too, if it is the less.
        reduction: "mean", "sum" or "none".
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(type(self).__name__, margin)
        self.distance_function = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


def _check_margin(kind: str, margin: float) -> None:
    if margin <= 0:
        raise InvalidValue(f"{kind}: expected margin to be greater than 0, got {margin} instead")
