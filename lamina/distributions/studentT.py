"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chi2 import Chi2
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import broadcast_all, standard_normal
from lamina.ops.comparison import where

__all__ = ["StudentT"]


class StudentT(Distribution):
    r"""Student's t distribution: $p(x) \propto (1 + z^2 / \nu)^{-(\nu + 1) / 2}$ with
    $z = (x - \mu) / \sigma$.

    Args:
        df: The degrees of freedom, $\nu$ > 0.
        loc: $\mu$.
        scale: $\sigma$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive, "loc": constraints.real, "scale": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new._chi2 = self._chi2.expand(batch)

    @property
    def mean(self) -> Tensor:
        r"""$\mu$; NaN for $\nu \le 1$."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        r"""$\mu$."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        r"""$\sigma^2 \nu / (\nu - 2)$; infinite for $\nu \le 2$, NaN for $\nu \le 1$."""
        finite = self.scale.pow(2) * self.df / where(self.df > 2, self.df - 2, 1.0)
        return finite.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random numbers: a normal one, over the root of a chi-squared one."""
        shape = self._extended_shape(sample_shape)
        x = standard_normal(shape, self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * (z / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        y, half = (value - self.loc) / self.scale, 0.5 * self.df
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + half.lgamma()
            - (half + 0.5).lgamma()
        )
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        r"""$\log \sigma + \frac{\nu + 1}2 (\psi(\frac{\nu + 1}2) - \psi(\frac \nu 2)) +
        \log(\sqrt\nu B(\frac \nu 2, \frac12))$."""
        half = 0.5 * self.df
        log_beta = half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()
        slopes = (half + 0.5).digamma() - half.digamma()
        return self.scale.log() + 0.5 * (self.df + 1) * slopes + 0.5 * self.df.log() + log_beta
