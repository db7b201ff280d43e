"""The inverse gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.gamma import Gamma
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    r"""The distribution of 1/x where x is gamma distributed.

    Args:
        concentration: The shape $\alpha$ > 0 of x.
        rate: The rate $\beta$ > 0 of x.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverted = PowerTransform(base.rate.new_full((), -1.0))
        super().__init__(base, inverted, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape of x."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of x."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        r"""$\beta / (\alpha - 1)$; infinite for $\alpha \le 1$."""
        mean = self.rate / (self.concentration - 1)
        return mean.masked_fill(self.concentration <= 1, float("inf"))

    @property
    def mode(self) -> Tensor:
        r"""$\beta / (\alpha + 1)$."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        r"""$\beta^2 / ((\alpha - 1)^2 (\alpha - 2))$; infinite for $\alpha \le 2$."""
        a = self.concentration
        variance = self.rate.square() / ((a - 1).square() * (a - 2))
        return variance.masked_fill(a <= 2, float("inf"))

    def entropy(self) -> Tensor:
        r"""$\alpha + \log \beta + \log \Gamma(\alpha) - (1 + \alpha) \psi(\alpha)$."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
