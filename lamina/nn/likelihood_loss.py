"""Losses that are negative logarithms of probabilities: of counts, of normal values, of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import InvalidArgument
from lamina.nn import functional as F
from lamina.nn.linear import Linear
from lamina.nn.loss import NLLLoss, _Loss, _WeightedLoss

__all__ = [
    "CTCLoss",
    "GaussianNLLLoss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "NLLLoss2d",
    "PoissonNLLLoss",
]


class NLLLoss2d(NLLLoss):
    """The older name of `NLLLoss` for images; it warns."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warn("NLLLoss2d has been deprecated: NLLLoss does the same", FutureWarning)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts, `exp(x) - y * x`, x being the logarithm of a rate.

    Args:
        log_input: whether the input is a logarithm; else the loss is `x - y * log(x + eps)`.
        full: whether to add Stirling's approximation of `log(y!)`.
        size_average: replaced by `reduction`.
        eps: keeps the logarithm finite.
        reduce: replaced by `reduction`.
        reduction: "mean", "sum" or "none".
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of normal values, `(log(var) + (x - y)**2 / var) / 2`.

    Args:
        full: whether to add the constant `log(2 * pi) / 2`.
        eps: the least variance.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import lamina
        >>> loss = lamina.nn.GaussianNLLLoss()
        >>> loss(lamina.zeros(2), lamina.ones(2), lamina.ones(2))
        tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Return the loss of means `input` and variances `var`."""
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """The negative log-probability of a text, over all ways to align it with the input.

    From Graves et al., "Connectionist temporal classification" (2006).

    Args:
        blank: the class that stands for no letter.
        reduction: "mean" (of the losses divided by the lengths of the texts), "sum" or "none".
        zero_infinity: whether infinite losses, of texts longer than their input, become zero.

    Shape:
        Log-probabilities `(T, N, C)` or `(T, C)`; targets `(N, S)`, or all in one row; lengths of
        inputs and of targets `(N,)` or `()`.
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """Return the loss."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


@final
@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch saves memory in `LinearCrossEntropyLoss`; accepted, and without effect here."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the `CrossEntropyLoss` of its scores.

    Args:
        in_features: the size of the last dimension of the input.
        num_classes: the number of classes, C.
        out_features: further dimensions of the scores, `(N, C, *out_features)`.
        bias: whether the layer adds a vector.
        device: where its parameters live.
        dtype: their dtype.
        reduction: "mean" (weighted), "sum" or "none".
        weight: one weight a class.
        ignore_index: a class that counts for nothing; -100 when left out.
        label_smoothing: how much of the target is spread evenly over all classes.
        options: accepted for compatibility.

    Attributes:
        linear: the layer.

    Example:
        >>> import lamina
        >>> loss = lamina.nn.LinearCrossEntropyLoss(5, 10)
        >>> loss(lamina.ones(2, 5), lamina.tensor([1, 9])).shape
        torch.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        if not 0 <= label_smoothing <= 1:
            raise InvalidArgument(
                f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
            )
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        scores = num_classes
        for size in out_features:
            scores *= size
        self.linear = Linear(in_features, scores, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
