"""The error function and its relatives.

Large arrays go through machine code (`codegen/llvm/vector_error`), and the C library's functions
serve a few numbers. Elsewhere two polynomials do all the work. Both are Chebyshev expansions
computed with 60 digits: `erf(x) / x` in x^2 for |x| <= 1, and the scaled complement
`exp(x^2) erfc(x) (1 + 2x)` for x >= 0 in t = (x - 3.75) / (x + 3.75), which brings the half line to
-1 <= t <= 1. Shorter ones serve float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lamina.codegen.fused import fused
from lamina.codegen.vectorized import vectorized
from lamina.core.fast import unary
from lamina.core.samples import unary_samples

__all__ = ["erf", "erfc", "erfinv"]

_SCALED_COMPLEMENT = (
    1.2375126308378275, -0.14024059858554702, 0.00358541548546365,
    0.0822767384901511, -0.10880393014170484, 0.09230432116019574,
    -0.05869339859061538, 0.02836227742155761, -0.009746579546705771,
    0.0017556258320419174, 0.0002937135874104179, -0.0002901539771743667,
    5.1649446631464844e-05, 2.2383904386247317e-05, -1.1445188113768547e-05,
    -9.728312204652377e-07, 1.753791352621509e-06, -5.829179633347301e-08,
    -2.617644101875534e-07, 2.4317980530667137e-08, 4.174746599551145e-08,
    -4.402082662971615e-09, -7.226755449477271e-09, 5.416875268988845e-10,
    1.3050442366060843e-09, -2.864702751273984e-11, -2.2317366680485878e-10,
    -4.66815154691695e-12, 3.0342622868638953e-11, 8.916441529208273e-13,
    -2.303254728490055e-12,
)  # fmt: skip
_SCALED_COMPLEMENT_SHORT = (
    1.2375126300326993, -0.14024059953590887, 0.00358549531406309,
    0.08227677399009918, -0.10880522754949953, 0.09230393753827405,
    -0.05868544049363111, 0.028364105117372054, -0.009770087183368234,
    0.0017511576292398034, 0.00033016745627228067, -0.00028431307575109806,
    2.2046718905694024e-05, 1.8521947386750102e-05,
)  # fmt: skip
_NEAR_ZERO = (
    1.1283791670955126, -0.3761263890318375, 0.11283791670954882,
    -0.026866170645077334, 0.005223977624823223, -0.0008548326981129666,
    0.00012055331122299266, -1.4925595519506043e-05, 1.6461004480962034e-06,
    -1.6350354461959655e-07, 1.4660051998394848e-08, -1.1373902296430911e-09,
    5.958930743134941e-11,
)  # fmt: skip
_NEAR_ZERO_SHORT = _NEAR_ZERO[:9]
_MIDDLE = 3.75
FEW: Final = 512
"""Numbers that are sooner done one by one: NumPy's steps take 40 us for any count up to that."""


def horner(coefficients: tuple[float, ...], x: Any) -> Any:
    """The value of a polynomial, lowest power first."""
    result = x * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        result *= x
        result += coefficient
    return result


def _is_double(x: Any) -> bool:
    return bool(x.dtype.itemsize == 8)


def _near_zero(x: Any) -> Any:
    return x * horner(_NEAR_ZERO if _is_double(x) else _NEAR_ZERO_SHORT, x * x)


def scaled_complement(x: Any) -> Any:
    """exp(x^2) erfc(x) for x >= 0."""
    t = (x - _MIDDLE) / (x + _MIDDLE)
    table = _SCALED_COMPLEMENT if _is_double(x) else _SCALED_COMPLEMENT_SHORT
    return horner(table, t) / (x * 2 + 1)


def gauss(x: Any) -> Any:
    """exp(-x^2). The square's rounding error grows with x, so a part with few bits goes first."""
    coarse = np.trunc(x * 16) * 0.0625
    return np.exp(-coarse * coarse) * np.exp((coarse - x) * (coarse + x))


def _are_few(x: Any) -> bool:
    is_on_host = x.__class__ is np.ndarray or isinstance(x, np.generic)
    return is_on_host and x.size <= FEW and bool(x.flags.c_contiguous)


def _one_by_one(function: Callable[[float], float], x: Any) -> Any:
    return np.fromiter(map(function, x.ravel().tolist()), x.dtype, x.size).reshape(x.shape)


@vectorized("erf")
def erf_of(x: Any) -> Any:
    """The error function of an array of floats."""
    if _are_few(x):
        return _one_by_one(math.erf, x)
    size = np.minimum(np.abs(x), 27)
    far = 1 - gauss(size) * scaled_complement(size)
    return np.where(size < 1, _near_zero(np.where(size < 1, x, 0)), np.copysign(far, x))


@vectorized("erfc")
def erfc_of(x: Any) -> Any:
    """One minus the error function, without loss for large x."""
    if _are_few(x):
        return _one_by_one(math.erfc, x)
    size = np.minimum(np.abs(x), 28)
    far = gauss(size) * scaled_complement(size)
    near = 1 - _near_zero(np.where(size < 0.5, x, 0))
    return np.where(size < 0.5, near, np.where(x < 0, 2 - far, far))


def _solved(size: Any, complement: Any) -> Any:
    """x >= 0 with erf(x) = size and erfc(x) = complement, of which the smaller one is exact."""
    # A start with an error of 0.002 (Winitzki's), then Halley's steps, which cube the error.
    logarithm = np.log(complement * (1 + size))
    half = logarithm * 0.5 + 4.330746750799873
    x = np.sqrt(np.sqrt(half * half - logarithm * 6.802721088435375) - half)
    for _ in range(3 if _is_double(x) else 2):
        error = np.where(size < 0.5, erf_of(x) - size, complement - erfc_of(x))
        step = error / (gauss(x) * 1.1283791670955126)
        x = x - step / (1 + x * step)
    # At the end the formulas give nan: the value there is infinite, and none beyond.
    return np.where(complement == 0, float("inf"), x)


def inverse_complement(complement: Any) -> Any:
    """x >= 0 with erfc(x) = complement, which is between 0 and 1."""
    return _solved(1 - complement, complement)


@vectorized("erfinv")
def erfinv_of(x: Any) -> Any:
    """The inverse of the error function, of an array of floats."""
    size = np.abs(x)
    return np.copysign(_solved(size, 1 - size), x).astype(x.dtype)


erf = unary(
    "erf",
    erf_of,
    grad=fused(lambda F, g, input: g * F.exp(-input * input) * 1.1283791670955126),
    doc=r"The error function of each element: $2 / \sqrt{\pi} \int_0^x e^{-t^2} dt$.",
)
erfc = unary(
    "erfc",
    erfc_of,
    grad=fused(lambda F, g, input: g * F.exp(-input * input) * -1.1283791670955126),
    doc="One minus the error function of each element, exact for large ones.",
)
erfinv = unary(
    "erfinv",
    erfinv_of,
    grad=fused(lambda F, g, out: g * F.exp(out * out) * 0.8862269254527580),
    samples=unary_samples(-0.9, 0.9),
    doc="The number whose error function each element is.",
)
