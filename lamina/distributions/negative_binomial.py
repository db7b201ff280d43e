"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chances import BinaryChances, check_one_given
from lamina.distributions.distribution import Distribution
from lamina.distributions.gamma import Gamma
from lamina.distributions.utils import broadcast_all, lazy_property
from lamina.nn.functional import logsigmoid
from lamina.ops.random import poisson

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryChances, Distribution):
    r"""The negative binomial distribution: how many tries succeed before r fail, $P(k) =
    \frac{\Gamma(k + r)}{k! \Gamma(r)} p^k (1 - p)^r$.

    Args:
        total_count: r > 0, not necessarily whole.
        probs: p, the probability of success, below 1.
        logits: log(p / (1 - p)), instead of p.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> NegativeBinomial(2.0, lamina.tensor(0.5)).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        check_one_given(probs, logits)
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """r p / (1 - p)."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        """(r - 1) p / (1 - p), rounded down, and not below 0."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        """r p / (1 - p)^2."""
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        """The rates, of which counts are Poisson distributed."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random counts."""
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        r = self.total_count
        chances = r * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = -(r + value).lgamma() + (1.0 + value).lgamma() + r.lgamma()
        return chances - ways.masked_fill((r + value).eq(0), 0.0)
