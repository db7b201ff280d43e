"""Softmax and its relatives: exponentials along a dimension, divided by their sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.codegen.fused import fused
from lamina.core.arguments import native
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.promotion import as_array
from lamina.core.samples import Make, Sample, sample
from lamina.core.scattered import Scattered
from lamina.ops.choices import checked, refuse
from lamina.ops.constants import constant_like
from lamina.ops.indexing_rules import positions_along

__all__ = ["log_softmax", "softmax", "softmin"]


def _sum_keepdim(input: Any, dim: int) -> Any:
    return np.add.reduce(input, axis=dim if input.ndim else None, keepdims=True)


sum_keepdim = operation(
    "sum_keepdim",
    _sum_keepdim,
    grad={"input": lambda F, g, input_shape: F.broadcast_to(g, input_shape)},
    samples=lambda make: [sample(make(3, 4), 1)],
    doc="The sum along a dimension, which stays with length 1.",
)


def _axis(input: Any, dim: int) -> Any:
    """The axis to reduce over; a number has none, and is its own largest element."""
    return dim if input.ndim else None


def _row_major(input: Any) -> Any:
    """The input without gaps in its last axis first: results lie so whatever the input's layout.

    It is seen by what draws random numbers in the order of memory, such as dropout.
    """
    return input if input.flags.c_contiguous else input.copy()


@fused
def _softmax(input: Any, dim: int) -> Any:
    if not input.size:
        return input.copy()
    input = _row_major(input)
    axis = _axis(input, dim)
    result = np.exp(input - np.maximum.reduce(input, axis=axis, keepdims=True))
    return result / np.add.reduce(result, axis=axis, keepdims=True)


@fused
def _softmax_rule(F: Any, g: Any, out: Any, dim: int) -> Any:
    weighted = g * out
    return weighted - out * F.sum_keepdim(weighted, dim)


@fused
def _log_softmax(input: Any, dim: int) -> Any:
    if not input.size:
        return input.copy()
    input = _row_major(input)
    axis = _axis(input, dim)
    shifted = input - np.maximum.reduce(input, axis=axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


@fused
def _log_softmax_rule(F: Any, g: Any, out: Any, dim: int) -> Any:
    return g - F.exp(out) * F.sum_keepdim(g, dim)


@fused
def _shares(out: Any, total: Any) -> Any:
    return np.exp(out) * total


def _log_softmax_of_scattered(F: Any, g: Scattered, out: Any, dim: int) -> Any:
    """The rule where all of a row's gradient is one number: once through memory, not four times."""
    values, index, axis = g
    if axis != dim % out.ndim:
        return _log_softmax_rule(F, F.where(_is_named(out, index, axis), values, 0), out, dim)
    made = _shares(out, as_array(0 - values))
    if made.__class__ is not np.ndarray or not made.flags.c_contiguous:
        return np.where(_is_named(out, index, axis), made + values, made)
    places = positions_along(made.shape, index.astype(np.int64, copy=False), axis)
    made.reshape(-1)[places] += values
    return made


def _is_named(out: Any, index: Any, axis: int) -> Any:
    """Which elements an index names along an axis."""
    numbers = np.arange(out.shape[axis]).reshape((-1,) + (1,) * (out.ndim - 1 - axis))
    return constant_like(index, numbers) == index


def _samples(make: Make) -> list[Sample]:
    return [sample(make(3, 4), 1), sample(make(2, 3, 4), -2), sample(make(), 0)]


_softmax_op = operation(
    "softmax",
    _softmax,
    grad={"input": _softmax_rule},
    samples=_samples,
    doc="Exponentials along a dimension, divided by their sum.",
)
_log_softmax_op = operation(
    "log_softmax",
    _log_softmax,
    grad={"input": _log_softmax_rule},
    of_scattered=_log_softmax_of_scattered,
    samples=_samples,
    doc="The logarithm of softmax, computed without loss.",
)
for _exponential in (_softmax_op, _log_softmax_op):
    checked(
        _exponential,
        refuse("biu", '"softmax" not implemented for {}', errors.NotImplementedForDtype),
    )


def converted(input: Any, dtype: Any) -> Any:
    """The input in another dtype, if one is asked for."""
    if dtype is None or dtypes.from_numpy(input._array.dtype) is dtype:
        return input
    return traced.cast_like_input(input, dtype.numpy)


@native
def softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Any:
    r"""Exponentials along a dimension, divided by their sum: $e^{x_i} / \sum_j e^{x_j}$.

    >>> import lamina
    >>> lamina.softmax(lamina.tensor([1.0, 1.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _softmax_op(converted(input, dtype), dim, out=out)


@native
def log_softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Any:
    """The logarithm of softmax, computed without loss."""
    return _log_softmax_op(converted(input, dtype), dim, out=out)


def softmin(input: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax of the negated elements: the smallest gets the most."""
    return softmax(-input, dim, dtype)
