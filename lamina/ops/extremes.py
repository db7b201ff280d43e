"""Largest and smallest elements, and where they are. NaN wins over every number."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.numpy_names import MISSING, renamed
from lamina.core.op import traced
from lamina.core.samples import Make, Sample, sample
from lamina.core.tensor import Tensor
from lamina.ops import results
from lamina.ops.reduced import (
    at_chosen,
    axes_of,
    axis_of,
    on_lines,
    refuse_complex,
    refuse_empty,
)

# --- all elements, or several dimensions -------------------------------------------------------


def shared_by_equals(
    F: Any, g: Any, input: Any, out: Any, input_shape: Any, input_dtype: Any, dim: Any, keepdim: Any
) -> Any:
    """The gradient of an extreme, in equal parts for all the elements that attain it."""
    out = F.spread(out, input_shape, dim, keepdim)
    attains = (input == out) | ((input != input) & (out != out))
    weight = F.cast_like_input(attains, input_dtype)
    share = weight / F.sum(weight, dim, True)
    return F.spread(g, input_shape, dim, keepdim) * share


def _shared_by_all(F: Any, g: Any, input: Any, out: Any, input_shape: Any, input_dtype: Any) -> Any:
    return shared_by_equals(F, g, input, out, input_shape, input_dtype, None, False)


def _reduced(name: str, ufunc: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    refuse_complex(name, input)
    axes = axes_of(dim, input.ndim)
    refuse_empty(name, input.shape, None if dim is None or dim == () else axes)
    return ufunc.reduce(input, axis=axes, keepdims=keepdim)


def _amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    return _reduced("amax", np.maximum, input, dim, keepdim)


def _amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    return _reduced("amin", np.minimum, input, dim, keepdim)


def _max_all_kernel(input: Any) -> Any:
    return _reduced("max", np.maximum, input, None, False)


def _min_all_kernel(input: Any) -> Any:
    return _reduced("min", np.minimum, input, None, False)


def _aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None and input.size == 0:
        raise errors.EmptyReduction(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity.",
            [(this_place(), "reduced here")],
        )
    return (
        _reduced("aminmax", np.minimum, input, dim, keepdim),
        _reduced("aminmax", np.maximum, input, dim, keepdim),
    )


def _aminmax_rule(
    F: Any, g: Any, input: Any, out0: Any, out1: Any, input_shape: Any, input_dtype: Any, dim: Any,
    keepdim: Any,
) -> Any:  # fmt: skip
    parts = [
        shared_by_equals(F, part, input, out, input_shape, input_dtype, dim, keepdim)
        for part, out in zip(g, (out0, out1), strict=True)
        if part is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _dim_samples(make: Make) -> list[Sample]:
    return [
        sample(make.distinct(3, 4), 0),
        sample(make.distinct(3, 4), (0, 1), True),
        sample(make.distinct(2, 3, 4), (-1,)),
    ]


amax = operation(
    "amax",
    _amax,
    grad={"input": shared_by_equals},
    samples=_dim_samples,
    doc="The largest elements along dimensions; equal ones share the gradient.",
)
amin = operation(
    "amin",
    _amin,
    grad={"input": shared_by_equals},
    samples=_dim_samples,
    doc="The smallest elements along dimensions; equal ones share the gradient.",
)
aminmax = operation(
    "aminmax",
    _aminmax,
    grad={"input": _aminmax_rule},
    result=results.aminmax,
    samples=lambda make: [sample(make.distinct(3, 4)), sample(make.distinct(3, 4), dim=1)],
    doc="The smallest and the largest elements, as `min` and `max` of a named result.",
)
_max_all = operation(
    "max_all",
    _max_all_kernel,
    grad={"input": _shared_by_all},
    node_name="MaxBackward1",
    samples=lambda make: [sample(make.distinct(3, 4))],
    doc="The largest of all elements.",
)
_min_all = operation(
    "min_all",
    _min_all_kernel,
    grad={"input": _shared_by_all},
    node_name="MinBackward1",
    samples=lambda make: [sample(make.distinct(3, 4))],
    doc="The smallest of all elements.",
)

# --- one dimension, with places ----------------------------------------------------------------


def _chosen(name: str, choose: Any, input: Any, dim: int, keepdim: bool) -> Any:
    refuse_complex(name, input)
    axis = axis_of(dim, input.ndim)
    refuse_empty(name, input.shape, axis)
    line = on_lines(input)
    indices = choose(line, axis=axis, keepdims=True)
    values = np.take_along_axis(line, indices, axis=axis)
    if not keepdim or not input.ndim:
        return np.squeeze(values, axis=axis), np.squeeze(indices, axis=axis)
    return values, indices


def _max_along_kernel(input: Any, dim: int, keepdim: bool = False) -> Any:
    return _chosen("max", np.argmax, input, dim, keepdim)


def _min_along_kernel(input: Any, dim: int, keepdim: bool = False) -> Any:
    return _chosen("min", np.argmin, input, dim, keepdim)


def _line_samples(make: Make) -> list[Sample]:
    return [
        sample(make.distinct(3, 4), 0),
        sample(make.distinct(3, 4), -1, True),
        sample(make(), 0),
    ]


_max_along = operation(
    "max_along",
    _max_along_kernel,
    grad={"input": at_chosen},
    node_name="MaxBackward0",
    result=results.max,
    samples=_line_samples,
    doc="The largest element of each line along a dimension, and its place.",
)
_min_along = operation(
    "min_along",
    _min_along_kernel,
    grad={"input": at_chosen},
    node_name="MinBackward0",
    result=results.min,
    samples=_line_samples,
    doc="The smallest element of each line along a dimension, and its place.",
)


def _of_three(whole: Any, along: Any, pairs: str, args: Any, kwargs: Any) -> Any:
    """Which of the three forms of `max` and `min` a call means."""
    if kwargs:
        kwargs = renamed(kwargs, ("input", "dim", "keepdim", "other")[len(args) :]) or kwargs
    input, *rest = args if args else (kwargs.pop("input", MISSING),)
    if (rest and isinstance(rest[0], Tensor)) or "other" in kwargs:
        return getattr(traced, pairs)(input, *rest, **kwargs)
    if rest or "dim" in kwargs:
        return along(input, *rest, **kwargs)
    return whole(input, **kwargs)


def max(*args: Any, **kwargs: Any) -> Any:
    """The largest of all elements; or of each line, with its place; or of each pair.

    `max(input)` is one number. `max(input, dim, keepdim=False)` gives `values` and `indices`
    along a dimension. `max(input, other)` is `maximum(input, other)`.

    >>> import lamina
    >>> lamina.max(lamina.tensor([[1, 5], [7, 3]]), dim=1).indices
    tensor([1, 0])
    """
    return _of_three(_max_all, _max_along, "maximum", args, kwargs)


def min(*args: Any, **kwargs: Any) -> Any:
    """The smallest of all elements; or of each line, with its place; or of each pair.

    `min(input)` is one number. `min(input, dim, keepdim=False)` gives `values` and `indices`
    along a dimension. `min(input, other)` is `minimum(input, other)`.

    >>> import lamina
    >>> lamina.min(lamina.tensor([[1, 5], [7, 3]]), dim=1).values
    tensor([1, 3])
    """
    return _of_three(_min_all, _min_along, "minimum", args, kwargs)


# --- places alone ------------------------------------------------------------------------------


def _place(name: str, choose: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    refuse_complex(name, input)
    if input.dtype.kind == "b":
        raise errors.InvalidArgument(
            f"{name}(): does not support bool input", [(this_place(), "called here")]
        )
    axis = None if dim is None else axis_of(dim, input.ndim)
    if dim is None and input.size == 0:
        raise errors.IndexOutOfRange(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0.",
            [(this_place(), "reduced here")],
        )
    refuse_empty(name, input.shape, axis)
    line = on_lines(input)
    found = choose(line, axis=axis, keepdims=keepdim)
    return found if input.ndim else found.reshape(())


def _argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _place("argmax", np.argmax, input, dim, keepdim)


def _argmin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _place("argmin", np.argmin, input, dim, keepdim)


argmax = operation(
    "argmax",
    _argmax,
    samples=lambda make: [sample(make(3, 4), dim) for dim in (None, 0, -1)],
    doc="The place of the largest element (the first of equals), in all or along a dimension.",
)
argmin = operation(
    "argmin",
    _argmin,
    samples=lambda make: [sample(make(3, 4), dim) for dim in (None, 0, -1)],
    doc="The place of the smallest element (the first of equals), in all or along a dimension.",
)

__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "max", "min"]
