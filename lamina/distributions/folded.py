"""|x| for an x whose density is even: what half-normal and half-Cauchy distributions share."""

from __future__ import annotations

import math
from abc import ABC
from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import AbsTransform
from lamina.ops.comparison import where
from lamina.ops.creation import zeros_like
from lamina.ops.data import as_tensor


class Folded(TransformedDistribution, ABC):
    """The distribution of |x|, where the density of x, `base_dist`, is even and has a scale."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any

    def __init__(self, base: Any, validate_args: bool | None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of x."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.scale)

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
