"""A batch of distributions taken as one over larger events."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    r"""Independent variables as one event: $\log p(x) = \sum_i \log p_i(x_i)$ over the last
    dimensions of a batch.

    Args:
        base_distribution: A batch of distributions.
        reinterpreted_batch_ndims: How many of the batch's last dimensions to take.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> from lamina.distributions import Normal
    >>> Independent(Normal(lamina.zeros(3), 1.0), 1).event_shape
    torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise errors.InvalidValue(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}",
                [(this_place(), "made here")],
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        dims = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        cut = len(shape) - dims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        taken = self._event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(batch + taken)
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    @property
    def has_rsample(self) -> bool:
        """As the base."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:
        """Only where no dimension is taken."""
        return self.reinterpreted_batch_ndims == 0 and bool(self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self) -> Any:
        """The base's, over larger events."""
        support, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(support, count) if count else support

    @property
    def mean(self) -> Tensor:
        """The base's."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The base's."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The base's."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random events, without gradients."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random events with gradients, if the base gives them."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The sum of the parts' logarithms."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The sum of the parts' entropies."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The base's, where no dimension is taken.

        Raises:
            NotSupported: Some are.
        """
        if self.reinterpreted_batch_ndims > 0:
            raise errors.NotSupported(
                "Enumeration over cartesian product is not implemented",
                [(this_place(), "asked for here")],
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
