"""Dividing each element by the size of its neighbours in other channels, as layers."""

from __future__ import annotations

from lamina.core.tensor import Tensor
from lamina.nn import functional as F
from lamina.nn.module import Module
from lamina.ops.creation import arange

__all__ = ["CrossMapLRN2d", "LocalResponseNorm"]


class _ResponseNorm(Module):
    def __init__(self, size: int, alpha: float, beta: float, k: float) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """`x / (k + alpha / size * sum(x**2)) ** beta`, the sum over `size` neighbouring channels.

    From Krizhevsky et al., "ImageNet classification with deep convolutional neural networks"
    (2012).

    Args:
        size: how many channels count.
        alpha: the weight of the sum.
        beta: the exponent.
        k: added to it.

    Shape:
        `(N, C, *)`, and the same for the output.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """Return `input`, normalized."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """An older `LocalResponseNorm` of images, which counts the first channel everywhere.

    The sum is over the channel and `(size - 1) // 2` neighbours on either side, and over the first
    channel, which PyTorch's running sum never drops: with it the numbers are PyTorch's.

    Args:
        size: how many channels count.
        alpha: the weight of the sum.
        beta: the exponent.
        k: added to it.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """Return `input`, normalized."""
        reach = (self.size - 1) // 2
        squares = input.square()
        total = F.pad(squares, (0, 0, 0, 0, reach, reach)).unfold(1, 2 * reach + 1, 1).sum(-1)
        is_far = arange(input.shape[1], device=input.device).view(1, -1, 1, 1) > reach
        total = total + squares[:, :1] * is_far
        return input * (self.k + self.alpha / self.size * total) ** -self.beta
