"""The categorical distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chances import CategoryChances, check_one_given
from lamina.distributions.distribution import Distribution
from lamina.ops.broadcasting import broadcast_tensors
from lamina.ops.creation import arange, full
from lamina.ops.dtype_info import finfo
from lamina.ops.random import multinomial

__all__ = ["Categorical"]


class Categorical(CategoryChances, Distribution):
    r"""The categorical distribution over 0 ... K - 1: $P(k) = p_k$.

    Args:
        probs: Weights (..., K), not negative; they are divided by their sum.
        logits: Logarithms of weights, instead.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Categorical(lamina.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one_given(probs, logits)
        given, name = (logits, "logits") if probs is None else (probs, "probs")
        if given.dim() < 1:
            raise errors.InvalidValue(
                f"`{name}` parameter must be at least one-dimensional.",
                [(this_place(), "made here")],
            )
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = int(given.size()[-1])
        super().__init__(given.size()[:-1], validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Any) -> None:
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """0 ... K - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    def _nan(self) -> Tensor:
        shape = self._extended_shape()
        return full(shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mean(self) -> Tensor:
        """NaN: categories are no numbers."""
        return self._nan()

    @property
    def mode(self) -> Tensor:
        """The likeliest category."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """NaN: categories are no numbers."""
        return self._nan()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random categories, int64."""
        shape = self._extended_shape(sample_shape)
        count = shape[: len(shape) - len(self._batch_shape)].numel()
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            return multinomial(rows, count, True).T.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of each category in `value`."""
        if self._validate_args:
            self._validate_sample(value)
        index, logits = value.long().unsqueeze(-1), self.logits
        if value.shape != self._batch_shape:
            index, logits = broadcast_tensors(index, logits)
            index = index[..., :1]
        return logits.gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        r"""$-\sum_k p_k \log p_k$."""
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All categories."""
        values = arange(self._num_events, device=self._param.device)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
