"""What distributions of vectors with a place for each category share."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.categorical import Categorical
from lamina.distributions.distribution import Distribution


class OverCategories(Distribution, ABC):
    """A distribution of vectors (K) whose parameter is that of a categorical distribution."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    def __init__(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Any) -> None:
        new._categorical = self._categorical.expand(batch)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape
