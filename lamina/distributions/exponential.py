"""The exponential distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.utils import broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    r"""The exponential distribution: $p(x) = \lambda e^{-\lambda x}$ for $x \ge 0$.

    Args:
        rate: $\lambda$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        r"""$1 / \lambda$."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """0."""
        return self.rate.new_zeros(self.rate.size())

    @property
    def stddev(self) -> Tensor:
        r"""$1 / \lambda$."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        r"""$1 / \lambda^2$."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random numbers: those of rate 1, divided by the rate."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        r"""$1 - e^{-\lambda x}$."""
        if self._validate_args:
            self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        r"""$1 - \log \lambda$."""
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -(-x).log()
