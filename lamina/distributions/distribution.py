"""The base of all distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, final

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.utils import lazy_property

__all__ = ["Distribution"]


@final
class _Defaults:
    """Settings for all distributions."""

    validate_args = __debug__


class Distribution:
    """A probability distribution over events, or a batch of them.

    Subclasses set `arg_constraints` and `support` and write what they can of `sample` or `rsample`,
    `log_prob`, `cdf`, `icdf`, `entropy`, `mean`, `mode` and `variance`.

    Args:
        batch_shape: The shape of the batch of distributions.
        event_shape: The shape of one event, over which the distribution is joint.
        validate_args: Whether to check parameters and values; the default is
            `set_default_validate_args`'s.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: ClassVar[Any] = property(lambda self: _not_written(self, "arg_constraints"))
    support: Any = property(lambda self: _not_written(self, "support"))
    _validate_args: ClassVar[bool] = True

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments from now on.

        Raises:
            InvalidValue: Neither True nor False.
        """
        if value not in (True, False):
            raise errors.InvalidValue(f"a truth value was expected, not {value!r}")
        _Defaults.validate_args = value

    def __init__(
        self,
        batch_shape: Any = Size(),  # noqa: B008  a shape is never changed
        event_shape: Any = Size(),  # noqa: B008
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        checks = _Defaults.validate_args if validate_args is None else validate_args
        self.__dict__["_validate_args"] = checks
        if checks:
            self._check_parameters()
        super().__init__()

    # --- shapes --------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of samples: of the sample, the batch and the event."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distribution with parameters expanded to a larger batch.

        >>> import lamina
        >>> lamina.distributions.Normal(0.0, 1.0).expand([2]).batch_shape
        torch.Size([2])
        """
        new = self._get_checked_instance(self._house_class(), _instance)
        batch = Size(batch_shape)
        for name, constraint in self.arg_constraints.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                event = value.shape[value.dim() - constraint.event_dim :]
                new.__dict__[name] = value.expand(batch + event)
        self._expand_rest(new, batch)
        new._settle(batch, self._event_shape, self._validate_args)
        return new

    def _expand_rest(self, new: Any, batch: Size) -> None:
        """Give an expanded copy what is no parameter of its own; for subclasses."""

    def _settle(self, batch: Size, event: Size, checks: bool) -> None:
        """Finish a copy whose parameters are set and known to be right."""
        Distribution.__init__(self, batch, event, validate_args=False)
        self.__dict__["_validate_args"] = checks

    def _house_class(self) -> type:
        """The nearest class that is no subclass written elsewhere."""
        house = __name__.rpartition(".")[0]
        return next(kind for kind in type(self).__mro__ if kind.__module__.startswith(house))

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An empty object of the distribution's class, or the one given."""
        own, theirs = (vars_of.__init__ for vars_of in (type(self), cls))  # type: ignore[misc]
        if _instance is None and own is not theirs:
            raise errors.NotSupported(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method.",
                [(this_place(), "expanded here")],
            )
        return self.__new__(type(self)) if _instance is None else _instance

    # --- what a distribution can do ------------------------------------------------------------

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random events of shape `sample_shape + batch_shape + event_shape`, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Random events that are differentiable functions of the parameters."""
        raise _missing(self, "rsample")

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`."""
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density (or of the probability) at `value`."""
        raise _missing(self, "log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of an event that is at most `value`."""
        raise _missing(self, "cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The event below which one lies with probability `value`: the inverse of `cdf`."""
        raise _missing(self, "icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All events of a discrete distribution, along a new first dimension.

        Args:
            expand: Whether to repeat them for the whole batch.
        """
        raise _missing(self, "enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy, in nats, of each distribution of the batch."""
        raise _missing(self, "entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise _missing(self, "mean")

    @property
    def mode(self) -> Tensor:
        """The likeliest event."""
        raise _missing(self, "mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise _missing(self, "variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: the root of the variance."""
        return self.variance.sqrt()

    # --- checks --------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        try:
            expected: Mapping[str, Any] = self.arg_constraints
        except NotImplementedError:
            return
        for name, constraint in expected.items():
            derived = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (derived and name not in self.__dict__):
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise errors.InvalidValue(
                    f"Expected parameter {name} ({_described(value)}) of distribution {self!r} to "
                    f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}",
                    [(this_place(), "made here")],
                )

    def _validate_sample(self, value: Any) -> None:
        """Raise unless a value is a tensor of the support, in a shape that fits."""
        if not isinstance(value, Tensor):
            raise errors.InvalidValue(
                "The value argument to log_prob must be a Tensor", [(this_place(), "called here")]
            )
        self._check_shape(value)
        try:
            support = self.support
        except NotImplementedError:
            return
        if not bool(support.check(value).all()):
            raise errors.InvalidValue(
                f"Expected value argument ({_described(value)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}",
                [(this_place(), "called here")],
            )

    def _check_shape(self, value: Tensor) -> None:
        events = len(self._event_shape)
        if value.shape[value.dim() - events :] != self._event_shape:
            raise errors.InvalidValue(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}.",
                [(this_place(), "called here")],
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise errors.InvalidValue(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                    f"{expected}.",
                    [(this_place(), "called here")],
                )

    def __repr__(self) -> str:
        known = self.__dict__
        parts = [
            f"{name}: {known[name] if known[name].numel() == 1 else known[name].size()}"
            for name in self.arg_constraints
            if name in known
        ]
        return f"{type(self).__name__}({', '.join(parts)})"


def _described(value: Tensor) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


def _missing(distribution: Distribution, name: str) -> errors.NotSupported:
    """The error for what a distribution cannot do."""
    return errors.NotSupported(
        f"{type(distribution).__name__} has no {name}", [(this_place(), "asked for here")]
    )


def _not_written(distribution: Distribution, name: str) -> Any:
    raise _missing(distribution, name)
