"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chances import BinaryChances, check_one_given
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.utils import broadcast_all, log_chance
from lamina.nn.functional import binary_cross_entropy_with_logits, softplus
from lamina.ops.creation import arange
from lamina.ops.random import bernoulli

__all__ = ["Bernoulli"]


class Bernoulli(BinaryChances, ExponentialFamily):
    r"""The Bernoulli distribution: 1 with probability p, else 0.

    Args:
        probs: p.
        logits: log(p / (1 - p)), instead of p.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Bernoulli(lamina.tensor(0.25)).log_prob(lamina.tensor(1.0))
    tensor(-1.3863)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one_given(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """p."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likelier of 0 and 1; NaN where both are alike."""
        mode = (self.probs >= 0.5).to(self.probs)
        return mode.masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random ones and zeros."""
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        return log_chance(*broadcast_all(self.logits, value))

    def entropy(self) -> Tensor:
        """The entropy."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1."""
        return enumerated(2, self._param, self._batch_shape, expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return softplus(x)


def enumerated(count: int, like: Tensor, batch: Size, expand: bool) -> Tensor:
    """0 ... count - 1 in a tensor's dtype, along a first dimension, over a batch."""
    values = arange(count, dtype=like.dtype, device=like.device)
    values = values.view(-1, *[1] * len(batch))
    return values.expand(-1, *batch) if expand else values
