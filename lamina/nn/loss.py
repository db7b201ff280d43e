"""Losses as layers: how far an output is from what was wanted."""

from __future__ import annotations

from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.nn import functional as F
from lamina.nn.module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return the reduction, given by name or by the two flags that it replaced."""
    if size_average is None and reduce is None:
        return reduction
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    warn(f"size_average and reduce were replaced by reduction; write reduction={name!r}")
    return name


class _Loss(Module):
    """What all losses share: how the losses of the elements become one number."""

    reduction: str

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.reduction = _reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """The mean of `|x - y|`.

    Args:
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none" (one loss an element).

    Shape:
        Two inputs of one shape; a scalar, or that shape for "none".
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The mean of `(x - y)**2`.

    Args:
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none" (one loss an element).

    Shape:
        Two inputs of one shape; a scalar, or that shape for "none".

    Example:
        >>> import lamina
        >>> lamina.nn.MSELoss()(lamina.ones(2), lamina.zeros(2))
        tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """`(x - y)**2 / (2 * beta)` for differences below beta, `|x - y| - beta / 2` above.

    Args:
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
        beta: where the parabola meets the lines.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """`(x - y)**2 / 2` for differences below delta, `delta * (|x - y| - delta / 2)` above.

    Args:
        reduction: "mean", "sum" or "none".
        delta: where the parabola meets the lines.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence `y * (log(y) - x)`, x being a logarithm already.

    Args:
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "batchmean" (the divergence proper), "mean", "sum" or "none".
        log_target: whether the target is a logarithm too.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class NLLLoss(_WeightedLoss):
    """The negative of the log-probability at the class that was wanted.

    Args:
        weight: one weight a class.
        size_average: replaced by `reduction`.
        ignore_index: a class that counts for nothing.
        reduce: replaced by `reduction`.
        reduction: "mean" (weighted), "sum" or "none".

    Shape:
        Log-probabilities `(N, C, *)` or `(C,)`, and classes `(N, *)` or `()`.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """`-log(softmax(x)[y])`: the loss of a classifier's raw scores (do not apply softmax first).

    Args:
        weight: one weight a class.
        size_average: replaced by `reduction`.
        ignore_index: a class that counts for nothing.
        reduce: replaced by `reduction`.
        reduction: "mean" (weighted), "sum" or "none".
        label_smoothing: how much of the target is spread evenly over all classes.

    Shape:
        Scores `(N, C, *)` or `(C,)`; the target is classes `(N, *)` or `()`, or probabilities of
        the scores' shape.

    Example:
        >>> import lamina
        >>> scores = lamina.zeros(1, 2)
        >>> lamina.nn.CrossEntropyLoss()(scores, lamina.tensor([1]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """`-(y * log(x) + (1 - y) * log(1 - x))` for probabilities x.

    Args:
        weight: one weight an element, broadcast.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """`BCELoss` of `sigmoid(x)`, computed together and so without overflow.

    Args:
        weight: one weight an element, broadcast.
        size_average: replaced by `reduction`.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
        pos_weight: one weight a class for the targets that are 1.
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.binary_cross_entropy_with_logits(
            input,
            target,
            self.weight,
            pos_weight=self.pos_weight,
            reduction=self.reduction,
        )
