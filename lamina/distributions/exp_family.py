r"""Exponential families: densities $h(x) \exp(\langle \eta, t(x) \rangle - A(\eta))$."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.autograd.backward import grad
from lamina.core.modes import enable_grad
from lamina.core.tensor import Tensor
from lamina.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    r"""A distribution of an exponential family, given by its natural parameters $\eta$, its log
    normalizer $A(\eta)$, and the mean of $\log h(x)$.

    Where a subclass writes these, its entropy follows from Bregman's divergence of A (Nielsen and
    Nock 2010, "Entropies and cross-entropies of exponential families").
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The natural parameters."""
        raise errors.NotSupported(f"{type(self).__name__} has no natural parameters written")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """A, a function of the natural parameters."""
        raise errors.NotSupported(f"{type(self).__name__} has no log normalizer written")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of log h(x)."""
        raise errors.NotSupported(f"{type(self).__name__} has no carrier measure written")

    def entropy(self) -> Tensor:
        """The entropy, from the log normalizer and its gradient."""
        carrier = self._mean_carrier_measure
        natural = differentiable(self._natural_params)
        with enable_grad():
            normalizer = self._log_normalizer(*natural)
            slopes = grad(normalizer.sum(), natural, create_graph=True)
        result: Any = normalizer - carrier
        for parameter, slope in zip(natural, slopes, strict=True):
            part = parameter * slope
            result = result - part.reshape(*self._batch_shape, -1).sum(-1)
        return result


def differentiable(parameters: tuple[Tensor, ...]) -> list[Tensor]:
    """Parameters by which one can differentiate: those that require no grad as new leaves."""
    return [p if p.requires_grad else p.detach().requires_grad_() for p in parameters]
