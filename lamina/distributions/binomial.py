"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.bernoulli import enumerated
from lamina.distributions.chances import BinaryChances, check_one_given
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all
from lamina.nn.functional import logsigmoid
from lamina.ops.random import binomial

__all__ = ["Binomial"]


class Binomial(BinaryChances, Distribution):
    r"""The binomial distribution: how many of n tries succeed, $P(k) = \binom n k p^k
    (1 - p)^{n - k}$.

    Args:
        total_count: n, one for all or one each.
        probs: p.
        logits: log(p / (1 - p)), instead of p.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Binomial(4, lamina.tensor(0.5)).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        check_one_given(probs, logits)
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Counts up to n."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """(n + 1) p, rounded down, and at most n."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random counts."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the probability: with log odds l, of $\binom n k e^{k l}
        (1 + e^l)^{-n}$."""
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return value * self.logits + n * logsigmoid(-self.logits) + ways

    def entropy(self) -> Tensor:
        """The entropy, summed over all counts; one total count for all.

        Raises:
            NotSupported: Different total counts.
        """
        probability = self.log_prob(self.enumerate_support(False))
        return -(probability.exp() * probability).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 ... n; one total count for all.

        Raises:
            NotSupported: Different total counts.
        """
        count = int(self.total_count.max())
        if not bool((self.total_count.min() == count).all()):
            raise errors.NotSupported(
                "Inhomogeneous total count not supported by `enumerate_support`.",
                [(this_place(), "asked for here")],
            )
        return enumerated(count + 1, self._param, self._batch_shape, expand)
