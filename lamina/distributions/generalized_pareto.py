"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all
from lamina.ops.comparison import isclose, where
from lamina.ops.creation import ones_like, zeros_like
from lamina.ops.random import rand

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    r"""The generalized Pareto distribution, of excesses: $P(X > x) = (1 + \xi z)^{-1/\xi}$ with
    $z = (x - \mu) / \sigma$; $e^{-z}$ for $\xi = 0$.

    Args:
        loc: The smallest number $\mu$.
        scale: $\sigma$ > 0.
        concentration: The shape $\xi$, of either sign.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        r"""From $\mu$ on; up to $\mu - \sigma / \xi$ for negative $\xi$."""
        top = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, top, math.inf))

    def _shape(self) -> tuple[Tensor, Tensor]:
        r"""Where $\xi$ is 0, and $\xi$ with 1 in these places."""
        is_zero = isclose(self.concentration, zeros_like(self.concentration))
        return is_zero, where(is_zero, ones_like(self.concentration), self.concentration)

    @property
    def mean(self) -> Tensor:
        r"""$\mu + \sigma / (1 - \xi)$; infinite for $\xi \ge 1$."""
        xi = self.concentration
        below = xi < 1
        safe = where(below, xi, 0.5)
        return where(below, self.loc + self.scale / (1 - safe), math.inf)

    @property
    def mode(self) -> Tensor:
        r"""$\mu$."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        r"""$\sigma^2 / ((1 - \xi)^2 (1 - 2 \xi))$; infinite for $\xi \ge 1/2$."""
        below = self.concentration < 0.5
        safe = where(below, self.concentration, 0.25)
        value = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return where(below, value, math.inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random numbers: `icdf` of uniform ones."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _log_survival(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        is_zero, xi = self._shape()
        return where(is_zero, -z, -(xi * z).log1p() / xi)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        is_zero, xi = self._shape()
        z = (value - self.loc) / self.scale
        return -self.scale.log() + where(is_zero, -z, -(1 / xi + 1) * (xi * z).log1p())

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a number above `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_survival(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`."""
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        is_zero, xi = self._shape()
        logarithm = (-value).log1p()
        far = where(is_zero, -logarithm, (-xi * logarithm).expm1() / xi)
        return self.loc + self.scale * far

    def entropy(self) -> Tensor:
        r"""$\log \sigma + \xi + 1$."""
        return self.scale.log() + self.concentration + 1
