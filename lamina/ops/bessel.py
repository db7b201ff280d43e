r"""Bessel functions of orders 0 and 1, the spherical one of order 0, and Airy's function.

Up to x = 8: a Chebyshev expansion in $x^2$ (`bessel_tables`), for $J$ with the first two zeros
taken out, for $Y$ with the logarithm (DLMF 10.8.2) taken out. Beyond: the phase form (DLMF 10.17.3
and 10.17.4) with both its series expanded in $1/x^2$. Airy's function has the same form to the left
of -5 (DLMF 9.7.9), decays exponentially to the right of 2 (DLMF 9.7.5), and is expanded directly
between.

Computed in float64. Errors are below 3e-15: relative to the value, or near a zero (but the first
two of J) to the height of the wave. For Airy's function they are below 4e-16 times the phase or
exponent $2/3 |x|^{3/2}$ far out, where that is rounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.core.fast import unary
from lamina.core.samples import unary_samples
from lamina.ops import bessel_tables as tables
from lamina.ops.chebyshev import clenshaw, in_double

__all__: list[str] = []

_NEAR = 8.0
# The first zeros of J0 and J1: the nearest number, and how far the zero is from it.
_J0_ZEROS = (
    (2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17),
)  # fmt: skip
_J1_ZEROS = (
    (3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17),
)  # fmt: skip
_TWO_OVER_PI = 2 / math.pi

# --- near zero ---------------------------------------------------------------------------------


def _with_zeros(x: Any, zeros: Any) -> Any:
    product = np.ones_like(x)
    for zero, rest in zeros:
        product = product * ((x - zero - rest) * (x + zero))
    return product


def _expanded(table: tuple[float, ...], x: Any) -> Any:
    return clenshaw(table, x * x * (1 / 32) - 1)


def _j0_near(x: Any) -> Any:
    return _with_zeros(x, _J0_ZEROS) * _expanded(tables.J0_NEAR, x)


def _j1_near(x: Any) -> Any:
    return _with_zeros(x, _J1_ZEROS) * x * _expanded(tables.J1_NEAR, x)


def _y0_near(x: Any) -> Any:
    return _expanded(tables.Y0_NEAR, x) + _TWO_OVER_PI * np.log(x) * _j0_near(x)


def _y1_near(x: Any) -> Any:
    logarithm = _TWO_OVER_PI * (np.log(x) * _j1_near(x) - np.reciprocal(x))
    return _expanded(tables.Y1_NEAR, x) * x + logarithm


# --- far from zero -----------------------------------------------------------------------------


def _parts(x: Any, even: tuple[float, ...], odd: tuple[float, ...]) -> tuple[Any, Any]:
    r"""P and Q of the phase form, for x >= 8, times $\sqrt{1 / (\pi x)}$."""
    inverse = _NEAR / x
    t = 2 * inverse * inverse - 1
    scale = np.reciprocal(np.sqrt(math.pi * x))
    return clenshaw(even, t) * scale, clenshaw(odd, t) / x * scale


def _turned(x: Any, order: int) -> tuple[Any, Any]:
    r"""$\sqrt 2$ times cosine and sine of $x - \pi/4$ (order 0) or $x - 3\pi/4$ (order 1).

    From those of x itself, which NumPy reduces exactly however large x is.
    """
    cosine, sine = np.cos(x), np.sin(x)
    return (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)


def _j_far(x: Any, order: int) -> Any:
    p, q = _parts(x, *(_FAR[order]))
    cosine, sine = _turned(x, order)
    return p * cosine - q * sine


def _y_far(x: Any, order: int) -> Any:
    p, q = _parts(x, *(_FAR[order]))
    cosine, sine = _turned(x, order)
    return p * sine + q * cosine


_FAR = ((tables.P0_FAR, tables.Q0_FAR), (tables.P1_FAR, tables.Q1_FAR))


def _joined(x: Any, size: Any, near: Any, far: Any, order: int) -> Any:
    """One form up to 8, the other beyond; 0 at infinity."""
    beyond = np.clip(size, _NEAR, 1e300)
    value = np.where(size <= _NEAR, near(np.minimum(size, _NEAR)), far(beyond, order))
    return np.where(np.isnan(x), x, np.where(size == np.inf, 0, value))


def _j0_of(x: Any) -> Any:
    return _joined(x, np.abs(x), _j0_near, _j_far, 0)


def _j1_of(x: Any) -> Any:
    return np.copysign(1.0, x) * _joined(x, np.abs(x), _j1_near, _j_far, 1)


def _second_kind(x: Any, near: Any, order: int) -> Any:
    value = _joined(x, np.abs(x), near, _y_far, order)
    return np.where(x < 0, np.nan, np.where(x == 0, -np.inf, value))


def _spherical_of(x: Any) -> Any:
    """sin(x) / x."""
    nonzero = np.where(x == 0, 1, x)
    value = np.sin(nonzero) / nonzero
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, value))


# --- Airy --------------------------------------------------------------------------------------

_LEFT, _RIGHT = -5.0, 2.0


def _zeta(size: Any) -> Any:
    return size * np.sqrt(size) * (2 / 3)


def _airy_left(size: Any) -> Any:
    zeta = _zeta(size)
    inverse = _zeta(np.array(-_LEFT)) / zeta
    t = 2 * inverse * inverse - 1
    scale = np.reciprocal(np.sqrt(2 * math.pi * np.sqrt(size)))
    cosine, sine = np.cos(zeta), np.sin(zeta)
    even = clenshaw(tables.AIRY_EVEN, t) * (cosine + sine)
    return scale * (even + clenshaw(tables.AIRY_ODD, t) / zeta * (sine - cosine))


def _airy_right(x: Any) -> Any:
    zeta = _zeta(x)
    t = 2 * _zeta(np.array(_RIGHT)) / zeta - 1
    scale = np.reciprocal(2 * np.sqrt(math.pi * np.sqrt(x)))
    return scale * np.exp(-zeta) * clenshaw(tables.AIRY_FAR, t)


def _airy_of(x: Any) -> Any:
    middle = clenshaw(tables.AIRY_MIDDLE, (np.clip(x, _LEFT, _RIGHT) * 2 + 3) * (1 / 7))
    value = np.where(x > _RIGHT, _airy_right(np.clip(x, _RIGHT, 200)), middle)
    value = np.where(x < _LEFT, _airy_left(np.clip(-x, -_LEFT, 1e200)), value)
    return np.where(np.isinf(x), np.where(x > 0, 0, np.nan), np.where(np.isnan(x), x, value))


# --- operations --------------------------------------------------------------------------------

_POSITIVE = unary_samples(0.3, 20.0)
_BOTH_SIDES = unary_samples(-20.0, 20.0)

bessel_j0 = unary(
    "special_bessel_j0",
    in_double(_j0_of),
    grad=None,
    samples=_BOTH_SIDES,
    doc="The Bessel function of the first kind of order 0, of each element.",
)
bessel_j1 = unary(
    "special_bessel_j1",
    in_double(_j1_of),
    grad=None,
    samples=_BOTH_SIDES,
    doc="The Bessel function of the first kind of order 1, of each element.",
)
bessel_y0 = unary(
    "special_bessel_y0",
    in_double(lambda input: _second_kind(input, _y0_near, 0)),
    grad=None,
    samples=_POSITIVE,
    doc="The Bessel function of the second kind of order 0, of each element.",
)
bessel_y1 = unary(
    "special_bessel_y1",
    in_double(lambda input: _second_kind(input, _y1_near, 1)),
    grad=None,
    samples=_POSITIVE,
    doc="The Bessel function of the second kind of order 1, of each element.",
)
spherical_bessel_j0 = unary(
    "special_spherical_bessel_j0",
    in_double(_spherical_of),
    grad=None,
    samples=_BOTH_SIDES,
    doc=r"The spherical Bessel function of order 0, $\sin(x) / x$, of each element.",
)
airy_ai = unary(
    "special_airy_ai",
    in_double(_airy_of),
    grad=None,
    samples=_BOTH_SIDES,
    doc="Airy's function Ai of each element.",
)
