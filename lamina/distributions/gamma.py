"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.utils import broadcast_all
from lamina.ops.data import as_tensor
from lamina.ops.dtype_info import finfo
from lamina.ops.exponential import xlogy
from lamina.ops.gamma_sampling import standard_gamma
from lamina.ops.incomplete_gamma import igamma

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    r"""The gamma distribution: $p(x) = \frac{\beta^\alpha}{\Gamma(\alpha)} x^{\alpha - 1}
    e^{-\beta x}$ for x > 0.

    Args:
        concentration: The shape $\alpha$ > 0.
        rate: $\beta$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        r"""$\alpha / \beta$."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        r"""$(\alpha - 1) / \beta$, but not below 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        r"""$\alpha / \beta^2$."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random numbers, with implicit derivatives by the shape parameter."""
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Rounded to zero, a sample would have no density.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            xlogy(self.concentration, self.rate)
            + xlogy(self.concentration - 1, value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`: `igamma`."""
        if self._validate_args:
            self._validate_sample(value)
        return igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        r"""$\alpha - \log \beta + \log \Gamma(\alpha) + (1 - \alpha) \psi(\alpha)$."""
        alpha = self.concentration
        return alpha - self.rate.log() + alpha.lgamma() + (1.0 - alpha) * alpha.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
