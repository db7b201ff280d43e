"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chances import BinaryChances, check_one_given
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all
from lamina.nn.functional import binary_cross_entropy_with_logits
from lamina.ops.creation import zeros_like
from lamina.ops.dtype_info import finfo

__all__ = ["Geometric"]


class Geometric(BinaryChances, Distribution):
    r"""The geometric distribution: the number of failures before the first success, $P(k) =
    (1 - p)^k p$ for k = 0, 1, ...

    Args:
        probs: p, larger than 0.
        logits: log(p / (1 - p)), instead of p.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one_given(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise errors.InvalidValue(
                "Expected parameter probs "
                f"({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{self.probs}",
                [(this_place(), "made here")],
            )

    @property
    def mean(self) -> Tensor:
        """1 / p - 1."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1 / p - 1) / p."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random counts: the inverse of the distribution function at uniform numbers."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # At p = 1 the logarithm is infinite, and 0 failures are certain.
        probs = probs.masked_fill(probs.eq(1) & value.eq(0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        """The entropy: that of one try, over p."""
        return (
            binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
        )
