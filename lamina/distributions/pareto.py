"""The Pareto distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.exponential import Exponential
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import AffineTransform, ExpTransform
from lamina.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    r"""The Pareto distribution: $p(x) = \alpha m^\alpha / x^{\alpha + 1}$ for $x \ge m$.

    Args:
        scale: The smallest number, m > 0.
        alpha: The shape $\alpha$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        steps = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        super()._expand_rest(new, batch)
        new.transforms = [ExpTransform(), AffineTransform(loc=0, scale=new.scale)]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From m on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        r"""$\alpha m / (\alpha - 1)$; infinite for $\alpha \le 1$."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """m."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        r"""$m^2 \alpha / ((\alpha - 1)^2 (\alpha - 2))$; infinite for $\alpha \le 2$."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        r"""$\log(m / \alpha) + 1 + 1 / \alpha$."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
