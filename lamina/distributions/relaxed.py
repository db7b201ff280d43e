"""What the relaxed Bernoulli and categorical distributions share: the parameters of their base."""

from __future__ import annotations

from abc import ABC
from typing import Any

from lamina.core.tensor import Tensor
from lamina.distributions.transformed_distribution import TransformedDistribution


class Relaxed(TransformedDistribution, ABC):
    """A choice that gradients flow through: `base_dist` has a temperature and the chances."""

    has_rsample = True
    base_dist: Any

    @property
    def temperature(self) -> Any:
        """The temperature: at 0 this would be the choice itself."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log odds of a Bernoulli choice, or the logarithms of the categories' probabilities."""
        logits: Tensor = self.base_dist.logits
        return logits

    @property
    def probs(self) -> Tensor:
        """The probabilities at temperature 0."""
        probs: Tensor = self.base_dist.probs
        return probs
