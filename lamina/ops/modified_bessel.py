r"""Modified Bessel functions of orders 0 and 1: $I_\nu$ and $K_\nu$, and both without their
exponential factor.

Near zero and far from it a Chebyshev expansion gives the smooth part (`bessel_tables`): $e^{-x}
I_\nu(x)$, or $\sqrt x e^{-x} I_\nu(x)$ in $1/x$, and the same for $K_\nu$ with its logarithm
(DLMF 10.31.1, 10.31.2) taken out. Computed in float64; relative errors are below 2e-15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.fast import unary
from lamina.core.samples import unary_samples
from lamina.ops import bessel_tables as tables
from lamina.ops.chebyshev import clenshaw, in_double

__all__ = ["i0"]

_NEAR_I, _NEAR_K = 8.0, 2.0


def _scaled_i(x: Any, near: tuple[float, ...], far: tuple[float, ...]) -> Any:
    """The expanded part of exp(-x) I(x), for x >= 0."""
    small = clenshaw(near, np.minimum(x, _NEAR_I) * 0.25 - 1)
    large = np.maximum(x, _NEAR_I)
    return np.where(x <= _NEAR_I, small, clenshaw(far, 16 / large - 1) / np.sqrt(large))


def _i0e_of(x: Any) -> Any:
    return _scaled_i(np.abs(x), tables.I0_NEAR, tables.I0_FAR)


def _i1e_of(x: Any) -> Any:
    size = np.abs(x)
    value = _scaled_i(size, tables.I1_NEAR, tables.I1_FAR)
    return np.where(size <= _NEAR_I, value * x, np.copysign(value, x))


def _with_exponential(scaled: Any, size: Any) -> Any:
    """scaled * exp(size), where exp alone would overflow too soon."""
    half = np.exp(size * 0.5)
    return np.where(size == np.inf, np.copysign(np.inf, scaled), scaled * half * half)


def i0_of(x: Any) -> Any:
    """$I_0$ of an array of float64."""
    return _with_exponential(_i0e_of(x), np.abs(x))


def _i1_of(x: Any) -> Any:
    return _with_exponential(_i1e_of(x), np.abs(x))


def _scaled_k(x: Any, near: Any, far: tuple[float, ...]) -> Any:
    """exp(x) K(x), where `near` gives K(x) for 0 < x <= 2."""
    small = np.clip(x, 0, _NEAR_K)
    value = near(small) * np.exp(small)
    large = np.maximum(x, _NEAR_K)
    value = np.where(x <= _NEAR_K, value, clenshaw(far, 4 / large - 1) / np.sqrt(large))
    return np.where(x < 0, np.nan, np.where(x == 0, np.inf, value))


def _k0_near(x: Any) -> Any:
    return clenshaw(tables.K0_NEAR, x * x * 0.5 - 1) - np.log(x * 0.5) * i0_of(x)


def _k1_near(x: Any) -> Any:
    return clenshaw(tables.K1_NEAR, x * x * 0.5 - 1) / x + np.log(x * 0.5) * _i1_of(x)


def _k0e_of(x: Any) -> Any:
    return _scaled_k(x, _k0_near, tables.K0_FAR)


def _k1e_of(x: Any) -> Any:
    return _scaled_k(x, _k1_near, tables.K1_FAR)


# --- operations --------------------------------------------------------------------------------

_DEFINED = unary_samples(0.3, 9.0)
_BOTH_SIDES = unary_samples(-9.0, 9.0)


def _i1_rule(F: Any, g: Any, input: Any, out: Any) -> Any:
    nonzero = F.where(input == 0, 1, input)
    return g * F.where(input == 0, 0.5, F.i0(input) - out / nonzero)


def _i1e_rule(F: Any, g: Any, input: Any, out: Any) -> Any:
    nonzero = F.where(input == 0, 1, input)
    slope = F.special_i0e(input) - out * (F.sgn(input) + F.reciprocal(nonzero))
    return g * F.where(input == 0, 0.5, slope)


i0 = unary(
    "i0",
    in_double(i0_of),
    grad=lambda F, g, input: g * F.special_i1(input),
    samples=_BOTH_SIDES,
    doc="The modified Bessel function of the first kind of order 0, of each element.",
)
i0e = unary(
    "special_i0e",
    in_double(_i0e_of),
    grad=lambda F, g, input, out: g * (F.special_i1e(input) - F.sgn(input) * out),
    node_name="SpecialI0EBackward0",
    samples=_BOTH_SIDES,
    doc="$e^{-|x|} I_0(x)$ of each element: `i0` without its growth.",
)
i1 = unary(
    "special_i1",
    in_double(_i1_of),
    grad=_i1_rule,
    samples=_BOTH_SIDES,
    doc="The modified Bessel function of the first kind of order 1, of each element.",
)
i1e = unary(
    "special_i1e",
    in_double(_i1e_of),
    grad=_i1e_rule,
    node_name="SpecialI1EBackward0",
    samples=_BOTH_SIDES,
    doc="$e^{-|x|} I_1(x)$ of each element: `i1` without its growth.",
)
modified_bessel_i0 = unary(
    "special_modified_bessel_i0",
    in_double(i0_of),
    grad=None,
    samples=_BOTH_SIDES,
    doc="`i0` of each element, without a derivative, as in PyTorch.",
)
modified_bessel_i1 = unary(
    "special_modified_bessel_i1",
    in_double(_i1_of),
    grad=None,
    samples=_BOTH_SIDES,
    doc="`i1` of each element, without a derivative, as in PyTorch.",
)
modified_bessel_k0 = unary(
    "special_modified_bessel_k0",
    in_double(lambda input: _k0e_of(input) * np.exp(-input)),
    grad=None,
    samples=_DEFINED,
    doc="The modified Bessel function of the second kind of order 0, of each element.",
)
modified_bessel_k1 = unary(
    "special_modified_bessel_k1",
    in_double(lambda input: _k1e_of(input) * np.exp(-input)),
    grad=None,
    samples=_DEFINED,
    doc="The modified Bessel function of the second kind of order 1, of each element.",
)
scaled_modified_bessel_k0 = unary(
    "special_scaled_modified_bessel_k0",
    in_double(_k0e_of),
    grad=None,
    samples=_DEFINED,
    doc="$e^x K_0(x)$ of each element.",
)
scaled_modified_bessel_k1 = unary(
    "special_scaled_modified_bessel_k1",
    in_double(_k1e_of),
    grad=None,
    samples=_DEFINED,
    doc="$e^x K_1(x)$ of each element.",
)
