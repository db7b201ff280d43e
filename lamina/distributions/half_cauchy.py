"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from lamina.core.tensor import Tensor
from lamina.distributions.cauchy import Cauchy
from lamina.distributions.folded import Folded
from lamina.ops.creation import full_like

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    r"""The distribution of |x| where x is Cauchy distributed with median 0.

    Args:
        scale: The scale $\gamma$ > 0 of x.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> HalfCauchy(1.0).cdf(lamina.tensor(1.0))
    tensor(0.5000)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, validate_args)

    @property
    def mean(self) -> Tensor:
        """Infinite."""
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self.base_dist.variance
