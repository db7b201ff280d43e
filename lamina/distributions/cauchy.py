"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all
from lamina.ops.creation import full_like

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    r"""The Cauchy distribution: $p(x) = \frac1{\pi \gamma (1 + ((x - x_0) / \gamma)^2)}$.

    Args:
        loc: The median $x_0$.
        scale: Half the width at half the height, $\gamma$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Cauchy(0.0, 1.0).cdf(lamina.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN: there is none."""
        return full_like(self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        """The mode: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random numbers: `loc + scale * noise`."""
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        away = ((value - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - away.log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        r"""$\log(4 \pi \gamma)$."""
        return math.log(4 * math.pi) + self.scale.log()
