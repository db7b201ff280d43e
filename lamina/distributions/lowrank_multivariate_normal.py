"""The multivariate normal distribution with a covariance of low rank and a diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.distribution import Distribution
from lamina.distributions.multivariate_normal import (
    half_log_det,
    mahalanobis,
    product_with_vector,
    refused,
)
from lamina.distributions.utils import lazy_property, standard_normal
from lamina.ops.broadcasting import broadcast_shapes
from lamina.ops.creation import eye
from lamina.ops.triangular import cholesky
from lamina.ops.triangular import linalg_solve_triangular as solve_triangular

__all__ = ["LowRankMultivariateNormal", "low_rank_distance", "low_rank_log_det"]


def _capacitance(factor: Tensor, diagonal: Tensor) -> Tensor:
    r"""The Cholesky factor of $I + W^T D^{-1} W$."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    unit = eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return cholesky(scaled @ factor + unit)


def low_rank_log_det(diagonal: Tensor, capacitance: Tensor) -> Tensor:
    r"""$\log \det(W W^T + D)$, by the matrix determinant lemma."""
    return 2 * half_log_det(capacitance) + diagonal.log().sum(-1)


def low_rank_distance(
    factor: Tensor, diagonal: Tensor, away: Tensor, capacitance: Tensor
) -> Tensor:
    r"""$x^T (W W^T + D)^{-1} x$, by Woodbury's identity."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    inner = mahalanobis(capacitance, product_with_vector(scaled, away))
    return (away.pow(2) / diagonal).sum(-1) - inner


class LowRankMultivariateNormal(Distribution):
    r"""A normal distribution with covariance $W W^T + D$: W has few columns and D is diagonal.

    Args:
        loc: The mean (..., n).
        cov_factor: W (..., n, rank).
        cov_diag: The diagonal of D (..., n), positive.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> d = LowRankMultivariateNormal(lamina.zeros(2), lamina.ones(2, 1), lamina.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise refused("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.dim() < 2:
            raise refused(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2] != n:
            raise refused(f"cov_factor must be a batch of matrices with shape {n} x m")
        if cov_diag.shape[-1:] != (n,):
            raise refused(f"cov_diag must be a batch of vectors with shape {(n,)}")
        batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand(*batch, n)
        self.cov_factor = cov_factor.expand(*batch, *cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(*batch, n)
        super().__init__(batch, (n,), validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance(cov_factor, cov_diag)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        r"""The Cholesky factor of the covariance: $D^{1/2}$ times that of $I + D^{-1/2} W W^T
        D^{-1/2}$."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        unit = eye(self._event_shape[0], dtype=root.dtype, device=root.device)
        return self._expanded(root * cholesky(scaled @ scaled.mT + unit))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._expanded(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's identity."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        part = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._expanded(diagonal.reciprocal().diag_embed() - part.mT @ part)

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
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Random vectors, from noise of rank many and of n many dimensions."""
        shape = self._extended_shape(sample_shape)
        small = shape[:-1] + self.cov_factor.shape[-1:]
        first = standard_normal(small, self.loc.dtype, self.loc.device)
        second = standard_normal(shape, self.loc.dtype, self.loc.device)
        common = product_with_vector(self._unbroadcasted_cov_factor, first)
        return self.loc + common + self._unbroadcasted_cov_diag.sqrt() * second

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = low_rank_distance(factor, diagonal, value - self.loc, self._capacitance_tril)
        log_det = low_rank_log_det(diagonal, self._capacitance_tril)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + log_det + distance)

    def entropy(self) -> Tensor:
        r"""$\frac n2 (1 + \log 2 \pi) + \frac12 \log \det(W W^T + D)$."""
        log_det = low_rank_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        value = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return value.expand(self._batch_shape) if self._batch_shape else value
