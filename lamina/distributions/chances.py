"""Parameters given as probabilities or as logits; the other form is computed when asked for."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["BinaryChances", "CategoryChances", "check_one_given"]


def check_one_given(probs: Any, logits: Any) -> None:
    """Raise unless exactly one of the two is given."""
    if (probs is None) == (logits is None):
        raise errors.InvalidValue(
            "Either `probs` or `logits` must be specified, but not both.",
            [(this_place(), "made here")],
        )


class _Chances:
    """What a distribution of either kind of probabilities has."""

    _is_binary: ClassVar[bool]

    @lazy_property
    def logits(self) -> Tensor:
        """The logits: from `probs`, if those were given."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities: from `logits`, if those were given."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self) -> Tensor:
        """Whichever parameter is there."""
        known: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return known

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()


class BinaryChances(_Chances):
    """Probabilities of success; logits are log odds."""

    _is_binary = True


class CategoryChances(_Chances):
    """Probabilities of categories along the last dimension; logits are their logarithms."""

    _is_binary = False
