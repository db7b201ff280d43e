r"""The regularized incomplete beta function $I_x(a, b)$, on arrays of float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.ops.gamma_function import lgamma_of

_STEPS = 300
_EPSILON = 2.0**-53
_TINY = 1e-300


def log_beta(a: Any, b: Any) -> Any:
    """The logarithm of the beta function of arrays."""
    return lgamma_of(a) + lgamma_of(b) - lgamma_of(a + b)


def _fraction(a: Any, b: Any, x: Any) -> Any:
    """The continued fraction of DLMF 8.17.22, by Lentz's method as Thompson and Barnett have it."""
    c, ratio = np.ones_like(x), np.reciprocal(1 - (a + b) * x / (a + 1))
    fraction = ratio
    for m in range(1, _STEPS):
        change = 1.0
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            ratio = np.reciprocal(1 + numerator * ratio + _TINY)
            c = 1 + numerator / c
            change = change * (ratio * c)
        fraction = fraction * change
        if not (np.abs(change - 1) > _EPSILON).any():
            break
    return fraction


def incomplete_beta(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """$I_x(a, b)$ and its complement, for a, b > 0 and 0 < x < 1."""
    turned = x > (a + 1) / (a + b + 2)
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    near = np.where(turned, 1 - x, x)
    logarithm = first * np.log(near) + second * np.log1p(-near) - log_beta(first, second)
    value = np.exp(logarithm) / first * _fraction(first, second, near)
    return np.where(turned, 1 - value, value), np.where(turned, value, 1 - value)
