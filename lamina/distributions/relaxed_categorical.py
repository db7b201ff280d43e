"""Continuous relaxations of the categorical distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.over_categories import OverCategories
from lamina.distributions.relaxed import Relaxed
from lamina.distributions.transforms import ExpTransform
from lamina.distributions.utils import broadcast_all, clamp_probs
from lamina.ops.creation import full_like
from lamina.ops.random import rand

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategories):
    r"""The logarithms of a `RelaxedOneHotCategorical`: $x = \log \mathrm{softmax}((\log p +
    g) / t)$ with Gumbel distributed g (Maddison, Mnih and Teh 2017; Jang, Gu and Poole 2017).

    Args:
        temperature: t > 0.
        probs: Weights (..., K).
        logits: Logarithms of weights, instead.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> ExpRelaxedCategorical(lamina.tensor(1.0), lamina.ones(3)).event_shape
    torch.Size([3])
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def _expand_rest(self, new: Any, batch: Any) -> None:
        super()._expand_rest(new, batch)
        new.temperature = self.temperature

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random vectors of logarithms."""
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbel = -(-uniform.log()).log()
        scores = (self.logits + gumbel) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        t = self.temperature
        scale = full_like(t, float(count)).lgamma() - t.log().mul(-(count - 1))
        score = logits - value.mul(t)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(Relaxed):
    """Probability vectors that come close to one-hot ones as the temperature falls, with gradients.

    Args:
        temperature: A tensor above 0.
        probs: Weights (..., K).
        logits: Logarithms of weights, instead.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> RelaxedOneHotCategorical(lamina.tensor(0.5), lamina.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
