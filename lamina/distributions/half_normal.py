"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from lamina.core.tensor import Tensor
from lamina.distributions.folded import Folded
from lamina.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    r"""The distribution of |x| where x is normal with mean 0.

    Args:
        scale: The standard deviation $\sigma$ > 0 of x.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, validate_args)

    @property
    def mean(self) -> Tensor:
        r"""$\sigma \sqrt{2 / \pi}$."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        r"""$\sigma^2 (1 - 2 / \pi)$."""
        return self.scale.pow(2) * (1 - 2 / math.pi)
