r"""Window functions: weights that fade a stretch of a signal in and out.

Each is a formula in the place $n = 0, 1, ...$ and the `span`: that of a symmetric window ends on
its last place (span = length - 1), that of a periodic one a place later (span = length), where the
next period begins. Values are computed in float64 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.ops.making import checked_kind, computed, place_of_device, settle
from lamina.ops.modified_bessel import i0_of

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]

Formula = Callable[[Any, int], Any]
"""The values of a window at an array of places, for a span."""

# --- formulas ----------------------------------------------------------------------------------


def cosines(coefficients: Sequence[float]) -> Formula:
    r"""$\sum_k (-1)^k a_k \cos(2 \pi k n / s)$."""

    def values(n: Any, span: int) -> Any:
        turns = n * (2 * math.pi / span)
        return sum((-1) ** k * a * np.cos(k * turns) for k, a in enumerate(coefficients))

    return values


def triangle(n: Any, span: int) -> Any:
    """Bartlett's window."""
    return 1 - np.abs(n * (2 / span) - 1)


def half_sine(n: Any, span: int) -> Any:
    """Half a period of the sine, zero half a place beyond the ends."""
    return np.sin((n + 0.5) * (math.pi / (span + 1)))


def kaiser_of(beta: float) -> Formula:
    r"""$I_0(\beta \sqrt{1 - (2 n / s - 1)^2}) / I_0(\beta)$."""

    def values(n: Any, span: int) -> Any:
        inside = np.maximum(1 - (n * (2 / span) - 1) ** 2, 0)
        return i0_of(beta * np.sqrt(inside)) / i0_of(np.array(float(beta)))

    return values


def made(
    formula: Formula, length: int, is_periodic: bool, kind: Any, device: Any, requires_grad: bool
) -> Tensor:
    """The values of a formula as a new leaf; a window of one place is 1."""

    def values() -> Any:
        if length <= 1:
            return np.ones(length, kind.numpy)
        places = np.arange(length, dtype=np.float64)
        return formula(places, length if is_periodic else length - 1).astype(kind.numpy)

    return settle(computed(values, place_of_device(device)), "window", requires_grad)


# --- names of the front door -------------------------------------------------------------------


def _window(
    name: str, formula: Formula, length: Any, periodic: bool, dtype: Any, device: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise errors.ArgumentTypeError(
            f"{name}(): argument 'window_length' (position 1) must be int, not "
            f"{type(length).__name__}",
            [(this_place(), "called here")],
        )
    kind, count = checked_kind(dtype), length.__index__()
    if not kind.is_floating_point:
        raise errors.InvalidArgument(
            f"{name} expects floating point dtypes, got: {kind}", [(this_place(), "called here")]
        )
    if count < 0:
        raise errors.InvalidArgument(
            f"{name} requires non-negative window_length, got window_length={count}",
            [(this_place(), "called here")],
        )
    return made(formula, count, bool(periodic), kind, device, requires_grad)


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Hann window $\frac12 - \frac12 \cos(2 \pi n / s)$, with $s$ = length (periodic) or
    length - 1.

    >>> import lamina
    >>> lamina.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window", cosines((0.5, 0.5)), window_length, periodic, dtype, device, requires_grad
    )


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
    dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Hamming window $\alpha - \beta \cos(2 \pi n / s)$; see `hann_window`."""
    formula = cosines((alpha, beta))
    return _window("hamming_window", formula, window_length, periodic, dtype, device, requires_grad)


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Blackman window $0.42 - 0.5 \cos(2 \pi n / s) + 0.08 \cos(4 \pi n / s)$; see
    `hann_window`."""
    formula = cosines((0.42, 0.5, 0.08))
    return _window(
        "blackman_window", formula, window_length, periodic, dtype, device, requires_grad
    )


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Bartlett window: a triangle, $1 - |2 n / s - 1|$; see `hann_window`."""
    return _window(
        "bartlett_window", triangle, window_length, periodic, dtype, device, requires_grad
    )


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Kaiser window $I_0(\beta \sqrt{1 - (2 n / s - 1)^2}) / I_0(\beta)$; see `hann_window`.

    >>> import lamina
    >>> lamina.kaiser_window(5, periodic=False, beta=2.0)
    tensor([0.4387, 0.8348, 1.0000, 0.8348, 0.4387])
    """
    formula = kaiser_of(beta)
    return _window("kaiser_window", formula, window_length, periodic, dtype, device, requires_grad)
