"""Continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chances import BinaryChances, check_one_given
from lamina.distributions.distribution import Distribution
from lamina.distributions.relaxed import Relaxed
from lamina.distributions.transforms import SigmoidTransform
from lamina.distributions.utils import broadcast_all, clamp_probs
from lamina.ops.random import rand

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryChances, Distribution):
    r"""The log odds of a `RelaxedBernoulli`: $x = (\log \frac{p}{1 - p} + \log \frac{u}{1 - u}) /
    t$ with u uniform (Maddison, Mnih and Teh 2017, "The Concrete distribution").

    Args:
        temperature: t > 0.
        probs: p.
        logits: log(p / (1 - p)), instead of p.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> LogitRelaxedBernoulli(lamina.tensor(1.0), 0.5).log_prob(lamina.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self.temperature = temperature
        check_one_given(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new.temperature = self.temperature

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random numbers."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        odds = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(Relaxed):
    """Numbers in (0, 1) that come close to 0 and 1 as the temperature falls, with gradients.

    Args:
        temperature: A tensor above 0.
        probs: The probability of 1 at temperature 0.
        logits: log(p / (1 - p)), instead of p.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> RelaxedBernoulli(lamina.tensor(0.5), probs=0.5).probs
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
