"""Spread of many elements: variance and standard deviation, alone or with the mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.samples import Make, Sample, sample
from lamina.ops.reduced import add_up, axes_of, length_of


def _spread_of(input: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean: two passes, so that large means do not cost digits."""
    if input.dtype.kind not in "fc":
        raise errors.DtypeError(
            "std and var only support floating point and complex dtypes",
            [(this_place(), "called here")],
            ["convert first: `x.float()`"],
        )
    axes = axes_of(dim, input.ndim)
    count = length_of(input.shape, axes)
    mean = add_up(input, axes, True) * (1 / count if count else np.nan)
    away = input - mean
    square = away * away if input.dtype.kind == "f" else away.real**2 + away.imag**2
    total = add_up(square, axes, keepdim)
    with np.errstate(all="ignore"):
        variance = np.divide(total, total.dtype.type(max(count - correction, 0)))
    return variance, mean if keepdim else mean.reshape(total.shape)


@fused
def _var(input: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return _spread_of(input, dim, correction, keepdim)[0]


@fused
def _std(input: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return np.sqrt(_spread_of(input, dim, correction, keepdim)[0])


@fused
def _var_mean(input: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return _spread_of(input, dim, correction, keepdim)


@fused
def _std_mean(input: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    variance, mean = _spread_of(input, dim, correction, keepdim)
    return np.sqrt(variance), mean


@fused
def _var_rule(
    F: Any, g: Any, input: Any, input_shape: Any, dim: Any, correction: Any, keepdim: Any
) -> Any:
    freedom = length_of(input_shape, dim) - correction
    scale = 2.0 / freedom if freedom > 0 else float("inf")
    away = input - F.mean(input, dim, True)
    return F.spread(g, input_shape, dim, keepdim) * (away * scale)


def _of_root(g: Any, out: Any) -> Any:
    """The cotangent of a variance from that of its root; zero where the root is zero."""
    return g / (2 * (out + (out == 0))) * (out != 0)


@fused
def _std_rule(
    F: Any, g: Any, input: Any, input_shape: Any, out: Any, dim: Any, correction: Any, keepdim: Any
) -> Any:
    return _var_rule(F, _of_root(g, out), input, input_shape, dim, correction, keepdim)


def _mean_part(F: Any, g: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return F.spread(g / length_of(input_shape, dim), input_shape, dim, keepdim)


def _var_mean_rule(
    F: Any, g: Any, input: Any, input_shape: Any, dim: Any, correction: Any, keepdim: Any
) -> Any:
    var, mean = g
    if var is None:
        return _mean_part(F, mean, input_shape, dim, keepdim)
    found = _var_rule(F, var, input, input_shape, dim, correction, keepdim)
    return found if mean is None else found + _mean_part(F, mean, input_shape, dim, keepdim)


def _std_mean_rule(
    F: Any, g: Any, input: Any, input_shape: Any, out0: Any, dim: Any, correction: Any,
    keepdim: Any,
) -> Any:  # fmt: skip
    std, mean = g
    var = None if std is None else _of_root(std, out0)
    return _var_mean_rule(F, (var, mean), input, input_shape, dim, correction, keepdim)


def _samples(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4), 0),
        sample(make(3, 4), None, 0),
        sample(make(2, 3, 4), (0, 2), 1, True),
    ]


_var_op = operation(
    "var",
    _var,
    grad={"input": _var_rule},
    samples=_samples,
    doc="The variance of the elements along dimensions.",
)
_std_op = operation(
    "std",
    _std,
    grad={"input": _std_rule},
    samples=_samples,
    doc="The standard deviation of the elements along dimensions.",
)
_var_mean_op = operation(
    "var_mean",
    _var_mean,
    grad={"input": _var_mean_rule},
    samples=_samples,
    doc="The variance and the mean of the elements along dimensions.",
)
_std_mean_op = operation(
    "std_mean",
    _std_mean,
    grad={"input": _std_mean_rule},
    samples=_samples,
    doc="The standard deviation and the mean of the elements along dimensions.",
)


def _arranged(dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> tuple[Any, Any, bool]:
    """Dimensions, correction and keepdim from the ways in which they can be written."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    return dim, correction, keepdim


@native
def var(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    r"""The variance of all elements, or along dimensions: $\frac1{n-c}\sum_i|x_i-\bar x|^2$.

    Args:
        input: The tensor.
        dim: A dimension, or several; all if not given.
        unbiased: False is an older way to write `correction=0`.
        keepdim: Whether the dimensions stay, with length 1.
        correction: What is subtracted from the number of elements; 1 if not given.
        out: Where to write the result.

    >>> import lamina
    >>> lamina.var(lamina.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _var_op(input, *_arranged(dim, unbiased, keepdim, correction), out=out)


@native
def std(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    r"""The standard deviation: the square root of `var`, which explains the arguments.

    >>> import lamina
    >>> lamina.std(lamina.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _std_op(input, *_arranged(dim, unbiased, keepdim, correction), out=out)


@native
def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    """The variance and the mean; see `var` for the arguments."""
    return _var_mean_op(input, *_arranged(dim, unbiased, keepdim, correction), out=out)


@native
def std_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation and the mean; see `var` for the arguments."""
    return _std_mean_op(input, *_arranged(dim, unbiased, keepdim, correction), out=out)


__all__ = ["std", "std_mean", "var", "var_mean"]
