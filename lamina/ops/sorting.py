"""Sorting, and the largest or smallest k."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.samples import Make, Sample, sample
from lamina.ops import results
from lamina.ops.reduced import axis_of, on_lines
from lamina.ops.sorting_kernels import sorted_along, top_along


def _refuse_unordered(line: Any) -> None:
    if line.dtype.kind == "c":
        raise errors.NotImplementedForDtype(
            "Sort does not support complex dtypes",
            [(this_place(), "called here")],
            ["sort by size instead: `x.abs().argsort()`"],
        )


def _sort(input: Any, dim: int = -1, descending: bool = False) -> Any:
    line = on_lines(input)
    _refuse_unordered(line)
    values, indices = sorted_along(line, axis_of(dim, input.ndim), descending)
    return values.reshape(input.shape), indices.reshape(input.shape)


def _argsort(input: Any, dim: int = -1, descending: bool = False) -> Any:
    return _sort(input, dim, descending)[1]


def _at_places(F: Any, g: Any, input_shape: Any, dim: Any, out1: Any) -> Any:
    return None if g[0] is None else F.put_along(g[0], input_shape, dim, out1, True)


def _samples(make: Make) -> list[Sample]:
    return [
        sample(make.distinct(3, 4)),
        sample(make.distinct(3, 4), 0, True),
        sample(make(), 0),
    ]


_sort_op = operation(
    "sort",
    _sort,
    grad={"input": _at_places},
    result=results.sort,
    samples=_samples,
    doc="The elements in order along a dimension, and their former places.",
)
_sort_stable = operation(
    "sort_stable",
    _sort,
    grad={"input": _at_places},
    node_name="SortBackward1",
    result=results.sort,
    samples=_samples,
    doc="As `sort`; equal elements keep their order.",
)
_argsort_op = operation(
    "argsort",
    _argsort,
    samples=_samples,
    doc="The places of the elements in order along a dimension.",
)


@native
def sort(input: Any, *args: Any, stable: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The elements in order along a dimension, and their former places.

    Args:
        input: The tensor.
        dim: The dimension; the last if not given.
        descending: Whether the largest comes first.
        stable: Equal elements always keep their order here, so this changes nothing.
        out: Where to write values and indices.

    Returns:
        A named result of `values` and `indices`.

    >>> import lamina
    >>> lamina.sort(lamina.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """
    call = _sort_op if stable is None else _sort_stable
    return call(input, *args, out=out, **kwargs)


@native
def argsort(input: Any, *args: Any, stable: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The places of the elements in order along a dimension; see `sort`.

    >>> import lamina
    >>> lamina.argsort(lamina.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return _argsort_op(input, *args, out=out, **kwargs)


@native
def msort(input: Any, *, out: Any = None) -> Any:
    """The elements in order along the first dimension."""
    made = _sort_op(input, 0)[0]
    return made if out is None else _copied(made, out=out)


# --- the k largest -----------------------------------------------------------------------------


def _topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    axis = axis_of(dim, input.ndim)
    line = on_lines(input)
    length = line.shape[axis]
    if not 0 <= k <= length:
        raise errors.InvalidArgument(
            "selected index k out of range",
            [(this_place(), "called here")],
            [f"dimension {axis} has {length} elements, and k is {k}"],
        )
    _refuse_unordered(line)
    values, indices = top_along(line, axis, k, largest)
    if input.ndim:
        return values, indices
    return values.reshape((1,) if k != 1 else ()), indices.reshape((1,) if k != 1 else ())


topk = operation(
    "topk",
    _topk,
    grad={"input": _at_places},
    result=results.topk,
    samples=lambda make: [
        sample(make.distinct(3, 4), 2),
        sample(make.distinct(5, 4), 3, 0, False),
        sample(make.distinct(2, 100), 5),
    ],
    doc="The `k` largest (or smallest) elements of each line along a dimension, and their places.",
)


def _copy(input: Any) -> Any:
    return input.copy()


_copied = operation(
    "copied",
    _copy,
    grad={"input": lambda F, g: g},
    node_name="CloneBackward0",
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3))],
    doc="A copy of a result, to be written somewhere else.",
)

__all__ = ["argsort", "msort", "sort", "topk"]
