"""The log-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.normal import Normal
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    r"""The distribution of $e^x$ where x is normal.

    Args:
        loc: The mean $\mu$ of x.
        scale: The standard deviation $\sigma$ > 0 of x.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> LogNormal(0.0, 1.0).mode
    tensor(0.3679)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of x."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of x."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        r"""$e^{\mu + \sigma^2 / 2}$."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        r"""$e^{\mu - \sigma^2}$."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        r"""$(e^{\sigma^2} - 1) e^{2 \mu + \sigma^2}$."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        r"""That of x, plus $\mu$."""
        return self.base_dist.entropy() + self.loc
