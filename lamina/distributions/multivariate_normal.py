"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.utils import lazy_property, standard_normal
from lamina.ops.broadcasting import broadcast_shapes
from lamina.ops.creation import eye
from lamina.ops.triangular import cholesky, cholesky_inverse
from lamina.ops.triangular import linalg_solve_triangular as solve_triangular

__all__ = ["MultivariateNormal", "mahalanobis", "product_with_vector", "scale_of_precision"]


def product_with_vector(matrices: Tensor, vectors: Tensor) -> Tensor:
    """Matrices (..., n, n) times vectors (..., n), with shapes that broadcast."""
    return (matrices @ vectors.unsqueeze(-1)).squeeze(-1)


def mahalanobis(scale: Tensor, away: Tensor) -> Tensor:
    r"""$x^T (L L^T)^{-1} x$ for lower triangular L (..., n, n) and x (..., n)."""
    return solve_triangular(scale, away.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))


def half_log_det(scale: Tensor) -> Tensor:
    r"""$\log \det L$, half the logarithm of the covariance's determinant."""
    return scale.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def scale_of_precision(precision: Tensor) -> Tensor:
    r"""The Cholesky factor of the inverse of P, without inverting P.

    Turned by 180 degrees, P has a factor $P' = M M^T$; so $P = U U^T$ with upper triangular U, and
    $P^{-1} = U^{-T} U^{-1}$.
    """
    upper = cholesky(precision.flip((-2, -1))).flip((-2, -1))
    unit = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(upper.mT, unit, upper=False)


class MultivariateNormal(Distribution):
    r"""The multivariate normal distribution: $p(x) = (2 \pi)^{-n/2} \det(\Sigma)^{-1/2}
    e^{-\frac12 (x - \mu)^T \Sigma^{-1} (x - \mu)}$.

    Args:
        loc: The mean (..., n).
        covariance_matrix: $\Sigma$ (..., n, n), positive definite; exactly one of the three.
        precision_matrix: The inverse of $\Sigma$, instead.
        scale_tril: The Cholesky factor of $\Sigma$, instead: the cheapest.
        validate_args: Whether to check arguments.

    Raises:
        InvalidValue: None or several of the matrices, or too few dimensions.

    >>> import lamina
    >>> MultivariateNormal(lamina.zeros(2), lamina.eye(2)).log_prob(lamina.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise refused("loc must be at least one-dimensional.")
        name, matrix = matrix_given(covariance_matrix, precision_matrix, scale_tril)
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(*batch, *matrix.shape[-2:]))
        self.loc = loc.expand(*batch, loc.shape[-1])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._expanded(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._expanded(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variances: the covariance's diagonal."""
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random vectors: `loc + scale_tril @ noise`."""
        shape = self._extended_shape(sample_shape)
        noise = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + product_with_vector(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        r"""$\frac n2 (1 + \log 2 \pi) + \frac12 \log \det \Sigma$."""
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        value = constant + half_log_det(self._unbroadcasted_scale_tril)
        return value.expand(self._batch_shape) if self._batch_shape else value


def matrix_given(covariance: Any, precision: Any, scale: Any) -> tuple[str, Tensor]:
    """The name and value of the one matrix that is given.

    Raises:
        InvalidValue: None, or several; or no matrix.
    """
    names = ("covariance_matrix", "precision_matrix", "scale_tril")
    given = [
        (name, value)
        for name, value in zip(names, (covariance, precision, scale), strict=True)
        if value is not None
    ]
    if len(given) != 1:
        raise refused(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    if given[0][1].dim() < 2:
        raise refused(
            f"{given[0][0]} must be at least two-dimensional, with optional leading batch "
            "dimensions"
        )
    return given[0]


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance, from whichever matrix was given."""
    if name == "scale_tril":
        return matrix
    return cholesky(matrix) if name == "covariance_matrix" else scale_of_precision(matrix)


def refused(headline: str) -> errors.InvalidValue:
    """The error for parameters that do not fit."""
    return errors.InvalidValue(headline, [(this_place(), "made here")])
