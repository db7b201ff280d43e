"""The base of all transforms of random variables, and those made of other transforms."""

from __future__ import annotations

import functools
import operator
import weakref
from typing import Any, final

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.utils import sum_rightmost
from lamina.ops.creation import zeros_like

__all__ = [
    "ComposeTransform", "IndependentTransform", "Transform",
    "identity_transform",
]  # fmt: skip


class Transform:
    """An invertible function of tensors whose Jacobian's determinant is known.

    Subclasses write `_call`, `_inverse` (if `bijective`) and `log_abs_det_jacobian`, and set
    `domain` and `codomain`.

    Args:
        cache_size: 1 to keep the last pair of argument and value, so that the inverse of a value
            that was just computed is the very argument; 0 to keep nothing.

    >>> import lamina
    >>> exp = lamina.distributions.ExpTransform()
    >>> exp.inv(exp(lamina.tensor(2.0)))
    tensor(2.)
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise errors.InvalidValue("cache_size must be 0 or 1", [(this_place(), "made here")])
        self._cache_size = cache_size
        self._kept: tuple[Any, Any] = (None, None)
        self._inverse_transform: weakref.ref[Any] | None = None
        super().__init__()

    def __getstate__(self) -> Any:
        return self.__dict__ | {"_inverse_transform": None, "_kept": (None, None)}

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event, where domain and codomain agree on it."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise errors.InvalidValue("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        known = None if self._inverse_transform is None else self._inverse_transform()
        if known is None:
            known = _InverseTransform(self)
            self._inverse_transform = weakref.ref(known)
        return known

    @property
    def sign(self) -> Any:
        """1 for an increasing function of numbers, -1 for a decreasing one."""
        raise errors.NotSupported(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of another size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise errors.NotSupported(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        if x is self._kept[0]:
            return self._kept[1]
        y = self._call(x)
        self._kept = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is self._kept[1]:
            return self._kept[0]
        x = self._inverse(y)
        self._kept = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise errors.NotSupported(f"{type(self).__name__} has no _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise errors.NotSupported(f"{type(self).__name__} has no _inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det dy/dx| of each event, from an argument and its value."""
        raise errors.NotSupported(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value, from that of the argument."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument, from that of the value."""
        return shape

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


@final
class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @property
    def domain(self) -> Any:
        """The other's codomain."""
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        """The other's domain."""
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        """As the other is."""
        return bool(self._inv.bijective)

    @property
    def sign(self) -> Any:
        """As the other's."""
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        """The transform itself."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The inverse of the transform with such a cache."""
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The other's, negated."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        """As the other's inverse."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """As the other's."""
        return self._inv.forward_shape(shape)


@final
class ComposeTransform(Transform):
    """Several transforms, one after the other.

    Args:
        parts: The transforms, the first to be applied first.
        cache_size: 1 to keep the last pair of each.
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @property
    def domain(self) -> Any:
        """The first part's, with the dimensions that later parts take as one event."""
        if not self.parts:
            return constraints.real
        domain, dims = self.parts[0].domain, self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        extra = dims - domain.event_dim
        return constraints.independent(domain, extra) if extra else domain

    @property
    def codomain(self) -> Any:
        """The last part's, with the dimensions that earlier parts take as one event."""
        if not self.parts:
            return constraints.real
        codomain, dims = self.parts[-1].codomain, self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        extra = dims - codomain.event_dim
        return constraints.independent(codomain, extra) if extra else codomain

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts'."""
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        """The inverses of the parts, in the other order."""
        known = None if self._inverse_transform is None else self._inverse_transform()
        if known is None:
            known = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inverse_transform = weakref.ref(known)
            known._inverse_transform = weakref.ref(self)
        return known

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same parts with caches of another size."""
        same = self._cache_size == cache_size
        return self if same else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the parts', over the dimensions of the common event."""
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, dims = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            found = part.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(found, dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        """The shape after all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape before all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


@final
class IndependentTransform(Transform):
    """Another transform, with more of the last dimensions taken as one event.

    Args:
        base_transform: The transform.
        reinterpreted_batch_ndims: How many dimensions more.
        cache_size: 1 to keep the last pair.
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of another size."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @property
    def domain(self) -> Any:
        """The base's, over larger events."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        """The base's, over larger events."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """As the base is."""
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        """As the base's."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        self._check(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        self._check(y, self.codomain)
        return self.base_transform.inv(y)

    @staticmethod
    def _check(value: Tensor, space: Any) -> None:
        if value.dim() < space.event_dim:
            raise errors.InvalidValue(
                "Too few dimensions on input", [(this_place(), "called here")]
            )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The base's, summed over the larger events."""
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(found, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        """As the base's."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """As the base's."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
