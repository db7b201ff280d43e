"""The base of all constraints, and those made of other constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from lamina import errors
from lamina.ops.joining import cat as joined
from lamina.ops.joining import stack as stacked

__all__ = [
    "Cat", "Constraint", "Dependent", "DependentProperty", "IndependentConstraint",
    "MixtureSameFamilyConstraint", "Stack", "is_dependent", "named",
]  # fmt: skip


class Constraint:
    """A set of allowed values; subclasses write `check`."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Whether each event of `value` is allowed: a bool tensor of its batch shape."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.removeprefix("_") + "()"


def named(instance: Constraint, **bounds: Any) -> str:
    """A constraint as text: the name of its class, and its bounds."""
    words = ", ".join(f"{name}={value}" for name, value in bounds.items())
    return f"{type(instance).__name__.removeprefix('_')}({words})"


# --- constraints that depend on other values ---------------------------------------------------


class Dependent(Constraint):
    """Stands for a constraint that depends on parameters, so it can only be asked of an object."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether values are discrete, where that is known beforehand."""
        return self._known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self) -> int:
        """How many dimensions an event has, where that is known beforehand."""
        return self._known(self._event_dim, "event_dim")

    @staticmethod
    def _known(value: Any, name: str) -> Any:
        if value is NotImplemented:
            raise errors.NotSupported(f".{name} cannot be determined statically")
        return value

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> Any:
        """The same, with more known beforehand."""
        discrete = self._is_discrete if is_discrete is NotImplemented else is_discrete
        dims = self._event_dim if event_dim is NotImplemented else event_dim
        return Dependent(is_discrete=discrete, event_dim=dims)

    def check(self, value: Any) -> Any:
        """Refuse: the constraint itself is not known."""
        raise errors.InvalidValue("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other values, and so cannot be checked by itself."""
    return isinstance(constraint, Dependent)


@final
class DependentProperty(property, Dependent):
    """A property that gives the constraint of an object; of the class it is a dependent one."""

    def __init__(
        self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> Any:  # type: ignore[override]
        return DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


@final
class IndependentConstraint(Constraint):
    """Another constraint, with more of the last dimensions taken as one event."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        """As the base constraint."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """The base constraint's, and those taken beside."""
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        """Whether all parts of an event are allowed."""
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise errors.InvalidValue(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}"
            )
        kept = found.shape[: found.dim() - self.reinterpreted_batch_ndims]
        return found.reshape(*kept, -1).all(-1)

    def __repr__(self) -> str:
        base, count = self.base_constraint, self.reinterpreted_batch_ndims
        return f"IndependentConstraint({base!r}, {count})"


@final
class MixtureSameFamilyConstraint(Constraint):
    """The constraint of a mixture's components, asked of values without a dimension for them."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """As the base constraint."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """As the base constraint."""
        return int(self.base_constraint.event_dim)

    def check(self, value: Any) -> Any:
        """Whether each event is allowed for all components."""
        place = value.dim() - self.event_dim
        found = self.base_constraint.check(value.unsqueeze(place))
        if found.dim() > place:
            found = found.reshape(*found.shape[:place], -1).all(-1)
        return found

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


# --- several constraints, each for a part ------------------------------------------------------


class _Parts(Constraint):
    """Constraints for the parts of a value along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        """Whether any part is discrete."""
        return any(part.is_discrete for part in self.cseq)


@final
class Cat(_Parts):
    """Constraints for parts of given lengths along a dimension."""

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def event_dim(self) -> int:
        """The largest of the parts'."""
        return max(part.event_dim for part in self.cseq)

    def check(self, value: Any) -> Any:
        """The answers of the parts, joined."""
        found, start = [], 0
        for part, length in zip(self.cseq, self.lengths, strict=True):
            found.append(part.check(value.narrow(self.dim, start, length)))
            start += length
        return joined(found, self.dim)


@final
class Stack(_Parts):
    """Constraints for the slices along a dimension."""

    @property
    def event_dim(self) -> int:
        """The largest of the parts', and one more if the dimension belongs to the event."""
        largest = max(part.event_dim for part in self.cseq)
        return largest + 1 if self.dim + largest < 0 else largest

    def check(self, value: Any) -> Any:
        """The answers of the slices, stacked."""
        slices = [value.select(self.dim, k) for k in range(value.shape[self.dim])]
        return stacked([c.check(v) for v, c in zip(slices, self.cseq, strict=True)], self.dim)
