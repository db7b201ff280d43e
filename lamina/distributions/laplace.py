"""The Laplace distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all
from lamina.ops.dtype_info import finfo

__all__ = ["Laplace"]


class Laplace(Distribution):
    r"""The Laplace distribution: $p(x) = \frac1{2 b} e^{-|x - \mu| / b}$.

    Args:
        loc: The mean $\mu$.
        scale: $b$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Laplace(0.0, 1.0).log_prob(lamina.tensor(0.0))
    tensor(-0.6931)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: `loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """$2 b^2$."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        r"""$\sqrt 2 b$."""
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random numbers: the inverse of the distribution function at uniform ones."""
        shape, eps = self._extended_shape(sample_shape), finfo(self.loc.dtype).eps
        u = self.loc.new_empty(shape).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`."""
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        r"""$1 + \log(2 b)$."""
        return 1 + (2 * self.scale).log()
