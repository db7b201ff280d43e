"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.gamma import Gamma
from lamina.distributions.utils import broadcast_all

__all__ = ["Chi2"]


class Chi2(Gamma):
    r"""The chi-squared distribution: of the sum of $\nu$ squares of standard normal numbers.

    It is the gamma distribution with shape $\nu / 2$ and rate 1/2.

    Args:
        df: The degrees of freedom, $\nu$ > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (df,) = broadcast_all(df)
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new.concentration = self.concentration.expand(batch)
        new.rate = self.rate.expand(batch)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
