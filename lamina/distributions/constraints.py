r"""Constraints: which values a parameter or a sample may have.

`constraint.check(value)` tells of each event whether it satisfies the constraint: the last
`event_dim` dimensions of the value belong to one event.

>>> import lamina
>>> positive.check(lamina.tensor([-1.0, 2.0]))
tensor([False,  True])
"""

from __future__ import annotations

from typing import Any, final

from lamina.distributions.constraint import (
    Cat,
    Constraint,
    Dependent,
    DependentProperty,
    IndependentConstraint,
    MixtureSameFamilyConstraint,
    Stack,
    is_dependent,
    named,
)
from lamina.ops.decompositions import linalg_eigvalsh as eigvalsh
from lamina.ops.dtype_info import finfo
from lamina.ops.triangular import linalg_cholesky_ex as cholesky_ex

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


# --- numbers -----------------------------------------------------------------------------------


@final
class _Real(Constraint):
    """Any number but NaN."""

    def check(self, value: Any) -> Any:
        """Whether each element is a number."""
        return value == value


@final
class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        """Whether each element is 0 or 1."""
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """Numbers on one side of a bound, or between two."""

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None) -> None:
        if lower_bound is not None:
            self.lower_bound = lower_bound
        if upper_bound is not None:
            self.upper_bound = upper_bound

    def __repr__(self) -> str:
        return named(self, **self.__dict__)


@final
class _GreaterThan(_Bounded):
    def check(self, value: Any) -> Any:
        return self.lower_bound < value


@final
class _GreaterThanEq(_Bounded):
    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


@final
class _LessThan(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        super().__init__(None, upper_bound)

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


@final
class _Interval(_Bounded):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


@final
class _HalfOpenInterval(_Bounded):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


@final
class _IntegerInterval(_Bounded):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


@final
class _IntegerGreaterThan(_Bounded):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


# --- vectors -----------------------------------------------------------------------------------


@final
class _OneHot(Constraint):
    """Vectors with a single 1 among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        """Whether each vector is one."""
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


@final
class _Simplex(Constraint):
    """Vectors of probabilities: not negative, and with sum 1 (to 1e-6)."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        """Whether each vector is one."""
        return (value >= 0).all(dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


@final
class _Multinomial(Constraint):
    """Vectors of counts whose sum is at most a given one."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        """Whether each vector is one."""
        return (value >= 0).all(dim=-1) & (value.sum(dim=-1) <= self.upper_bound)


# --- matrices ----------------------------------------------------------------------------------


@final
class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        """Whether each matrix is one."""
        is_square = value.shape[-2] == value.shape[-1]
        return value.new_full(tuple(value.shape[:-2]), is_square).bool()


@final
class _LowerTriangular(Constraint):
    """Square matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        """Whether each matrix is one."""
        return (value.tril() == value).reshape(*value.shape[:-2], -1).all(-1)


@final
class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        """Whether each matrix is one."""
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


@final
class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: rows of length 1."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        """Whether each matrix is one."""
        allowed = finfo(value.dtype).eps * value.shape[-1] * 10
        norms = value.detach().square().sum(-1).sqrt()
        return lower_cholesky.check(value) & ((norms - 1).abs() < allowed).all(-1)


@final
class _Symmetric(Constraint):
    """Symmetric matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        """Whether each matrix is one, to 1e-6."""
        is_square = square.check(value)
        if not bool(is_square.all()):
            return is_square
        return value.isclose(value.mT, atol=1e-6).all(-2).all(-1)


@final
class _PositiveSemidefinite(Constraint):
    """Symmetric matrices without negative eigenvalues."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        """Whether each matrix is one."""
        is_symmetric = symmetric.check(value)
        if not bool(is_symmetric.all()):
            return is_symmetric
        return eigvalsh(value).ge(0).all(-1)


@final
class _PositiveDefinite(Constraint):
    """Symmetric matrices with positive eigenvalues."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        """Whether each matrix is one: whether it has a Cholesky factor."""
        is_symmetric = symmetric.check(value)
        if not bool(is_symmetric.all()):
            return is_symmetric
        return cholesky_ex(value)[1].eq(0)


# --- public names ------------------------------------------------------------------------------

dependent = Dependent()
dependent_property = DependentProperty
independent = IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = Cat
stack = Stack
