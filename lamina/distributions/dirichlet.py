"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.exp_family import ExponentialFamily
from lamina.nn.functional import one_hot
from lamina.ops.exponential import xlogy
from lamina.ops.gamma_sampling import sample_dirichlet

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    r"""The Dirichlet distribution over vectors of probabilities: $p(x) =
    \frac{\Gamma(\sum_k \alpha_k)}{\prod_k \Gamma(\alpha_k)} \prod_k x_k^{\alpha_k - 1}$.

    Args:
        concentration: $\alpha$ > 0, (..., categories).
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Dirichlet(lamina.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise errors.InvalidValue(
                "`concentration` parameter must be at least one-dimensional.",
                [(this_place(), "made here")],
            )
        self.concentration = concentration
        shape = concentration.size()
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The parameters, divided by their sum."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """(a_k - 1) / (sum - categories); a corner where all parameters are below 1."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corners = (self.concentration < 1).all(dim=-1)
        if bool(corners.any()):
            largest = one_hot(mode[corners].argmax(dim=-1), above.shape[-1])
            mode[corners] = largest.to(mode.dtype)
        return mode

    @property
    def variance(self) -> Tensor:
        """a_k (sum - a_k) / (sum^2 (sum + 1))."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random probabilities, with implicit derivatives."""
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        alpha = self.concentration
        return xlogy(alpha - 1.0, value).sum(-1) + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        r"""$\log B(\alpha) + (\alpha_0 - K) \psi(\alpha_0) - \sum_k (\alpha_k - 1)
        \psi(\alpha_k)$."""
        alpha, count = self.concentration, self.concentration.size(-1)
        total = alpha.sum(-1)
        return (
            alpha.lgamma().sum(-1)
            - total.lgamma()
            - (count - total) * total.digamma()
            - ((alpha - 1.0) * alpha.digamma()).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
