"""Distributions of transformed random variables."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.independent import Independent
from lamina.distributions.transforms import ComposeTransform, Transform
from lamina.distributions.utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    r"""The distribution of y = f(x), where x is distributed as given: $\log p(y) = \log p(x) -
    \log |\det dy / dx|$.

    Args:
        base_distribution: The distribution of x.
        transforms: f, or a list of transforms, the first to be applied first.
        validate_args: Whether to check arguments.

    Raises:
        InvalidValue: A base whose events have fewer dimensions than the transform takes.

    >>> import lamina
    >>> from lamina.distributions import ExpTransform, Normal
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])
    >>> log_normal.log_prob(lamina.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        self.transforms = _list_of(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        chain, dims = ComposeTransform(self.transforms), len(base_distribution.event_shape)
        if len(shape) < chain.domain.event_dim:
            raise errors.InvalidValue(
                "base_distribution needs to have shape with size at least "
                f"{chain.domain.event_dim}, but got {base_distribution}.",
                [(this_place(), "made here")],
            )
        forward = chain.forward_shape(shape)
        # A transform may broadcast the base, and take dimensions of its batch as one event.
        expanded = chain.inverse_shape(forward)
        if tuple(expanded) != tuple(shape):
            base_distribution = base_distribution.expand(expanded[: len(expanded) - dims])
        taken = chain.domain.event_dim - dims
        if taken > 0:
            base_distribution = Independent(base_distribution, taken)
        self.base_dist = base_distribution
        event_dim = chain.codomain.event_dim + max(dims - chain.domain.event_dim, 0)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new.transforms = self.transforms
        shape = batch + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        dims = len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - dims])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The last transform's codomain, or the base's support where there is none."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self._event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self) -> bool:
        """As the base."""
        return bool(self.base_dist.has_rsample)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random events, without gradients."""
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random events with gradients, if the base gives them."""
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        dims, y = len(self._event_shape), value
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(slope, dims - transform.domain.event_dim)
            y = x
        of_base = sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))
        return total + of_base

    def _sign(self) -> Any:
        """The product of the transforms' signs."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def _monotonized(self, chance: Tensor) -> Tensor:
        """A probability, or its complement where the transforms decrease."""
        sign = self._sign()
        return chance if isinstance(sign, int) and sign == 1 else sign * (chance - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number below `value`, for transforms of numbers."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonized(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one lies with probability `value`."""
        return self._transformed(self.base_dist.icdf(self._monotonized(value)))


def _list_of(transforms: Any) -> list[Transform]:
    """One transform or a list of them as a list; anything else raises."""
    if isinstance(transforms, Transform):
        return [transforms]
    if isinstance(transforms, list) and all(isinstance(t, Transform) for t in transforms):
        return transforms
    raise errors.InvalidValue(
        f"transforms must be a Transform or list, but was {transforms}",
        [(this_place(), "made here")],
    )
