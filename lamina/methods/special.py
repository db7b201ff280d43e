"""Methods of chapters that few programs need: each is loaded when one of its methods first runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamina.codegen.later import Later
from lamina.core.inplace import inplace
from lamina.core.tensor import Tensor
from lamina.ops.choices import change_by
from lamina.ops.gamma_function import mvlgamma

if TYPE_CHECKING:
    from lamina.ops import covariance, incomplete_gamma, modified_bessel, spectrogram
else:
    covariance = Later("lamina.ops.covariance")
    incomplete_gamma = Later("lamina.ops.incomplete_gamma")
    modified_bessel = Later("lamina.ops.modified_bessel")
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


Tensor.i0, Tensor.i0_ = _i0, _i0_
Tensor.igamma, Tensor.igamma_ = _igamma, _igamma_
Tensor.igammac, Tensor.igammac_ = _igammac, _igammac_
Tensor.mvlgamma, Tensor.mvlgamma_ = mvlgamma, inplace(mvlgamma)
Tensor.cov, Tensor.corrcoef = _cov, _corrcoef
Tensor.stft, Tensor.istft = _stft, _istft
