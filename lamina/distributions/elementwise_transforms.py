"""Transforms of each element: exponentials, powers, logistic functions, and others."""

from __future__ import annotations

import math
from typing import Any, final

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.transform import Transform
from lamina.distributions.utils import broadcast_all, sum_rightmost
from lamina.nn.functional import softplus
from lamina.ops.broadcasting import broadcast_shapes
from lamina.ops.creation import full_like
from lamina.ops.data import as_tensor
from lamina.ops.dtype_info import finfo

__all__ = [
    "AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform",
    "PowerTransform", "SigmoidTransform", "SoftplusTransform", "TanhTransform",
]  # fmt: skip


class _SameKind(Transform):
    """A transform without parameters: two of a kind are equal."""

    bijective = True
    domain = constraints.real

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__


@final
class ExpTransform(_SameKind):
    r"""$y = e^x$."""

    codomain = constraints.positive
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """x."""
        return x


@final
class PowerTransform(Transform):
    r"""$y = x^p$ of positive numbers.

    Args:
        exponent: p.
        cache_size: 1 to keep the last pair.
    """

    bijective = True
    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of another size."""
        same = self._cache_size == cache_size
        return self if same else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        """That of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |p y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with the exponent."""
        return _broadcast(shape, self.exponent)

    def inverse_shape(self, shape: Any) -> Any:
        """Broadcast with the exponent."""
        return _broadcast(shape, self.exponent)


@final
class SigmoidTransform(_SameKind):
    r"""$y = 1 / (1 + e^{-x})$; kept away from 0 and 1, so that the inverse is finite."""

    codomain = constraints.unit_interval
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        info = finfo(x.dtype)
        return x.sigmoid().clamp(min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        info = finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log y (1 - y), from x."""
        return -softplus(-x) - softplus(x)


@final
class SoftplusTransform(_SameKind):
    r"""$y = \log(1 + e^x)$."""

    codomain = constraints.positive
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log of the logistic function."""
        return -softplus(-x)


@final
class TanhTransform(_SameKind):
    r"""$y = \tanh x$. A cache (`cache_size=1`) spares the inverse, which is inexact near 1."""

    codomain = constraints.interval(-1.0, 1.0)
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log(1 - tanh(x)^2) = 2 (log 2 - x - log(1 + e^-2x)), without cancellation."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


@final
class AbsTransform(_SameKind):
    """$y = |x|$, which two numbers share: not bijective."""

    bijective = False
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


@final
class AffineTransform(Transform):
    r"""$y = a + b x$.

    Args:
        loc: a.
        scale: b.
        event_dim: How many of the last dimensions belong to one event.
        cache_size: 1 to keep the last pair.
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions belong to one event."""
        return self._event_dim

    @property
    def domain(self) -> Any:
        """Any numbers."""
        return (
            constraints.independent(constraints.real, self.event_dim)
            if self.event_dim
            else constraints.real
        )

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of another size."""
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(bool(as_tensor(a == b).all()) for a, b in pairs)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        """That of the scale."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |b|, summed over an event."""
        if isinstance(self.scale, Tensor):
            found = self.scale.abs().log()
        else:
            found = full_like(x, math.log(abs(self.scale)))
        found = found.expand(x.shape)
        return sum_rightmost(found, self.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with loc and scale."""
        return _broadcast(shape, self.loc, self.scale)

    def inverse_shape(self, shape: Any) -> Any:
        """Broadcast with loc and scale."""
        return _broadcast(shape, self.loc, self.scale)


def _broadcast(shape: Any, *values: Any) -> Any:
    return broadcast_shapes(shape, *[getattr(value, "shape", ()) for value in values])


@final
class CumulativeDistributionTransform(Transform):
    """From a variable of a distribution to its probability: the distribution's `cdf`.

    Args:
        distribution: One whose `cdf`, `icdf` and `log_prob` are written.
        cache_size: 1 to keep the last pair.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The distribution's log density."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of another size."""
        same = self._cache_size == cache_size
        return self if same else CumulativeDistributionTransform(self.distribution, cache_size)
