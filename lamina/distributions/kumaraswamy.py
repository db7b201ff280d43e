"""The Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import AffineTransform, PowerTransform, Transform
from lamina.distributions.uniform import Uniform
from lamina.distributions.utils import broadcast_all, euler_constant
from lamina.ops.creation import full_like

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    r"""The Kumaraswamy distribution: $P(X < x) = 1 - (1 - x^a)^b$ for 0 < x < 1.

    Args:
        concentration1: a > 0.
        concentration0: b > 0.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            full_like(self.concentration0, 0), full_like(self.concentration0, 1),
            validate_args=validate_args,
        )  # fmt: skip
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Transform]:
        """(1 - u^(1/b))^(1/a)."""
        return [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]

    def _expand_rest(self, new: Any, batch: Size) -> None:
        super()._expand_rest(new, batch)
        new.transforms = new._steps()

    def _moment(self, order: int) -> Tensor:
        r"""$b B(1 + n/a, b)$."""
        a, b = self.concentration1, self.concentration0
        shifted = 1 + order / a
        return (shifted.lgamma() + b.log() + b.lgamma() - (shifted + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        """b B(1 + 1/a, b)."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """((a - 1) / (a b - 1))^(1/a); NaN unless both are at least 1."""
        a, b = self.concentration1, self.concentration0
        logarithm = (a - 1).log() - (a * b - 1).log()
        mode = (a.reciprocal() * logarithm).exp()
        return mode.masked_fill((b < 1) | (a < 1), float("nan"))

    @property
    def variance(self) -> Tensor:
        """The second moment less the square of the mean."""
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        r"""$(1 - 1/b) + (1 - 1/a) H_b - \log(a b)$, with the harmonic number $H_b$."""
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
