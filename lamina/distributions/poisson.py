"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.utils import broadcast_all
from lamina.ops.exponential import xlogy
from lamina.ops.random import poisson

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    r"""The Poisson distribution: $P(k) = \lambda^k e^{-\lambda} / k!$ for k = 0, 1, ...

    Args:
        rate: $\lambda \ge 0$.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Poisson(2.0).log_prob(lamina.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The rate."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The rate, rounded down."""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """The rate."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random counts."""
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp()
