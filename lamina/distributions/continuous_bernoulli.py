"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chances import BinaryChances, check_one_given
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.utils import broadcast_all, clamp_probs, log_chance
from lamina.ops.comparison import where
from lamina.ops.creation import full_like
from lamina.ops.random import rand

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryChances, ExponentialFamily):
    r"""The continuous Bernoulli distribution on [0, 1]: $p(x) = C(\lambda) \lambda^x
    (1 - \lambda)^{1 - x}$ (Loaiza-Ganem and Cunningham 2019, "The continuous Bernoulli").

    $C(\lambda) = 2 \,\mathrm{artanh}(1 - 2 \lambda) / (1 - 2 \lambda)$; around 1/2, where that
    is 0 / 0, Taylor's polynomial takes its place.

    Args:
        probs: $\lambda$ between 0 and 1, which is not the mean.
        logits: log($\lambda$ / (1 - $\lambda$)), instead.
        lims: Between which values of $\lambda$ the polynomial serves.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        check_one_given(probs, logits)
        self._lims = lims
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if "probs" in self.__dict__:
            self.probs = clamp_probs(self.probs)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new._lims = self._lims

    def _is_far(self) -> Tensor:
        """Where the parameter is not close to 1/2."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _safe_probs(self) -> Tensor:
        """The probabilities; where they are close to 1/2, one that is not."""
        return where(self._is_far(), self.probs, full_like(self.probs, self._lims[0]))

    def _log_constant(self) -> Tensor:
        r"""$\log C(\lambda)$."""
        probs = self._safe_probs()
        left = where(probs <= 0.5, probs, 0 * probs)
        right = where(probs >= 0.5, probs, 0 * probs + 1)
        log_odds = ((-probs).log1p() - probs.log()).abs().log()
        width = where(probs <= 0.5, (-2 * left).log1p(), (2 * right - 1).log())
        square = (self.probs - 0.5).pow(2)
        near = math.log(2.0) + (4 / 3 + 104 / 45 * square) * square
        return where(self._is_far(), log_odds - width, near)

    @property
    def mean(self) -> Tensor:
        r"""$\frac{\lambda}{2 \lambda - 1} + \frac{1}{2\,\mathrm{artanh}(1 - 2 \lambda)}$."""
        probs = self._safe_probs()
        far = probs / (2 * probs - 1) + 1 / ((-probs).log1p() - probs.log())
        away = self.probs - 0.5
        near = 0.5 + (1 / 3 + 16 / 45 * away.pow(2)) * away
        return where(self._is_far(), far, near)

    @property
    def variance(self) -> Tensor:
        """The variance: the derivative of the mean by the log odds."""
        probs = self._safe_probs()
        far = probs * (probs - 1) / (1 - 2 * probs).pow(2)
        far = far + 1 / ((-probs).log1p() - probs.log()).pow(2)
        square = (self.probs - 0.5).pow(2)
        near = 1 / 12 - (1 / 15 - 128 / 945 * square) * square
        return where(self._is_far(), far, near)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random numbers, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random numbers: `icdf` of uniform ones."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return log_chance(logits, value) + self._log_constant()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`."""
        if self._validate_args:
            self._validate_sample(value)
        probs = self._safe_probs()
        powers = probs.pow(value) * (1.0 - probs).pow(1.0 - value)
        inner = where(self._is_far(), (powers + probs - 1.0) / (2.0 * probs - 1.0), value)
        return where(value <= 0, 0.0, where(value >= 1, 1.0, inner))

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        probs = self._safe_probs()
        top = (-probs + value * (2.0 * probs - 1.0)).log1p() - (-probs).log1p()
        return where(self._is_far(), top / (probs.log() - (-probs).log1p()), value)

    def entropy(self) -> Tensor:
        """The entropy."""
        low, high = (-self.probs).log1p(), self.probs.log()
        return self.mean * (low - high) - self._log_constant() - low

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        r"""$\log((e^x - 1) / x)$."""
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        is_far = (x <= low) | (x > high)
        safe = where(is_far, x, full_like(x, low))
        far = ((safe.exp() - 1).abs().log()) - safe.abs().log()
        return where(is_far, far, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
