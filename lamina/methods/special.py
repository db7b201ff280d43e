"""Methods of chapters that few programs need: each is loaded when one of its methods first runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamina.codegen.later import Later
from lamina.core.inplace import inplace
from lamina.core.tensor import Tensor
from lamina.ops.choices import change_by
from lamina.ops.gamma_function import mvlgamma

if TYPE_CHECKING:
    from lamina.ops import covariance, incomplete_gamma, modified_bessel, sparse, spectrogram
else:
    covariance = Later("lamina.ops.covariance")
    incomplete_gamma = Later("lamina.ops.incomplete_gamma")
    modified_bessel = Later("lamina.ops.modified_bessel")
    sparse = Later("lamina.ops.sparse")
    spectrogram = Later("lamina.ops.spectrogram")


def _i0(self: Any) -> Any:
    """The modified Bessel function of the first kind of order 0, of each element."""
    return modified_bessel.i0(self)


def _i0_(self: Any) -> Any:
    """Replace each element by its modified Bessel function of order 0."""
    return change_by(modified_bessel.i0, self)


def _igamma(self: Any, other: Any) -> Any:
    """The lower incomplete gamma function; see `lamina.igamma`."""
    return incomplete_gamma.igamma(self, other)


def _igamma_(self: Any, other: Any) -> Any:
    """Replace each element by the lower incomplete gamma function."""
    return change_by(incomplete_gamma.igamma, self, other)


def _igammac(self: Any, other: Any) -> Any:
    """The upper incomplete gamma function; see `lamina.igammac`."""
    return incomplete_gamma.igammac(self, other)


def _igammac_(self: Any, other: Any) -> Any:
    """Replace each element by the upper incomplete gamma function."""
    return change_by(incomplete_gamma.igammac, self, other)


def _cov(self: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of the rows; see `lamina.cov`."""
    return covariance.cov(self, correction=correction, fweights=fweights, aweights=aweights)


def _corrcoef(self: Any) -> Any:
    """The correlation matrix of the rows; see `lamina.corrcoef`."""
    return covariance.corrcoef(self)


def _stft(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The short-time Fourier transform; see `lamina.stft`."""
    return spectrogram.stft(self, *args, **kwargs)


def _istft(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The inverse of `stft`; see `lamina.istft`."""
    return spectrogram.istft(self, *args, **kwargs)


def _to_dense(self: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    """All elements of a sparse tensor."""
    return sparse.to_dense(self, dtype)


def _to_sparse(self: Any, *args: Any, **options: Any) -> Any:
    """The elements that are not zero, as a sparse tensor."""
    return sparse.to_sparse(self, *args, **options)


def _sparse_mask(self: Any, mask: Any) -> Any:
    """The elements at the places of a sparse tensor."""
    return sparse.sparse_mask(self, mask)


def _coalesce(self: Any) -> Any:
    """A sparse tensor with its places in order, none of them twice."""
    return sparse.coalesce(self)


def _is_coalesced(self: Any) -> Any:
    """Whether places are in order, none of them twice."""
    return sparse.is_coalesced(self)


def _indices(self: Any) -> Any:
    """The places of a coalesced sparse tensor's elements."""
    return sparse.indices(self)


def _values(self: Any) -> Any:
    """The kept elements of a coalesced sparse tensor."""
    return sparse.values(self)


def _all_indices(self: Any) -> Any:
    """The places of a sparse tensor's elements, as they stand."""
    return sparse.all_indices(self)


def _all_values(self: Any) -> Any:
    """The kept elements of a sparse tensor, as they stand."""
    return sparse.all_values(self)


def _count_kept(self: Any) -> Any:
    """The number of elements that a sparse tensor keeps."""
    return sparse.count_kept(self)


def _sparse_dim(self: Any) -> Any:
    """The number of a sparse tensor's dimensions."""
    return sparse.sparse_dim(self)


def _dense_dim(self: Any) -> Any:
    """The number of dimensions that kept elements have."""
    return sparse.dense_dim(self)


Tensor.i0, Tensor.i0_ = _i0, _i0_
Tensor.igamma, Tensor.igamma_ = _igamma, _igamma_
Tensor.igammac, Tensor.igammac_ = _igammac, _igammac_
Tensor.mvlgamma, Tensor.mvlgamma_ = mvlgamma, inplace(mvlgamma)
Tensor.cov, Tensor.corrcoef = _cov, _corrcoef
Tensor.stft, Tensor.istft = _stft, _istft
Tensor.to_dense, Tensor.to_sparse, Tensor.sparse_mask = _to_dense, _to_sparse, _sparse_mask
Tensor.coalesce, Tensor.is_coalesced = _coalesce, _is_coalesced
Tensor.indices, Tensor.values, Tensor._nnz = _indices, _values, _count_kept
Tensor._indices, Tensor._values = _all_indices, _all_values
Tensor.sparse_dim, Tensor.dense_dim = _sparse_dim, _dense_dim
