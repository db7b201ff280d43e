"""Exponentials and logarithms of each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.codegen.vectorized import vectorized
from lamina.core.arguments import native
from lamina.core.call import operation
from lamina.core.fast import binary, unary
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import TO_FLOAT
from lamina.core.samples import Make, Sample, binary_samples, sample, unary_samples
from lamina.core.tensor import Tensor
from lamina.ops.choices import change_by, checked, refuse

__all__ = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logit",
    "sigmoid",
    "xlogy",
]

exp = unary(
    "exp",
    vectorized()(np.exp),
    grad=lambda F, g, out: g * F.conj(out),
    doc="$e^x$ of each element.",
)
exp2 = unary(
    "exp2",
    vectorized()(np.exp2),
    grad=lambda F, g, out: g * F.conj(out) * 0.6931471805599453,
    doc="$2^x$ of each element.",
)
expm1 = unary(
    "expm1",
    vectorized()(np.expm1),
    grad=lambda F, g, out: g * F.conj(out + 1),
    doc="$e^x - 1$ of each element, exact for small ones.",
)
_positive = unary_samples(0.5, 3.0)
log = unary(
    "log",
    vectorized()(np.log),
    grad=lambda F, g, input: g / F.conj(input),
    samples=_positive,
    doc="The natural logarithm of each element.",
)
log2 = unary(
    "log2",
    vectorized()(np.log2),
    grad=lambda F, g, input: g / F.conj(input * 0.6931471805599453),
    samples=_positive,
    doc="The logarithm to base 2 of each element.",
)
log10 = unary(
    "log10",
    vectorized()(np.log10),
    grad=lambda F, g, input: g / F.conj(input * 2.302585092994046),
    samples=_positive,
    doc="The logarithm to base 10 of each element.",
)
log1p = unary(
    "log1p",
    vectorized()(np.log1p),
    grad=lambda F, g, input: g / F.conj(input + 1),
    node_name="Log1PBackward0",
    samples=unary_samples(-0.5, 3.0),
    doc="The natural logarithm of $1 + x$ of each element, exact for small ones.",
)


@fused
def _logaddexp(input: Any, other: Any) -> Any:
    if input.dtype.kind != "c":
        return np.logaddexp(input, other)
    first_is_larger = np.real(input) >= np.real(other)
    high = np.where(first_is_larger, input, other)
    low = np.where(first_is_larger, other, input)
    return high + np.log1p(np.exp(low - high))


logaddexp = binary(
    "logaddexp",
    _logaddexp,
    grad={
        "input": lambda F, g, input, out: g * F.conj(F.exp(input - out)),
        "other": lambda F, g, other, out: g * F.conj(F.exp(other - out)),
    },
    tensors="input~ other~",
    doc=r"$\log(e^x + e^y)$ of each pair of elements, without overflow.",
)
logaddexp2 = binary(
    "logaddexp2",
    np.logaddexp2,
    grad={
        "input": lambda F, g, input, out: g * F.exp2(input - out),
        "other": lambda F, g, other, out: g * F.exp2(other - out),
    },
    tensors="input~ other~",
    doc=r"$\log_2(2^x + 2^y)$ of each pair of elements, without overflow.",
)
for _sum in (logaddexp, logaddexp2):
    checked(
        _sum, refuse("biu", "logaddexp is not implemented for {}", errors.NotImplementedForDtype)
    )

# --- x log y -----------------------------------------------------------------------------------


def _xlogy(input: Any, other: Any) -> Any:
    if not hasattr(other, "dtype"):
        other = input.dtype.type(other)
    return np.where((input == 0) & ~np.isnan(other), 0, input * np.log(other))


def _log_or_zero(F: Any, g: Any, input: Any, other: Any) -> Any:
    return g * F.where(F.logical_and(input == 0, other <= 0), 0, F.log(other))


def _log_of_number_or_zero(F: Any, g: Any, input: Any, other: Any) -> Any:
    return g * F.log_of_number(other) if other > 0 else _log_or_zero(F, g, input, g * 0 + other)


def _xlogy_declared(name: str, number: int, samples: Any) -> Any:
    return binary(
        name,
        _xlogy,
        grad={
            "input": _log_of_number_or_zero if number == 2 else _log_or_zero,
            "other": lambda F, g, input, other: g * (input / other),
        },
        node_name=f"XlogyBackward{number}",
        dtypes=TO_FLOAT,
        samples=samples,
        doc=r"$x \log y$ of each pair of elements; 0 where $x$ is 0.",
    )


_xlogy_tensors = _xlogy_declared(
    "xlogy",
    0,
    lambda make: binary_samples(0.5, 2.0)(make)[:3],  # numbers have forms of their own
)
_xlogy_of_number = _xlogy_declared(
    "xlogy_of_number", 1, lambda make: [sample(1.5, make(3, 4, low=0.5))]
)
_xlogy_with_number = _xlogy_declared(
    "xlogy_with_number", 2, lambda make: [sample(make(3, 4, low=0.5), 1.5)]
)


def _xlogy_for(input: Any, other: Any) -> Any:
    if not isinstance(input, Tensor):
        return _xlogy_of_number
    return _xlogy_tensors if isinstance(other, Tensor) else _xlogy_with_number


@takes_numpy_names
def xlogy(input: Any, other: Any, *, out: Any = None, **numpy_names: Any) -> Any:
    r"""$x \log y$ of each pair of elements; 0 where $x$ is 0. Either may be a number."""
    if numpy_names or other is MISSING:
        return again(xlogy, numpy_names, input, other, out)
    chosen = _xlogy_for(input, other)
    return chosen(input, other) if out is None else chosen(input, other, out=out)


@native
def xlogy_(input: Any, other: Any) -> Any:
    r"""Replace each element by $x \log y$, in place."""
    return change_by(_xlogy_for(input, other), input, other)


# --- the logistic function ---------------------------------------------------------------------


@vectorized()
def _sigmoid(input: Any) -> Any:
    return np.reciprocal(1 + np.exp(-input))


sigmoid = unary(
    "sigmoid",
    _sigmoid,
    grad=fused(lambda F, g, out: g * F.conj(out * (1 - out))),
    doc=r"The logistic function of each element: $1 / (1 + e^{-x})$.",
)


def _logit(input: Any, eps: float | None = None) -> Any:
    if eps is not None:
        input = np.clip(input, input.dtype.type(eps), input.dtype.type(1 - eps))
    return np.log(input / (1 - input))


def _logit_rule(F: Any, g: Any, input: Any, eps: float | None) -> Any:
    slope = g / (input * (1 - input))
    if eps is None:
        return F.where(F.logical_or(input < 0, input > 1), float("nan"), slope)
    return F.where(F.logical_or(input < eps, input > 1 - eps), 0, slope)


def _logit_samples(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4, low=0.1, high=0.9)),
        sample(make(low=0.1, high=0.9)),
        sample(make(3, 4, low=0.3, high=1.3), 0.1),
    ]


logit = operation(
    "logit",
    _logit,
    grad={"input": _logit_rule},
    dtypes=TO_FLOAT,
    samples=_logit_samples,
    doc=r"The inverse of the logistic function, $\log(x / (1 - x))$; with `eps`, clamped first.",
)
