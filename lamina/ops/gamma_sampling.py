r"""Random numbers of gamma and Dirichlet distributions, with derivatives along their samples.

A sample x of a distribution with distribution function $F(x; a)$ moves with its parameter as
$dx/da = -\partial_a F / \partial_x F$, its place among all samples kept (Figurnov, Mohamed and Mnih
2018, "Implicit reparameterization gradients", equation 6). $\partial_a F$ is a difference of fourth
order of the incomplete gamma or beta function: relative errors are about 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.core.gamma_draws import gamma
from lamina.core.op import NOT_WRITTEN
from lamina.core.samples import sample
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.draws import draw_for
from lamina.ops.gamma_function import lgamma_of
from lamina.ops.incomplete_beta import incomplete_beta, log_beta
from lamina.ops.incomplete_gamma import incomplete_gamma

__all__: list[str] = []


def _slope(function: Callable[[Any], tuple[Any, Any]], a: Any) -> Any:
    """The derivative by a of a distribution function, from itself or its complement."""
    step = 1e-3 * np.minimum(a, np.sqrt(a))
    (low2, high2), (low1, high1), (up1, rest1), (up2, rest2) = (
        function(a + k * step) for k in (-2, -1, 1, 2)
    )
    below = 8 * (up1 - low1) - (up2 - low2)
    above = 8 * (high1 - rest1) - (high2 - rest2)
    return np.where(low1 < high1, below, above) / (12 * step)


# --- gamma -------------------------------------------------------------------------------------


def _gamma_numbers(stream: Any, shapes: Any) -> Any:
    drawn = gamma(stream, shapes).astype(shapes.dtype)
    return np.maximum(drawn, np.finfo(shapes.dtype).tiny)


def _standard_gamma(input: Any, generator: Any = None) -> Any:
    return draw_for(generator, _gamma_numbers, input)


@array_function(lambda a, x: fresh(a.shape, a.dtype))
def _gamma_slope(a: Any, x: Any) -> Any:
    kind, a, x = a.dtype, a.astype(np.float64), x.astype(np.float64)
    with np.errstate(all="ignore"):
        density = np.exp((a - 1) * np.log(x) - x - lgamma_of(a))
        slope = -_slope(lambda shape: incomplete_gamma(shape, x), a) / density
        return np.where(np.isfinite(slope), slope, 0).astype(kind)


def _gamma_slope_kernel(input: Any, other: Any) -> Any:
    return _gamma_slope(input, other)


standard_gamma_slope = operation(
    "standard_gamma_slope",
    _gamma_slope_kernel,
    tensors="input other",
    grad={"input": NOT_WRITTEN, "other": NOT_WRITTEN},
    samples=lambda make: [sample(make(3, 4, low=0.2, high=9.0), make(3, 4, low=0.2, high=9.0))],
    doc="How samples of gamma distributions (`other`) move with their shape parameters.",
)
standard_gamma = operation(
    "standard_gamma",
    _standard_gamma,
    grad={"input": lambda F, g, input, out: g * F.standard_gamma_slope(input, out)},
    halves_in_float=False,
    doc="Random numbers of gamma distributions with the input as shape parameters, and rate 1.",
)

# --- Dirichlet ---------------------------------------------------------------------------------


def _dirichlet_numbers(stream: Any, shapes: Any) -> Any:
    drawn = gamma(stream, shapes)
    drawn = drawn / drawn.sum(-1, keepdims=True)
    info = np.finfo(shapes.dtype)
    below_one = np.nextafter(shapes.dtype.type(1), shapes.dtype.type(0))
    return np.clip(drawn.astype(shapes.dtype), info.tiny, below_one)


def _sample_dirichlet(input: Any, generator: Any = None) -> Any:
    return draw_for(generator, _dirichlet_numbers, input)


@array_function(lambda a, x: fresh(a.shape, a.dtype))
def _dirichlet_slope(a: Any, x: Any) -> Any:
    """dx/da of each element by its own parameter, over 1 - x: elements are beta distributed."""
    kind, a, x = a.dtype, a.astype(np.float64), x.astype(np.float64)
    b = a.sum(-1, keepdims=True) - a
    with np.errstate(all="ignore"):
        log_density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_beta(a, b)
        slope = -_slope(lambda shape: incomplete_beta(shape, b, x), a) / np.exp(log_density)
        return np.where(np.isfinite(slope), slope / (1 - x), 0).astype(kind)


def _dirichlet_slope_kernel(input: Any, other: Any) -> Any:
    with np.errstate(all="ignore"):  # NumPy would warn in its own name
        return _dirichlet_slope(input, other)


def _dirichlet_rule(F: Any, g: Any, input: Any, out: Any) -> Any:
    """What one element gains the others lose, in proportion to their size."""
    return F.dirichlet_slope(input, out) * (g - F.sum(out * g, -1, True))


dirichlet_slope = operation(
    "dirichlet_slope",
    _dirichlet_slope_kernel,
    tensors="input other",
    grad={"input": NOT_WRITTEN, "other": NOT_WRITTEN},
    samples=lambda make: [
        sample(make(3, 2, low=0.5, high=5.0), np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]))
    ],
    doc="How elements of Dirichlet samples (`other`) move with their parameters, over 1 - x.",
)
sample_dirichlet = operation(
    "sample_dirichlet",
    _sample_dirichlet,
    grad={"input": _dirichlet_rule},
    node_name="DirichletBackward0",
    halves_in_float=False,
    doc="Random probabilities of Dirichlet distributions with the input as parameters.",
)
