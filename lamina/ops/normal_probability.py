r"""The distribution function of the standard normal distribution, its logarithm and its inverse,
and the scaled complement of the error function.

All rest on `error_function`: $\Phi(x) = \frac12 \mathrm{erfc}(-x / \sqrt 2)$ (A&S 26.2.29).
Computed in float64; relative errors are below 1e-14. Far in its tail `ndtr` has 2e-16 times its
logarithm, since $x / \sqrt 2$ is rounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.codegen.fused import fused
from lamina.codegen.vectorized import vectorized
from lamina.core.fast import unary
from lamina.core.samples import unary_samples
from lamina.ops.chebyshev import in_double
from lamina.ops.error_function import erfc_of, gauss, inverse_complement, scaled_complement

__all__: list[str] = []

_HALF_ROOT = math.sqrt(0.5)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


def _erfcx_of(x: Any) -> Any:
    """exp(x^2) erfc(x); the reflection (DLMF 7.4.2) for x < 0."""
    size = np.minimum(np.abs(x), 1e150)
    right = scaled_complement(size)
    # 2 / exp(-x^2), where the exponent's rounding is taken care of; up to the overflow.
    left = 2 * np.reciprocal(gauss(np.minimum(size, 26.7))) - right
    left = np.where(size > 26.7, np.inf, left)
    return np.where(np.isnan(x), x, np.where(x < 0, left, np.where(x == np.inf, 0, right)))


def _ndtr_of(x: Any) -> Any:
    return 0.5 * erfc_of(x * -_HALF_ROOT)


def _log_ndtr_of(x: Any) -> Any:
    low = np.minimum(x, -1)
    tail = np.log(scaled_complement(low * -_HALF_ROOT) * 0.5) - low * low * 0.5
    main = np.log1p(-0.5 * erfc_of(np.maximum(x, -1) * _HALF_ROOT))
    return np.where(x < -1, np.where(x == -np.inf, -np.inf, tail), main)


def _ndtri_of(p: Any) -> Any:
    tail = np.minimum(p, 1 - p)
    size = inverse_complement(2 * tail) / _HALF_ROOT
    return np.where(p < 0.5, -size, size)


erfcx = unary(
    "special_erfcx",
    vectorized()(in_double(_erfcx_of)),
    grad=lambda F, g, input, out: g * (2 * input * out - _TWO_OVER_ROOT_PI),
    doc="$e^{x^2} \\mathrm{erfc}(x)$ of each element, which does not underflow for large ones.",
)
ndtr = unary(
    "special_ndtr",
    vectorized()(in_double(_ndtr_of)),
    grad=fused(lambda F, g, input: g * F.exp(input * input * -0.5) * (1 / _ROOT_TWO_PI)),
    node_name="MulBackward1",
    doc="The probability that a standard normal number is below each element.",
)
log_ndtr = unary(
    "special_log_ndtr",
    vectorized()(in_double(_log_ndtr_of)),
    grad=lambda F, g, input: (
        g / F.special_erfcx(input * -_HALF_ROOT) * (_TWO_OVER_ROOT_PI * _HALF_ROOT)
    ),
    samples=unary_samples(-6.0, 3.0),
    doc="The logarithm of `ndtr`, exact also where that underflows.",
)
ndtri = unary(
    "special_ndtri",
    vectorized()(in_double(_ndtri_of)),
    grad=lambda F, g, out: g * F.exp(out * out * 0.5) * _ROOT_TWO_PI,
    samples=unary_samples(0.05, 0.95),
    doc="The number below which a standard normal one lies with the given probability.",
)
