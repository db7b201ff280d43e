"""Sums of Chebyshev polynomials, and kernels that compute in float64 whatever they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def clenshaw(coefficients: tuple[float, ...], t: Any) -> Any:
    r"""$\sum_k c_k T_k(t)$ by Clenshaw's recurrence (DLMF 3.11.15), for an array in [-1, 1]."""
    twice = t + t
    later, last = 0.0, coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        later, last = last, twice * last + (coefficient - later)
    return t * last + (coefficients[0] - later)


def in_double(kernel: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The kernel of one input, run on float64; its result has the input's dtype."""

    def run(input: Any) -> Any:
        return kernel(input.astype(np.float64)).astype(input.dtype)

    return run
