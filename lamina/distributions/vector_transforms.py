"""Transforms of vectors and matrices, and of several parts at once."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, final

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.transform import Transform
from lamina.distributions.utils import sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix
from lamina.nn.functional import pad, softplus
from lamina.ops.creation import arange, eye
from lamina.ops.dtype_info import finfo
from lamina.ops.joining import cat, stack
from lamina.ops.triangular import cholesky

__all__ = [
    "CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "ReshapeTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform",
]  # fmt: skip


class _SameKind(Transform):
    """A transform without parameters: two of a kind are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__


@final
class SoftmaxTransform(_SameKind):
    """Softmax along the last dimension; not bijective, since a shift of all elements is lost."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """The same."""
        return _with_dims(shape, 1)

    inverse_shape = forward_shape


def _with_dims(shape: Any, count: int) -> Any:
    if len(shape) < count:
        raise errors.InvalidValue("Too few dimensions on input")
    return shape


@final
class StickBreakingTransform(_SameKind):
    r"""From n - 1 numbers to n probabilities: of what is left, each breaks off its part.

    $z_k = \sigma(x_k - \log(n - k))$ for k = 1 ... n - 1, and $y_k = z_k \prod_{j<k} (1 - z_j)$, so
    that zeros give equal parts.
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        parts = (x - _places_left(x).log()).sigmoid()
        left = (1 - parts).cumprod(-1)
        return pad(parts, (0, 1), value=1) * pad(left, (1, 0), value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        # What is left after each part; rounding must not make it zero.
        left = (1 - y[..., :-1].cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return y[..., :-1].log() - left.log() + _places_left(left).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        r"""$\sum_k \log (1 - z_k) + \log y_k$: a triangle has dy_k/dx_k = y_k (1 - z_k)."""
        shifted = x - _places_left(x).log()
        return (y[..., :-1].log() - softplus(shifted)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One element more."""
        return (*_with_dims(shape, 1)[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        """One element less."""
        return (*_with_dims(shape, 1)[:-1], shape[-1] - 1)


def _places_left(x: Tensor) -> Tensor:
    """n - 1, n - 2, ..., 1."""
    return arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device)


@final
class LowerCholeskyTransform(_SameKind):
    """From square matrices to lower triangular ones with a positive diagonal: its exponential."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


@final
class PositiveDefiniteTransform(_SameKind):
    """From square matrices to positive definite ones, by way of a Cholesky factor."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))


@final
class CorrCholeskyTransform(_SameKind):
    r"""From n (n - 1) / 2 numbers to the Cholesky factor of a correlation matrix.

    Their hyperbolic tangents are canonical partial correlations $z_{ij}$; a row of the factor
    breaks off a part of its length 1 with each (Lewandowski, Kurowicka and Joe 2009):
    $y_{ij} = z_{ij} \prod_{k<j} \sqrt{1 - z_{ik}^2}$.
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        z = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - z * z).sqrt().cumprod(-1)
        z = z + eye(z.shape[-1], dtype=z.dtype, device=z.device)
        return z * pad(left[..., :-1], (1, 0), value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        left = pad(left[..., :-1], (1, 0), value=1)
        flat, rest = tril_matrix_to_vec(y, diag=-1), tril_matrix_to_vec(left, diag=-1)
        t = flat / rest.sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """From tanh, and from the parts that are left in each row."""
        left = (1 - (y * y).cumsum(-1)).tril(-2)
        # Zeros above the diagonal count for nothing in the sum of logarithms.
        safe = left + left.eq(0).to(left.dtype)
        of_rows = 0.5 * safe.log().sum((-2, -1))
        of_tanh = -2 * (x + softplus(-2 * x) - 0.6931471805599453).sum(-1)
        return of_rows + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        """From a vector to a matrix."""
        count = _with_dims(shape, 1)[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise errors.InvalidValue("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> Any:
        """From a matrix to a vector."""
        n = _with_dims(shape, 2)[-1]
        if shape[-2] != n:
            raise errors.InvalidValue("Input is not square")
        return (*shape[:-2], n * (n - 1) // 2)


@final
class ReshapeTransform(Transform):
    """Events of one shape given another: the Jacobian's determinant is 1.

    Args:
        in_shape: The shape of an event before.
        out_shape: After; with as many elements.
        cache_size: 1 to keep the last pair.
    """

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        counts = [functools.reduce(operator.mul, s, 1) for s in (self.in_shape, self.out_shape)]
        if counts[0] != counts[1]:
            raise errors.InvalidValue(
                "in_shape, out_shape have different numbers of elements",
                [(this_place(), "made here")],
            )
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:
        """Arrays of the first shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        """Arrays of the second."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of another size."""
        same = self._cache_size == cache_size
        return self if same else ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Zero."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        """The last dimensions replaced."""
        return _with_end(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The last dimensions replaced back."""
        return _with_end(shape, self.out_shape, self.in_shape)


def _with_end(shape: Any, old: tuple[int, ...], new: tuple[int, ...]) -> Any:
    start = len(shape) - len(old)
    if start < 0:
        raise errors.InvalidValue("Too few dimensions on input")
    if tuple(shape[start:]) != old:
        raise errors.InvalidValue(f"Shape mismatch: expected {shape[start:]} but got {old}")
    return shape[:start] + new


# --- several transforms, each for a part -------------------------------------------------------


class _Parts(Transform):
    """Transforms for the parts of a value along a dimension."""

    transforms: list[Transform]
    dim: int

    @property
    def bijective(self) -> bool:
        """Whether all parts' transforms are."""
        return all(part.bijective for part in self.transforms)


@final
class CatTransform(_Parts):
    """Transforms for parts of given lengths along a dimension.

    Args:
        tseq: The transforms.
        dim: The dimension.
        lengths: The parts' lengths; 1 each if None.
        cache_size: 1 to keep the last pair of each.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:  # fmt: skip
        if cache_size:
            tseq = [part.with_cache(cache_size) for part in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.dim = dim

    @property
    def event_dim(self) -> int:
        """The largest of the parts'."""
        return max(part.event_dim for part in self.transforms)

    @property
    def length(self) -> int:
        """The length of all parts together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with caches of another size."""
        same = self._cache_size == cache_size
        return self if same else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Tensor) -> list[Tensor]:
        return list(value.split(self.lengths, self.dim))

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return cat([part(value) for part, value in parts], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return cat([part.inv(value) for part, value in parts], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The parts', joined; or added up, where the dimension belongs to an event."""
        found = []
        for part, a, b in zip(self.transforms, self._split(x), self._split(y), strict=True):
            own = part.log_abs_det_jacobian(a, b)
            if part.event_dim < self.event_dim:
                own = sum_rightmost(own, self.event_dim - part.event_dim)
            found.append(own)
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return cat(found, dim) if dim < 0 else functools.reduce(operator.add, found)

    @property
    def domain(self) -> Any:
        """The parts' domains."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        """The parts' codomains."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


@final
class StackTransform(_Parts):
    """Transforms for the slices along a dimension.

    Args:
        tseq: The transforms.
        dim: The dimension.
        cache_size: 1 to keep the last pair of each.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if cache_size:
            tseq = [part.with_cache(cache_size) for part in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with caches of another size."""
        same = self._cache_size == cache_size
        return self if same else StackTransform(self.transforms, self.dim, cache_size)

    def _each(self, *values: Tensor) -> Any:
        return zip(self.transforms, *(value.unbind(self.dim) for value in values), strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return stack([part(value) for part, value in self._each(x)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return stack([part.inv(value) for part, value in self._each(y)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The slices', stacked."""
        found = [part.log_abs_det_jacobian(a, b) for part, a, b in self._each(x, y)]
        return stack(found, self.dim)

    @property
    def domain(self) -> Any:
        """The slices' domains."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        """The slices' codomains."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
