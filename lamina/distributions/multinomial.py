"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.binomial import Binomial
from lamina.distributions.over_categories import OverCategories
from lamina.distributions.utils import broadcast_all
from lamina.ops.creation import ones_like
from lamina.ops.data import tensor
from lamina.ops.gamma_function import lgamma

__all__ = ["Multinomial"]


class Multinomial(OverCategories):
    r"""The multinomial distribution: how often each of K categories comes in n draws, $P(x) =
    \frac{n!}{\prod_k x_k!} \prod_k p_k^{x_k}$.

    Args:
        total_count: n, one number for all.
        probs: Weights (..., K), not negative; they are divided by their sum.
        logits: Logarithms of weights, instead.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Multinomial(4, lamina.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    total_count: int

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise errors.NotSupported(
                "inhomogeneous total_count is not supported", [(this_place(), "made here")]
            )
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)

    def _expand_rest(self, new: Any, batch: Any) -> None:
        super()._expand_rest(new, batch)
        new.total_count = self.total_count
        new._binomial = self._binomial.expand(batch + self._event_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Vectors of counts with sum n (smaller sums are let through)."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random counts."""
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        # The draws go last, and each counts for its category.
        drawn = drawn.movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, ones_like(drawn))
        return counts.type_as(self.probs.detach())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill(value.eq(0) & logits.eq(-float("inf")), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """The entropy: that of n draws in order, less what the order holds."""
        n = tensor(float(self.total_count))
        cat_entropy = self._categorical.entropy()
        counts = self._binomial.enumerate_support(expand=False)[1:]
        chances = self._binomial.log_prob(counts).exp()
        weight = (chances * (counts + 1).lgamma()).sum((0, -1))
        return n * cat_entropy - lgamma(n + 1) + weight
