"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.normal import Normal
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import AbsTransform
from lamina.ops.comparison import where
from lamina.ops.creation import zeros_like
from lamina.ops.data import as_tensor

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    r"""The distribution of |x| where x is normal with mean 0.

    Args:
        scale: The standard deviation $\sigma$ > 0 of x.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Normal

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The standard deviation of x."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        r"""$\sigma \sqrt{2 / \pi}$."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        r"""$\sigma^2 (1 - 2 / \pi)$."""
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        value = as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        twice = self.base_dist.log_prob(value) + math.log(2)
        return where(value >= 0, twice, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """That of x, less log 2."""
        return self.base_dist.entropy() - math.log(2)
