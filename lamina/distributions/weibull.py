"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.exponential import Exponential
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import AffineTransform, PowerTransform, Transform
from lamina.distributions.utils import broadcast_all, euler_constant
from lamina.ops.creation import ones_like

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    r"""The Weibull distribution: $P(X > x) = e^{-(x / \lambda)^k}$ for x > 0.

    Args:
        scale: $\lambda$ > 0.
        concentration: The shape k > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Weibull(1.0, 1.0).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Transform]:
        power = PowerTransform(exponent=self.concentration_reciprocal)
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def _expand_rest(self, new: Any, batch: Size) -> None:
        super()._expand_rest(new, batch)
        new.concentration_reciprocal = new.concentration.reciprocal()
        new.transforms = new._steps()

    def _log_moment(self, order: int) -> Tensor:
        r"""$\log \Gamma(1 + n / k)$."""
        return (1 + order * self.concentration_reciprocal).lgamma()

    @property
    def mean(self) -> Tensor:
        r"""$\lambda \Gamma(1 + 1/k)$."""
        return self.scale * self._log_moment(1).exp()

    @property
    def mode(self) -> Tensor:
        r"""$\lambda ((k - 1) / k)^{1/k}$."""
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Tensor:
        r"""$\lambda^2 (\Gamma(1 + 2/k) - \Gamma(1 + 1/k)^2)$."""
        return self.scale.pow(2) * (self._log_moment(2).exp() - (2 * self._log_moment(1)).exp())

    def entropy(self) -> Tensor:
        r"""$\gamma (1 - 1/k) + \log(\lambda / k) + 1$, with Euler's constant."""
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
