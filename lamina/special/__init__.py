"""Special functions of each element, with PyTorch's names and derivatives."""

from lamina.ops.bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    spherical_bessel_j0,
)
from lamina.ops.entropy import entr, xlog1py
from lamina.ops.error_function import erf, erfc, erfinv
from lamina.ops.exponential import exp2, expm1, log1p, logit, xlogy
from lamina.ops.exponential import sigmoid as expit
from lamina.ops.gamma_function import digamma, polygamma
from lamina.ops.gamma_function import digamma as psi
from lamina.ops.gamma_function import lgamma as gammaln
from lamina.ops.gamma_function import mvlgamma as multigammaln
from lamina.ops.incomplete_gamma import igamma as gammainc
from lamina.ops.incomplete_gamma import igammac as gammaincc
from lamina.ops.modified_bessel import (
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
)
from lamina.ops.normal_probability import erfcx, log_ndtr, ndtr, ndtri
from lamina.ops.orthogonal_polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from lamina.ops.reduction import logsumexp
from lamina.ops.rounding import round
from lamina.ops.softmax import log_softmax, softmax
from lamina.ops.trigonometry import sinc
from lamina.ops.zeta import zeta

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]
