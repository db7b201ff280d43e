r"""Orthogonal polynomials of each element, by their recurrences of three terms (DLMF 18.9.1).

$p_0 = 1$, $p_1 = u x + v$, and $p_{k+1} = ((a_k x + b_k) p_k - c_k p_{k-1}) / d_k$; the degree may
differ from element to element. A negative degree gives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lamina.core.call import operation
from lamina.core.op import NOT_WRITTEN, TO_FLOAT
from lamina.core.samples import Make, Sample, sample
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh

__all__: list[str] = []


class _Family(NamedTuple):
    """What tells one family of polynomials from another."""

    first: tuple[float, float]
    """u, v of $p_1 = u x + v$."""
    step: Callable[[int], tuple[float, float, float, float]]
    """From k: a, b, c and d of the recurrence."""
    is_shifted: bool = False
    """Whether x stands for 2x - 1: the interval is [0, 1]."""


def _chebyshev(k: int) -> tuple[float, float, float, float]:
    return 2, 0, 1, 1


_FAMILIES = {
    "chebyshev_polynomial_t": _Family((1, 0), _chebyshev),
    "chebyshev_polynomial_u": _Family((2, 0), _chebyshev),
    "chebyshev_polynomial_v": _Family((2, -1), _chebyshev),
    "chebyshev_polynomial_w": _Family((2, 1), _chebyshev),
    "shifted_chebyshev_polynomial_t": _Family((1, 0), _chebyshev, True),
    "shifted_chebyshev_polynomial_u": _Family((2, 0), _chebyshev, True),
    "shifted_chebyshev_polynomial_v": _Family((2, -1), _chebyshev, True),
    "shifted_chebyshev_polynomial_w": _Family((2, 1), _chebyshev, True),
    "hermite_polynomial_h": _Family((2, 0), lambda k: (2, 0, 2 * k, 1)),
    "hermite_polynomial_he": _Family((1, 0), lambda k: (1, 0, k, 1)),
    "laguerre_polynomial_l": _Family((-1, 1), lambda k: (-1, 2 * k + 1, k, k + 1)),
    "legendre_polynomial_p": _Family((1, 0), lambda k: (2 * k + 1, 0, k, k + 1)),
}


@array_function(lambda x, n, _: fresh(np.broadcast_shapes(x.shape, n.shape), x.dtype))
def _polynomial(x: Any, n: Any, name: str) -> Any:
    family = _FAMILIES[name]
    kind, (x, n) = x.dtype, np.broadcast_arrays(x.astype(np.float64), np.trunc(n))
    x = 2 * x - 1 if family.is_shifted else x
    u, v = family.first
    before, value = np.ones_like(x), u * x + v
    result = np.where(n < 0, 0, np.where(n == 0, before, value))
    for k in range(1, int(n.max(initial=0))):
        a, b, c, d = family.step(k)
        before, value = value, ((a * x + b) * value - c * before) / d
        result = np.where(n > k, value, result)
    return result.astype(kind)


def _samples(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4), make.integers(3, 4, low=-1, high=7).astype(np.float64)),
        sample(make(3, 1), make.integers(4, high=9).astype(np.float64)),
        sample(make(3), 5),
    ]


def _declared(name: str, doc: str) -> Any:
    def kernel(input: Any, n: Any) -> Any:
        if not hasattr(input, "dtype"):
            input = np.full_like(n, input, shape=())
        elif not hasattr(n, "dtype"):
            n = np.full_like(input, n, shape=())
        return _polynomial(input, n, name)

    return operation(
        f"special_{name}",
        kernel,
        tensors="#input #n",
        grad={"input": NOT_WRITTEN, "n": NOT_WRITTEN},
        dtypes=TO_FLOAT,
        samples=_samples,
        doc=doc,
    )


chebyshev_polynomial_t = _declared(
    "chebyshev_polynomial_t", r"Chebyshev's polynomial $T_n$: $T_n(\cos t) = \cos(n t)$."
)
chebyshev_polynomial_u = _declared(
    "chebyshev_polynomial_u",
    r"Chebyshev's polynomial $U_n$: $U_n(\cos t) = \sin((n + 1) t) / \sin t$.",
)
chebyshev_polynomial_v = _declared(
    "chebyshev_polynomial_v",
    r"Chebyshev's polynomial $V_n$: $V_n(\cos t) = \cos((n + \frac12) t) / \cos(t / 2)$.",
)
chebyshev_polynomial_w = _declared(
    "chebyshev_polynomial_w",
    r"Chebyshev's polynomial $W_n$: $W_n(\cos t) = \sin((n + \frac12) t) / \sin(t / 2)$.",
)
shifted_chebyshev_polynomial_t = _declared(
    "shifted_chebyshev_polynomial_t", "$T_n(2x - 1)$: see `chebyshev_polynomial_t`."
)
shifted_chebyshev_polynomial_u = _declared(
    "shifted_chebyshev_polynomial_u", "$U_n(2x - 1)$: see `chebyshev_polynomial_u`."
)
shifted_chebyshev_polynomial_v = _declared(
    "shifted_chebyshev_polynomial_v", "$V_n(2x - 1)$: see `chebyshev_polynomial_v`."
)
shifted_chebyshev_polynomial_w = _declared(
    "shifted_chebyshev_polynomial_w", "$W_n(2x - 1)$: see `chebyshev_polynomial_w`."
)
hermite_polynomial_h = _declared(
    "hermite_polynomial_h", "The physicist's Hermite polynomial $H_n$, orthogonal with $e^{-x^2}$."
)
hermite_polynomial_he = _declared(
    "hermite_polynomial_he",
    "The probabilist's Hermite polynomial $He_n$, orthogonal with $e^{-x^2/2}$.",
)
laguerre_polynomial_l = _declared(
    "laguerre_polynomial_l", "Laguerre's polynomial $L_n$, orthogonal with $e^{-x}$ on x > 0."
)
legendre_polynomial_p = _declared(
    "legendre_polynomial_p", "Legendre's polynomial $P_n$, orthogonal on [-1, 1]."
)
