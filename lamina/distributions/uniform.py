"""The uniform distribution on an interval."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all
from lamina.ops.comparison import lt
from lamina.ops.random import rand

__all__ = ["Uniform"]


class Uniform(Distribution):
    r"""The uniform distribution: $p(x) = 1 / (b - a)$ for $a \le x < b$.

    Args:
        low: a.
        high: b, larger than a.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Uniform(0.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)
        if self._validate_args and not bool(lt(self.low, self.high).all()):
            raise errors.InvalidValue(
                "Uniform is not defined when low>= high", [(this_place(), "made here")]
            )

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Each bound is limited by the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers between the bounds."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: no number is likelier than others."""
        return float("nan") * self.high

    @property
    def stddev(self) -> Tensor:
        r"""$(b - a) / \sqrt{12}$."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        r"""$(b - a)^2 / 12$."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random numbers, moved and stretched from [0, 1)."""
        shape = self._extended_shape(sample_shape)
        unit = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + unit * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value).type_as(self.low) * (self.high > value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        r"""$\log(b - a)$."""
        return (self.high - self.low).log()
