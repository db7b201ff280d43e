"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import AffineTransform, ExpTransform
from lamina.distributions.uniform import Uniform
from lamina.distributions.utils import broadcast_all, euler_constant
from lamina.ops.creation import full_like
from lamina.ops.dtype_info import finfo

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    r"""The Gumbel distribution, of maxima: $P(X < x) = e^{-e^{-(x - \mu) / \beta}}$.

    Args:
        loc: The mode $\mu$.
        scale: $\beta$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = finfo(self.loc.dtype)
        base = Uniform(
            full_like(self.loc, info.tiny), full_like(self.loc, 1 - info.eps), validate_args=False
        )
        log = ExpTransform().inv
        # x = loc - scale * log(-log u)
        parts = [log, AffineTransform(0, -1), log, AffineTransform(self.loc, -self.scale)]
        super().__init__(base, parts, validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        super()._expand_rest(new, batch)
        new.transforms = [*self.transforms[:-1], AffineTransform(new.loc, -new.scale)]

    @property
    def mean(self) -> Tensor:
        r"""$\mu + \gamma \beta$, with Euler's constant."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """The mode: `loc`."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        r"""$\pi \beta / \sqrt 6$."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        r"""$\log \beta + 1 + \gamma$."""
        return self.scale.log() + (1 + euler_constant)
