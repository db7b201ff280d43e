"""Categories as vectors with a single 1."""

from __future__ import annotations

from typing import Any

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.over_categories import OverCategories
from lamina.nn.functional import one_hot
from lamina.ops.creation import eye

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategories):
    r"""The categorical distribution over vectors with a single 1: $P(e_k) = p_k$.

    Args:
        probs: Weights (..., K), not negative; they are divided by their sum.
        logits: Logarithms of weights, instead.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> OneHotCategorical(lamina.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The vector of the likeliest category."""
        return one_hot(self._categorical.mode, self._event_shape[0]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random vectors."""
        drawn = self._categorical.sample(sample_shape)
        return one_hot(drawn, self._event_shape[0]).to(self.probs.detach())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of each vector."""
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        """The entropy of the categories."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All vectors."""
        count = self._event_shape[0]
        values = eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.view(count, *[1] * len(self._batch_shape), count)
        return values.expand(count, *self._batch_shape, count) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Vectors with a single 1, whose gradient goes to the probabilities as if they were these
    (Bengio, Léonard and Courville 2013, "Estimating or propagating gradients through stochastic
    neurons for conditional computation").

    >>> import lamina
    >>> probs = lamina.tensor([0.0, 1.0], requires_grad=True)
    >>> OneHotCategoricalStraightThrough(probs).rsample().detach()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random vectors with the gradients of the probabilities."""
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())
