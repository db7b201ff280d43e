"""Reductions: sums, products, means, and truth of many elements."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation, run
from lamina.core.fast_reductions import reduction
from lamina.core.op import TO_FLOAT
from lamina.core.promotion import is_half
from lamina.core.samples import Make, Sample, sample
from lamina.ops.reduced import (
    add_up,
    axes_of,
    axis_of,
    length_of,
    numpy_dtype,
    on_lines,
    sum_dtype,
)

# Without NumPy's stubs, which know only literal `keepdims`.
_plus: Final[Any] = np.add
_times: Final[Any] = np.multiply
FEW: Final = 16384
"""Up to so many elements, adding one after another costs no digits."""


def _samples(make: Make) -> list[Sample]:
    return [
        sample(make(3, 4), 0, False),
        sample(make(3, 4), 1, True),
        sample(make(2, 3, 4), (0, -1), False),
        sample(make(3, 4), None, True),
        sample(make(), 0, False),
    ]


def _samples_with_none(make: Make) -> list[Sample]:
    return [*_samples(make), sample(make(0, 3), 0, False)]


# --- sum ---------------------------------------------------------------------------------------


def _sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if (
        (dim is None or dim.__class__ is int)
        and dtype is None
        and input.size <= FEW
        and input.ndim
        and input.dtype.kind in "fc"
        and input.dtype.itemsize > 2
    ):  # The everyday call: NumPy itself checks the dimension.
        return _plus.reduce(input, axis=dim, keepdims=keepdim)
    kind = numpy_dtype(dtype)
    low = input.dtype if kind is None else kind
    if is_half(low):
        return _sum(input.astype(low).astype(np.float32), dim, keepdim).astype(low)
    return add_up(input, axes_of(dim, input.ndim), keepdim, sum_dtype(input, kind))


def _sum_rule(
    F: Any, g: Any, input_shape: Any, dim: Any, keepdim: Any, dtype: Any, input_dtype: Any
) -> Any:
    if dtype is not None:
        g = F.cast_like_input(g, input_dtype)
    return F.spread(g, input_shape, dim, keepdim)


sum = reduction(
    "sum",
    _sum,
    grad=_sum_rule,
    node_names=("SumBackward0", "SumBackward1"),
    samples=_samples_with_none,
    doc=r"""The sum of all elements, or along dimensions: $\sum_i x_i$.

    Args:
        input: The tensor. Integers and truth values are summed as int64.
        dim: A dimension, or several; all if not given.
        keepdim: Whether summed dimensions stay, with length 1.
        dtype: The input is cast to this before.
        out: Where to write the result.

    >>> import lamina
    >>> lamina.sum(lamina.ones(2, 3), dim=0)
    tensor([2., 2., 2.])
    """,
)


# --- nansum ------------------------------------------------------------------------------------


def _nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if input.dtype.kind not in "fc":
        return _sum(input, dim, keepdim, dtype=dtype)
    return _sum(np.where(np.isnan(input), input.dtype.type(0), input), dim, keepdim, dtype=dtype)


nansum = operation(
    "nansum",
    _nansum,
    grad={
        "input": lambda F, g, input, input_shape, input_dtype, dim, keepdim, dtype: (
            _sum_rule(F, g, input_shape, dim, keepdim, dtype, input_dtype) * (input == input)
        )
    },
    samples=_samples,
    doc="The sum along dimensions, where NaN counts as zero.",
)


# --- mean --------------------------------------------------------------------------------------


def _mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if (
        (dim is None or dim.__class__ is int)
        and dtype is None
        and 0 < input.size <= FEW
        and input.ndim
        and input.dtype.kind in "fc"
        and input.dtype.itemsize > 2
    ):
        total = _plus.reduce(input, axis=dim, keepdims=keepdim)
        return total / (input.size if dim is None else input.shape[dim])
    kind = numpy_dtype(dtype)
    _refuse_integers("mean", input.dtype, kind)
    if kind is not None and kind != input.dtype:
        return _mean(input.astype(kind), dim, keepdim)
    if is_half(input.dtype):
        return _mean(input.astype(np.float32), dim, keepdim).astype(input.dtype)
    axes = axes_of(dim, input.ndim)
    total = add_up(input, axes, keepdim)
    count = length_of(input.shape, axes)
    # Without elements the mean is NaN, quietly.
    return total / count if count else total * np.nan


def _refuse_integers(name: str, found: Any, wanted: Any) -> None:
    kind = found if wanted is None else wanted
    if kind.kind not in "fcV":
        which = "Input" if wanted is None else "Optional"
        raise errors.DtypeError(
            f"{name}(): could not infer output dtype. {which} dtype must be either a floating "
            f"point or complex dtype. Got: {dtypes.from_numpy(kind)}",
            [(this_place(), "called here")],
            [f"convert first: `x.float().{name}()`, or `x.{name}(dtype=torch.float32)`"],
        )


def _mean_rule(
    F: Any, g: Any, input_shape: Any, dim: Any, keepdim: Any, dtype: Any, input_dtype: Any
) -> Any:
    if dtype is not None:
        g = F.cast_like_input(g, input_dtype)
    count = length_of(input_shape, dim)
    return F.spread(g / count if count else g, input_shape, dim, keepdim)


mean = reduction(
    "mean",
    _mean,
    grad=_mean_rule,
    node_names=("MeanBackward0", "MeanBackward1"),
    samples=_samples,
    doc=r"""The mean of all elements, or along dimensions: $\frac1n\sum_i x_i$.

    Args:
        input: The tensor, of floating point or complex numbers.
        dim: A dimension, or several; all if not given.
        keepdim: Whether the dimensions stay, with length 1.
        dtype: The input is cast to this before.
        out: Where to write the result.

    >>> import lamina
    >>> lamina.mean(lamina.tensor([[1.0, 3.0], [5.0, 7.0]]), dim=1)
    tensor([2., 6.])
    """,
)


def _nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if input.dtype.kind not in "fcV":
        raise errors.DtypeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.from_numpy(input.dtype)}",
            [(this_place(), "called here")],
        )
    total = _nansum(input, dim, keepdim, dtype=dtype)
    count = add_up(np.equal(input, input), axes_of(dim, input.ndim), keepdim, np.dtype(np.int64))
    with np.errstate(all="ignore"):
        return np.divide(total, count.astype(total.real.dtype))


def _nanmean_rule(
    F: Any, g: Any, input: Any, input_dtype: Any, input_shape: Any, dim: Any, keepdim: Any,
    dtype: Any,
) -> Any:  # fmt: skip
    known = F.cast_like_input(input == input, input_dtype)
    count = F.spread(F.sum(known, dim, keepdim), input_shape, dim, keepdim)
    return _sum_rule(F, g, input_shape, dim, keepdim, dtype, input_dtype) * (known / count)


nanmean = operation(
    "nanmean",
    _nanmean,
    grad={"input": _nanmean_rule},
    node_name="DivBackward0",
    samples=_samples,
    doc="The mean of the elements that are not NaN.",
)


# --- prod --------------------------------------------------------------------------------------


def _prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None:
        input = input.astype(numpy_dtype(dtype))
        if is_half(input.dtype):
            kind = input.dtype
            return _prod(input.astype(np.float32), dim, keepdim).astype(kind)
    axis = None if dim is None else axes_of(axis_of(dim, input.ndim), input.ndim)
    kind = sum_dtype(input, dtype)
    return _times.reduce(input, axis=axis, dtype=kind, keepdims=keepdim)


def product_of_others(F: Any, input: Any, dim: int) -> Any:
    """For each element the product of all others of its line, exact where some are zero."""
    before = F.shift_along(F.cumprod(input, dim), dim, 1, 1)
    turned = F.turn_around(input, dim)
    after = F.turn_around(F.shift_along(F.cumprod(turned, dim), dim, 1, 1), dim)
    return before * after


def _prod_rule(
    F: Any, g: Any, input: Any, input_shape: Any, dim: Any, keepdim: Any, dtype: Any,
    input_dtype: Any,
) -> Any:  # fmt: skip
    if dtype is not None:
        g = F.cast_like_input(g, input_dtype)
    if not input_shape:
        return g
    return F.spread(g, input_shape, dim, keepdim) * F.conj(product_of_others(F, input, dim))


def _prod_everything(input: Any, *, dtype: Any = None) -> Any:
    return _prod(input, dtype=dtype)


def _prod_everything_rule(
    F: Any, g: Any, input: Any, input_shape: Any, dtype: Any, input_dtype: Any
) -> Any:
    if dtype is not None:
        g = F.cast_like_input(g, input_dtype)
    line = F.reshape(input, (-1,))
    return F.broadcast_to(g, input_shape) * F.conj(
        F.reshape(product_of_others(F, line, 0), input_shape)
    )


_prod_along = operation(
    "prod",
    _prod,
    grad={"input": _prod_rule},
    node_name="ProdBackward1",
    samples=lambda make: [sample(make(3, 4), 0, False), sample(make(3, 4), -1, True)],
    doc="The product of the elements along a dimension.",
)
_prod_all = operation(
    "prod_all",
    _prod_everything,
    grad={"input": _prod_everything_rule},
    node_name="ProdBackward0",
    samples=lambda make: [sample(make(3, 4)), sample(make())],
    doc="The product of all elements.",
)


@native
def prod(input: Any, *args: Any, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    r"""The product of all elements, or along a dimension: $\prod_i x_i$.

    >>> import lamina
    >>> lamina.prod(lamina.tensor([2, 3, 4]))
    tensor(24)
    """
    if not args and not kwargs:
        return run(_prod_all.op, [input, dtype], out)
    return _prod_along(input, *args, dtype=dtype, out=out, **kwargs)


# --- truth -------------------------------------------------------------------------------------


def _all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _truth(np.logical_and, input, dim, keepdim)


def _any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _truth(np.logical_or, input, dim, keepdim)


def _truth(ufunc: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    axes = axes_of(dim, input.ndim, empty_is_all=False)
    found = ufunc.reduce(input, axis=axes, keepdims=keepdim, dtype=bool)
    # Bytes were PyTorch's truth values once, and are answered with bytes still.
    return found.astype(np.uint8) if input.dtype == np.uint8 else found


def _truth_samples(make: Make) -> list[Sample]:
    return [sample(make.booleans(3, 4), dim) for dim in (None, 0, (0, 1))]


all = operation("all", _all, samples=_truth_samples, doc="Whether all elements are true.")
any = operation("any", _any, samples=_truth_samples, doc="Whether any element is true.")


def _count_nonzero(input: Any, dim: Any = None) -> Any:
    axes = axes_of(dim, input.ndim)
    return add_up(np.not_equal(input, 0), axes, False, np.dtype(np.int64))


count_nonzero = operation(
    "count_nonzero",
    _count_nonzero,
    samples=lambda make: [sample(make.integers(3, 4, low=0, high=2), dim) for dim in (None, 0)],
    doc="How many elements are not zero.",
)


# --- logsumexp ---------------------------------------------------------------------------------


def _logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    input = on_lines(input) if input.ndim else input
    axes = axes_of(dim, input.ndim)
    real = input.real if input.dtype.kind == "c" else input
    top = np.maximum.reduce(real, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), top.dtype.type(0), top)
    with np.errstate(all="ignore"):
        total = np.log(add_up(np.exp(input - top), axes, keepdim))
    return total + top.reshape(total.shape)


logsumexp = operation(
    "logsumexp",
    _logsumexp,
    grad={
        "input": lambda F, g, input, input_shape, out, dim, keepdim: (
            F.spread(g, input_shape, dim, keepdim)
            * F.conj(F.exp(input - F.spread(out, input_shape, dim, keepdim)))
        )
    },
    dtypes=TO_FLOAT,
    samples=lambda make: [sample(make(3, 4), 0), sample(make(3, 4), (0, 1), True)],
    doc=r"The logarithm of the sum of exponentials, $\log\sum_i e^{x_i}$, without overflow.",
)

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "logsumexp",
    "mean",
    "nanmean",
    "nansum",
    "prod",
    "sum",
]
