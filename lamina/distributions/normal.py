"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.utils import broadcast_all, standard_normal
from lamina.ops.random import normal

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    r"""The normal distribution: $p(x) = \frac1{\sigma\sqrt{2\pi}} e^{-(x-\mu)^2 / (2\sigma^2)}$.

    Args:
        loc: The mean $\mu$.
        scale: The standard deviation $\sigma$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Normal(0.0, 1.0).log_prob(lamina.tensor(0.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: `loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode: `loc`."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: `scale`."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance: the square of `scale`."""
        return self.stddev.pow(2)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random numbers, without gradients."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random numbers: `loc + scale * noise`."""
        shape = self._extended_shape(sample_shape)
        noise = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        away = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -away - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        r"""$\frac12 + \log(\sigma \sqrt{2 \pi})$."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
