"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.categorical import Categorical
from lamina.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    r"""A mixture: $p(x) = \sum_k w_k p_k(x)$, the parts being the last dimension of a batch.

    Args:
        mixture_distribution: The `Categorical` with the weights w.
        component_distribution: The parts; the last dimension of its batch goes over them.
        validate_args: Whether to check arguments.

    Raises:
        InvalidValue: Weights and parts that do not fit.

    >>> import lamina
    >>> from lamina.distributions import Categorical, Normal
    >>> parts = Normal(lamina.tensor([-1.0, 1.0]), 1.0)
    >>> MixtureSameFamily(Categorical(lamina.ones(2)), parts).variance
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise _refused(
                "The Mixture distribution needs to be an instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise _refused(
                "The Component distribution need to be an instance of "
                "torch.distributions.Distribution"
            )
        ours, theirs = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for one, other in zip(reversed(ours), reversed(theirs), strict=False):
            if one != 1 and other != 1 and one != other:
                raise _refused(
                    f"`mixture_distribution.batch_shape` ({ours}) is not compatible with "
                    f"`component_distribution.batch_shape`({theirs})"
                )
        count, parts = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != parts:
            raise _refused(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts})"
            )
        self._num_component = parts
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(theirs, component_distribution.event_shape, validate_args=validate_args)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new._component_distribution = self._component_distribution.expand(
            (*batch, self._num_component)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims

    @constraints.dependent_property
    def support(self) -> Any:
        """The parts' support."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the weights."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The parts."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """The weights, with dimensions for events."""
        weights = self._mixture_distribution.probs
        return weights.reshape(*weights.shape, *[1] * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        """The weighted mean of the parts' means."""
        parts = self._component_distribution.mean
        return (self._weights() * parts).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """The mean of the parts' variances, and the variance of their means."""
        weights, dim = self._weights(), -1 - self._event_ndims
        inner = (weights * self._component_distribution.variance).sum(dim)
        away = self._component_distribution.mean - self.mean.unsqueeze(dim)
        return inner + (weights * away.pow(2.0)).sum(dim)

    def cdf(self, x: Tensor) -> Tensor:
        """The weighted sum of the parts'."""
        parts = self._component_distribution.cdf(self._pad(x))
        return (parts * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(x)
        parts = self._component_distribution.log_prob(self._pad(x))
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return (parts + weights).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Random events: of all parts, from which the weights choose."""
        with no_grad():
            shape = Size(sample_shape)
            dim = len(shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.sample(shape)
            parts = self._component_distribution.sample(shape)
            index = chosen.reshape(*chosen.shape, *[1] * (self._event_ndims + 1))
            index = index.expand(*chosen.shape, 1, *self._event_shape)
            return parts.gather(dim, index).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        """A value with a dimension for the parts."""
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        parts = self._mixture_distribution, self._component_distribution
        return "MixtureSameFamily(\n  {},\n  {})".format(*parts)


def _refused(headline: str) -> errors.InvalidValue:
    return errors.InvalidValue(headline, [(this_place(), "made here")])
