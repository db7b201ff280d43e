"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.independent import Independent
from lamina.distributions.normal import Normal
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    r"""Probabilities of n + 1 categories from n normal numbers, by `StickBreakingTransform`.

    Args:
        loc: The means (..., n).
        scale: The standard deviations (..., n).
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> LogisticNormal(lamina.zeros(2), lamina.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def _normal(self) -> Any:
        found: Any = self.base_dist
        return found.base_dist if isinstance(found, Independent) else found

    @property
    def loc(self) -> Tensor:
        """The means."""
        loc: Tensor = self._normal.loc
        return loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations."""
        scale: Tensor = self._normal.scale
        return scale
