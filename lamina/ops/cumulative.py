"""Running sums, products and extremes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.op import LINEAR
from lamina.core.promotion import is_half
from lamina.core.samples import Make, Sample, sample
from lamina.ops import results
from lamina.ops.cumulative_kernels import running, running_extremes
from lamina.ops.reduced import (
    axis_of,
    numpy_dtype,
    refuse_complex,
    sum_dtype,
)

_WIDE = {"float32": np.dtype(np.float64), "complex64": np.dtype(np.complex128)}


def _accumulated(
    operation: str, input: Any, dim: int, dtype: Any = None, from_end: bool = False
) -> Any:
    """A running sum or product. Low precisions are accumulated in a higher one."""
    axis = axis_of(dim, input.ndim)
    wanted = numpy_dtype(dtype)
    if wanted is not None and wanted != input.dtype:
        input = input.astype(wanted)
    kind = sum_dtype(input, None)
    keeps = kind is None or (wanted is not None and wanted.kind in "iu")
    result = input.dtype if keeps else kind
    if not input.ndim:
        return input.astype(result)
    if is_half(input.dtype):
        input = input.astype(np.float32)
    wide = _WIDE.get(input.dtype.name, kind or input.dtype)
    return running(operation, input, axis, wide, result, from_end)


def _cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    return _accumulated("add", input, dim, dtype)


def _cumsum_from_end(input: Any, dim: int) -> Any:
    return _accumulated("add", input, dim, from_end=True)


def _cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    return _accumulated("multiply", input, dim, dtype)


def _cumsum_rule(F: Any, g: Any, input_shape: Any, dim: Any, dtype: Any, input_dtype: Any) -> Any:
    if dtype is not None:
        g = F.cast_like_input(g, input_dtype)
    return F.cumsum_from_end(g, dim) if input_shape else g


def _cumprod_rule(
    F: Any, g: Any, input: Any, input_shape: Any, out: Any, dim: Any, dtype: Any, input_dtype: Any
) -> Any:
    """Without divisions, so that zeros are no exception.

    The gradient of element i is the product of all before it, times the sum over k >= i of g_k
    times the product of the elements between; those sums follow one from the next.
    """
    if dtype is not None:
        g, out = F.cast_like_input(g, input_dtype), F.cast_like_input(out, input_dtype)
    if not input_shape:
        return g
    before = F.shift_along(out, dim, 1, 1)
    later = F.shift_along(input, dim, -1, 0)
    sums = F.linear_scan(F.turn_around(g, dim), F.turn_around(F.conj(later), dim), dim)
    return F.conj(before) * F.turn_around(sums, dim)


def _samples(make: Make) -> list[Sample]:
    return [sample(make(3, 4), 0), sample(make(3, 4), -1), sample(make(), 0)]


cumsum = operation(
    "cumsum",
    _cumsum,
    grad={"input": _cumsum_rule},
    tangent=LINEAR,
    samples=_samples,
    doc="The running sum along a dimension.",
)
operation(
    "cumsum_from_end",
    _cumsum_from_end,
    grad={"input": lambda F, g, input_shape, dim: F.cumsum(g, dim) if input_shape else g},
    node_name="FlipBackward0",
    samples=_samples,
    doc="The running sum along a dimension from its end: the derivative of `cumsum`.",
)
cumprod = operation(
    "cumprod",
    _cumprod,
    grad={"input": _cumprod_rule},
    samples=_samples,
    doc="The running product along a dimension.",
)


def _linear_scan(input: Any, factor: Any, dim: int) -> Any:
    """y_i = x_i + f_i y_(i-1), in log2(n) rounds of twice the reach."""
    axis = axis_of(dim, input.ndim)
    head = (slice(None),) * axis
    length = input.shape[axis]
    made, factor = input * 1, factor * 1
    reach = 1
    while reach < length:
        ahead, behind = (*head, slice(reach, None)), (*head, slice(None, -reach))
        made[ahead] = made[ahead] + factor[ahead] * made[behind]
        factor[ahead] = factor[ahead] * factor[behind]
        reach *= 2
    return made


def _scanned_back(F: Any, g: Any, factor: Any, dim: int) -> Any:
    later = F.turn_around(F.conj(F.shift_along(factor, dim, -1, 0)), dim)
    return F.turn_around(F.linear_scan(F.turn_around(g, dim), later, dim), dim)


linear_scan = operation(
    "linear_scan",
    _linear_scan,
    tensors="input factor",
    grad={
        "input": lambda F, g, factor, dim: _scanned_back(F, g, factor, dim),
        "factor": lambda F, g, factor, out, dim: (
            _scanned_back(F, g, factor, dim) * F.conj(F.shift_along(out, dim, 1, 0))
        ),
    },
    samples=lambda make: [sample(make(3, 4), make(3, 4), 1)],
    doc="The recurrence $y_i = x_i + f_i y_{i-1}$ along a dimension.",
)

# --- extremes ----------------------------------------------------------------------------------


def _running(name: str, input: Any, dim: int) -> Any:
    refuse_complex(name, input)
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return input.copy(), np.zeros_like(input, dtype=np.int64)
    return running_extremes(input, axis, name == "cummax")


def _cummax(input: Any, dim: int) -> Any:
    return _running("cummax", input, dim)


def _cummin(input: Any, dim: int) -> Any:
    return _running("cummin", input, dim)


def _added_at_places(F: Any, g: Any, input_shape: Any, dim: Any, out1: Any) -> Any:
    return None if g[0] is None else F.add_along(g[0], input_shape, dim, out1)


def _distinct(make: Make) -> list[Sample]:
    return [sample(make.distinct(3, 4), 0), sample(make.distinct(3, 4), -1)]


cummax = operation(
    "cummax",
    _cummax,
    grad={"input": _added_at_places},
    result=results.cummax,
    samples=_distinct,
    doc="The largest element so far along a dimension, and its place (the last of equals).",
)
cummin = operation(
    "cummin",
    _cummin,
    grad={"input": _added_at_places},
    result=results.cummin,
    samples=_distinct,
    doc="The smallest element so far along a dimension, and its place (the last of equals).",
)

# --- logarithms of running sums ----------------------------------------------------------------


def _logcumsumexp(input: Any, dim: int) -> Any:
    axis = axis_of(dim, input.ndim)
    if is_half(input.dtype):
        return _logcumsumexp(input.astype(np.float32), dim).astype(input.dtype)
    if input.dtype.kind not in "fc":
        raise errors.NotImplementedForDtype(
            f"logcumsumexp is not implemented for {input.dtype}", [(this_place(), "called here")]
        )
    if not input.ndim or not input.size:
        return input.copy()
    if input.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.logaddexp.accumulate(input, axis=axis)
    head = (slice(None),) * axis
    made = input.copy()
    for k in range(1, input.shape[axis]):
        made[(*head, k)] = _log_of_sum(made[(*head, k - 1)], input[(*head, k)])
    return made


def _log_of_sum(x: Any, y: Any) -> Any:
    """log(exp x + exp y) of complex numbers, the larger taken out."""
    first_is_larger = np.greater_equal(x.real, y.real)
    larger, smaller = np.where(first_is_larger, x, y), np.where(first_is_larger, y, x)
    with np.errstate(all="ignore"):
        found = larger + np.log1p(np.exp(smaller - larger))
    return np.where(np.isneginf(larger.real), larger, found)


NEVER: Final = -3e38
"""The logarithm of nothing, in a rule: minus infinity would make differences of infinities."""


def _log_parts(F: Any, size: Any, out: Any, dim: int, part: Any) -> Any:
    """log of the sum over k >= i of size_k exp(-out_k), over the k that `part` chooses."""
    logs = F.log(F.where(part, size, F.filled_like(size, (), 1)))
    terms = F.where(part, logs, F.filled_like(logs, (), NEVER)) - out
    return F.turn_around(F.logcumsumexp(F.turn_around(terms, dim), dim), dim)


def _logcumsumexp_rule(
    F: Any, g: Any, input: Any, input_shape: Any, out: Any, dim: Any, input_dtype: Any
) -> Any:
    """The sum over k >= i of g_k exp(x_i - out_k), in logarithms, so that nothing overflows."""
    if not input_shape:
        return g
    if input_dtype.kind == "c":
        return F.conj(F.exp(_log_parts(F, F.conj(g), out, dim, g != 0) + input))
    positive = F.exp(_log_parts(F, g, out, dim, g > 0) + input)
    negative = F.exp(_log_parts(F, -g, out, dim, g < 0) + input)
    return positive - negative


logcumsumexp = operation(
    "logcumsumexp",
    _logcumsumexp,
    grad={"input": _logcumsumexp_rule},
    samples=lambda make: [sample(make(3, 4), 0), sample(make(3, 4), -1)],
    doc="The logarithm of the running sum of exponentials along a dimension.",
)

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "logcumsumexp"]
