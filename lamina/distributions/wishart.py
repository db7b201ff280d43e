"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.distributions import constraints
from lamina.distributions.chi2 import Chi2
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.multivariate_normal import factor_of, half_log_det, matrix_given, refused
from lamina.distributions.utils import lazy_property
from lamina.ops.arranging import tril_indices
from lamina.ops.broadcasting import broadcast_shapes
from lamina.ops.creation import arange
from lamina.ops.data import tensor
from lamina.ops.dtype_info import finfo
from lamina.ops.gamma_function import mvlgamma
from lamina.ops.random import randn
from lamina.ops.solvers import slogdet
from lamina.ops.triangular import cholesky_inverse, cholesky_solve

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    r"""The Wishart distribution, of $\sum_{k \le \nu} x_k x_k^T$ with x normal of covariance V:
    $p(X) \propto \det(X)^{(\nu - n - 1) / 2} e^{-\mathrm{tr}(V^{-1} X) / 2}$.

    Args:
        df: The degrees of freedom, $\nu$ > n - 1.
        covariance_matrix: V (..., n, n), positive definite; exactly one of the three.
        precision_matrix: The inverse of V, instead.
        scale_tril: The Cholesky factor of V, instead.
        validate_args: Whether to check arguments.

    >>> import lamina
    >>> Wishart(lamina.tensor(3.0), lamina.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The degrees of freedom are limited by the size of the matrices."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, matrix = matrix_given(covariance_matrix, precision_matrix, scale_tril)
        df = df if isinstance(df, Tensor) else tensor(df, dtype=matrix.dtype, device=matrix.device)
        event, batch = matrix.shape[-2:], broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        setattr(self, name, matrix.expand(*batch, *event))
        self._batch_shape, self._event_shape = Size(batch), event
        if bool(self.df.le(event[-1] - 1).any()):
            raise refused(
                f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}."
            )
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._dist_chi2 = self._diagonal_chi2()

    def _diagonal_chi2(self) -> Chi2:
        """Chi-squared distributions with as many, one less, ... degrees of freedom."""
        places = arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - places)

    def _expand_rest(self, new: Any, batch: Size) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._batch_shape, new._event_shape = batch, self._event_shape
        new._dist_chi2 = new._diagonal_chi2()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with parameters expanded to a larger batch."""
        return super().expand(batch_shape, _instance)

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of V."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """V."""
        factor = self._unbroadcasted_scale_tril
        return self._expanded(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of V."""
        return self._expanded(cholesky_inverse(self._unbroadcasted_scale_tril))

    def _by_df(self) -> Tensor:
        return self.df.view(*self._batch_shape, 1, 1)

    @property
    def mean(self) -> Tensor:
        r"""$\nu V$."""
        return self._by_df() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        r"""$(\nu - n - 1) V$; NaN for smaller $\nu$."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, float("nan"))
        return factor.view(*self._batch_shape, 1, 1) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        r"""$\nu (V_{ij}^2 + V_{ii} V_{jj})$."""
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._by_df() * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Random matrices, by Bartlett's decomposition (1933): L A A^T L^T, where A has roots of
        chi-squared numbers on its diagonal and normal ones below.

        Args:
            sample_shape: The shape of the sample.
            max_try_correction: Accepted; a sample is singular only by rounding, and not drawn anew.
        """
        n, shape = self._event_shape[-1], Size(sample_shape)
        roots = self._dist_chi2.rsample(shape).sqrt()
        noise = roots.clamp(min=finfo(roots.dtype).eps).diag_embed()
        i, j = tril_indices(n, n, offset=-1)
        count = (*shape, *self._batch_shape, n * (n - 1) // 2)
        noise[..., i, j] = randn(count, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        nu, n = self.df, self._event_shape[-1]
        trace = (
            cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        )
        normalizer = nu * n * math.log(2) / 2 + mvlgamma(nu / 2, n)
        scale = nu * half_log_det(self._unbroadcasted_scale_tril)
        return (nu - n - 1) / 2 * slogdet(value).logabsdet - trace / 2 - scale - normalizer

    def entropy(self) -> Tensor:
        r"""$(n + 1) \log \det L + \frac{n (n + 1)}2 \log 2 + \log \Gamma_n(\frac\nu2) -
        \frac{\nu - n - 1}2 \psi_n(\frac\nu2) + \frac{\nu n}2$."""
        nu, n = self.df, self._event_shape[-1]
        scale = (n + 1) * half_log_det(self._unbroadcasted_scale_tril)
        constant = n * (n + 1) * math.log(2) / 2 + mvlgamma(nu / 2, n)
        slopes = (nu - n - 1) / 2 * self._digammas()
        return scale + constant - slopes + nu * n / 2

    def _digammas(self) -> Tensor:
        r"""$\psi_n(\nu / 2) = \sum_{k < n} \psi((\nu - k) / 2)$."""
        places = arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return ((self.df.unsqueeze(-1) - places) / 2).digamma().sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        n = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - n - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (-slogdet(-2 * x).logabsdet + n * math.log(2)) + mvlgamma(half, n)
