"""Window functions, symmetric unless `sym=False` asks for a period of a periodic one.

With $s$ = length - 1 (symmetric) or length (periodic), as in `lamina.ops.window_functions`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import this_place
from lamina.core.layouts import layout as Layout
from lamina.core.layouts import strided
from lamina.core.tensor import Tensor
from lamina.ops import window_functions as shapes

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _refused(headline: str) -> errors.InvalidValue:
    return errors.InvalidValue(headline, [(this_place(), "called here")])


def _made(
    name: str, formula: shapes.Formula, length: int, sym: bool, dtype: Any, layout: Layout,
    device: Any, requires_grad: bool,
) -> Tensor:  # fmt: skip
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if length < 0:
        raise _refused(f"{name} requires non-negative window length, got M={length}")
    if layout is not strided:
        raise _refused(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (dtypes.float32, dtypes.float64):
        raise _refused(f"{name} expects float32 or float64 dtypes, got: {kind}")
    return shapes.made(formula, length, not sym, kind, device, requires_grad)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Layout = strided,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""A sum of cosines: $\sum_k (-1)^k a_k \cos(2 \pi k n / s)$.

    Args:
        M: The length.
        a: The coefficients, at least one.
        sym: Whether the window ends as it begins; else it is one period of a periodic one.
        dtype: float32 or float64; the default dtype if None.
        layout: Strided.
        device: Where to make it.
        requires_grad: Whether a gradient will be asked for.

    Raises:
        InvalidValue: A negative length, another dtype or layout, or no coefficients.

    >>> import lamina
    >>> lamina.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, Iterable):
        raise errors.ArgumentTypeError("Coefficients must be a list/tuple")
    coefficients = tuple(float(number) for number in a)
    if not coefficients:
        raise _refused("Coefficients cannot be empty")
    formula = shapes.cosines(coefficients)
    return _made("general_cosine", formula, M, sym, dtype, layout, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Layout = strided,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""$\alpha - (1 - \alpha) \cos(2 \pi n / s)$."""
    return general_cosine(
        M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Layout = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Hamming window: $0.54 - 0.46 \cos(2 \pi n / s)$."""
    return general_hamming(
        M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Layout = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Hann window: $\frac12 - \frac12 \cos(2 \pi n / s)$.

    >>> import lamina
    >>> lamina.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Layout = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Blackman window: $0.42 - 0.5 \cos(2 \pi n / s) + 0.08 \cos(4 \pi n / s)$."""
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Layout = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Nuttall's window of four terms (1981) with the lowest side lobes."""
    return general_cosine(
        M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
        device=device, requires_grad=requires_grad,
    )  # fmt: skip


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Layout = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Bartlett window, a triangle: $1 - |2 n / s - 1|$."""
    return _made("bartlett", shapes.triangle, M, sym, dtype, layout, device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Layout = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""Half a period of the sine: $\sin(\pi (n + \frac12) / (s + 1))$."""
    return _made("cosine", shapes.half_sine, M, sym, dtype, layout, device, requires_grad)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Layout = strided,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""The Kaiser window: $I_0(\beta \sqrt{1 - (2 n / s - 1)^2}) / I_0(\beta)$."""
    if beta < 0:
        raise _refused(f"beta must be non-negative, got: {beta} instead.")
    formula = shapes.kaiser_of(beta)
    return _made("kaiser", formula, M, sym, dtype, layout, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Layout = strided,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""A bell curve around the middle: $e^{-(n - s/2)^2 / (2 \sigma^2)}$."""
    if std <= 0:
        raise _refused(f"Standard deviation must be positive, got: {std} instead.")

    def formula(n: Any, span: int) -> Any:
        return np.exp(-(((n - span / 2) / (std * math.sqrt(2))) ** 2))

    return _made("gaussian", formula, M, sym, dtype, layout, device, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
    layout: Layout = strided, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    r"""A decay to both sides of the centre: $e^{-|n - c| / \tau}$, with $c = s/2$ if not given."""
    if tau <= 0:
        raise _refused(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise _refused("Center must be None for symmetric windows")

    def formula(n: Any, span: int) -> Any:
        return np.exp(-np.abs(n - (span / 2 if center is None else center)) / tau)

    return _made("exponential", formula, M, sym, dtype, layout, device, requires_grad)
