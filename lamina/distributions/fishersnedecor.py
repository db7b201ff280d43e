"""The F distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.gamma import Gamma
from lamina.distributions.utils import broadcast_all
from lamina.ops.dtype_info import finfo

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    r"""The F distribution: of the ratio of two chi-squared variables, each over its degrees of
    freedom.

    Args:
        df1: The degrees of freedom of the numerator, m > 0.
        df2: Those of the denominator, n > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new._gamma1, new._gamma2 = self._gamma1.expand(batch), self._gamma2.expand(batch)

    @property
    def mean(self) -> Tensor:
        r"""n / (n - 2); NaN for $n \le 2$."""
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        r"""$\frac{m - 2}{m} \frac{n}{n + 2}$; NaN for $m \le 2$."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        r"""$\frac{2 n^2 (m + n - 2)}{m (n - 2)^2 (n - 4)}$; NaN for $n \le 4$."""
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        top = 2 * df2.pow(2) * (self.df1 + df2 - 2)
        return top / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random numbers: a ratio of two gamma distributed ones."""
        x1 = self._gamma1.rsample(sample_shape).view(self._extended_shape(sample_shape))
        x2 = self._gamma2.rsample(sample_shape).view(self._extended_shape(sample_shape))
        tiny = finfo(x2.dtype).tiny
        x2.clamp_(min=tiny)
        ratio = x1 / x2
        ratio.clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        m, n = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        ways = (m + n).lgamma() - m.lgamma() - n.lgamma()
        powers = m * ratio.log() + (m - 1) * value.log()
        return ways + powers - (m + n) * (ratio * value).log1p()
