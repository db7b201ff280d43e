"""Layers that zero a random part of their input while training."""

from __future__ import annotations

from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """What all dropout layers share: a probability and whether to work in place."""

    __constants__ = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise InvalidValue(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes each element with probability `p`, scaling the rest by `1 / (1 - p)`; in training.

    In evaluation mode (`module.eval()`) it returns its input. From Hinton et al., "Improving neural
    networks by preventing co-adaptation of feature detectors" (2012).

    Args:
        p: the probability that an element becomes zero.
        inplace: whether to change the input itself.

    Shape:
        Any, and the same for the output.

    Example:
        >>> import lamina
        >>> lamina.nn.Dropout(0.5).eval()(lamina.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with random zeros."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of `(N, C, L)` or `(C, L)`; otherwise like `Dropout`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with random channels zero."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of `(N, C, H, W)`; otherwise like `Dropout`.

    From Tompson et al., "Efficient object localization using convolutional networks" (2015).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with random channels zero."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of `(N, C, D, H, W)`; otherwise like `Dropout`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with random channels zero."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of SELU networks.

    From Klambauer et al., "Self-normalizing neural networks" (2017).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with random elements at SELU's negative limit."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with random channels at SELU's negative limit."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
