"""Different elements, places among sorted ones, membership, and counts in bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.op import NOT_WRITTEN, PROMOTE, traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.reduced import axis_of
from lamina.ops.sorting_kernels import sorted_along

# --- different elements ------------------------------------------------------------------------


def _unique(input: Any, dim: Any = None) -> Any:
    if dim is None:
        return _unique_elements(input)
    values, inverse, counts = np.unique(
        input, return_inverse=True, return_counts=True, axis=axis_of(dim, input.ndim),
        equal_nan=False,
    )  # fmt: skip
    return values, inverse.reshape((-1,)), counts


def _unique_elements(input: Any) -> Any:
    if input.dtype.kind == "c":
        values, inverse, counts = np.unique(
            np.ravel(input), return_inverse=True, return_counts=True, equal_nan=False
        )
        return values, inverse.reshape(input.shape), counts
    ranked, places = sorted_along(np.ravel(input), 0)
    values, among, counts = _unique_consecutive(ranked)
    inverse = np.empty_like(among)
    inverse[places] = among
    return values, inverse.reshape(input.shape), counts


def _unique_consecutive(input: Any, dim: Any = None) -> Any:
    if dim is None:
        rows = np.ravel(input)
        differs = np.not_equal(rows[1:], rows[:-1])
    else:
        rows = np.moveaxis(input, axis_of(dim, input.ndim), 0)
        flat = rows.reshape((rows.shape[0], -1 if rows.size else 0))
        differs = np.logical_or.reduce(np.not_equal(flat[1:], flat[:-1]), axis=1)
    count = rows.shape[0]
    starts = np.concatenate(
        (np.zeros_like(differs, shape=(min(count, 1),)), np.flatnonzero(differs) + 1)
    )
    starts = starts.astype(np.int64)
    values = rows[starts]
    inverse = np.concatenate((np.zeros_like(starts, shape=(min(count, 1),)), np.cumsum(differs)))
    counts = np.diff(np.concatenate((starts, np.full_like(starts, count, shape=(1,)))))
    if not count:
        counts = np.zeros_like(starts)
    if dim is None:
        return values, inverse.reshape(input.shape), counts
    return np.moveaxis(values, 0, axis_of(dim, input.ndim)), inverse, counts


_unique_all = operation(
    "unique",
    _unique,
    grad={"input": NOT_WRITTEN},
    node_name="Unique2Backward0",
    samples=lambda make: [],
    doc="The different elements, where each element is among them, and how often each occurs.",
)
_unique_dim = operation(
    "unique_dim",
    _unique,
    grad={"input": NOT_WRITTEN},
    samples=lambda make: [],
    doc="The different slices along a dimension; otherwise as `unique`.",
)
_unique_runs = operation(
    "unique_consecutive",
    _unique_consecutive,
    grad={"input": NOT_WRITTEN},
    samples=lambda make: [],
    doc="The elements (or slices) without those that repeat the one before.",
)


def _chosen(parts: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = parts
    if not return_inverse and not return_counts:
        return values
    found = (values, *((inverse,) * return_inverse), *((counts,) * return_counts))
    return found


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The different elements of a tensor, or its different slices along a dimension, in order.

    Args:
        input: The tensor.
        sorted: The elements are in order in any case.
        return_inverse: Whether to tell where each element is among the different ones.
        return_counts: Whether to tell how often each occurs.
        dim: Compare slices along this dimension.

    Returns:
        A tensor; or a tuple with what else was asked for.

    >>> import lamina
    >>> lamina.unique(lamina.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    parts = _unique_all(input) if dim is None else _unique_dim(input, dim)
    return _chosen(parts, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements without those that repeat the one before; see `unique`.

    >>> import lamina
    >>> lamina.unique_consecutive(lamina.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _chosen(_unique_runs(input, dim), return_inverse, return_counts)


# --- places among sorted elements --------------------------------------------------------------


def _searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False,
    side: Any = None, sorter: Any = None,
) -> Any:  # fmt: skip
    if side is not None:
        if side == "left" and right:
            raise errors.InvalidArgument(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left "
                "while right was True",
                [(this_place(), "called here")],
            )
        right = side == "right"
    if sorter is not None:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, axis=-1)
    _check_search(sorted_sequence, input)
    side = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        found = np.searchsorted(sorted_sequence, input, side=side)
        return found.astype(np.int32 if out_int32 else np.int64)
    return _search_rows(sorted_sequence, input, right).astype(np.int32 if out_int32 else np.int64)


def _search_rows(rows: Any, input: Any, right: bool) -> Any:
    """Binary search in every row at once."""
    length = rows.shape[-1]
    low = np.zeros_like(input, dtype=np.int64)
    high = np.full_like(low, length)
    for _ in range(length.bit_length()):
        middle = np.minimum((low + high) // 2, length - 1)
        seen = np.take_along_axis(rows, middle, axis=-1)
        goes_up = ~(np.greater(seen, input) if right else np.greater_equal(seen, input))
        goes_up = goes_up & (low < high)
        low = np.where(goes_up, middle + 1, low)
        high = np.where(goes_up, high, np.minimum(high, middle))
    return low


def _check_search(rows: Any, input: Any) -> None:
    if rows.ndim > 1 and (input.ndim != rows.ndim or input.shape[:-1] != rows.shape[:-1]):
        raise errors.ShapeMismatch(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(rows.shape)} and input value tensor {list(input.shape)}",
            [(this_place(), "called here")],
        )
    if rows.ndim == 0:
        raise errors.InvalidArgument(
            "torch.searchsorted(): boundaries tensor should have positive dimension",
            [(this_place(), "called here")],
        )


_searchsorted_op = operation(
    "searchsorted",
    _searchsorted,
    tensors="sorted_sequence #input ?sorter",
    samples=lambda make: [
        sample(np.sort(make(5)), make(3, 2)),
        sample(np.sort(make(3, 5)), make(3, 2), right=True),
    ],
    doc="Where elements would have to be inserted to keep sequences in order.",
)


@native
def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, out: Any = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """Where elements would have to be inserted to keep sorted sequences in order.

    Args:
        sorted_sequence: One sequence, or one for each row of `input`.
        input: A number or tensor.
        out_int32: Whether the places are int32 instead of int64.
        right: Whether a place after equal elements is meant, not before.
        side: `"left"` or `"right"`: the same as `right`.
        out: Where to write the result.
        sorter: The order that sorts the sequences, if they are not sorted.

    >>> import lamina
    >>> lamina.searchsorted(lamina.tensor([1, 3, 5]), lamina.tensor([3, 6]))
    tensor([1, 3])
    """
    if not isinstance(input, Tensor):
        input = traced.filled_like(sorted_sequence, (), input)
    return _searchsorted_op(
        sorted_sequence, input, out_int32=out_int32, right=right, side=side, sorter=sorter, out=out
    )


@native
def bucketize(
    input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Any:
    """The number of the bucket, between sorted boundaries, that each element falls into.

    >>> import lamina
    >>> lamina.bucketize(lamina.tensor([0, 3, 9]), lamina.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
    if boundaries.ndim != 1:
        raise errors.InvalidArgument(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})",
            [(this_place(), "called here")],
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def _isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    return np.isin(elements, test_elements, assume_unique=False, invert=invert)


isin = operation(
    "isin",
    _isin,
    tensors="#elements #test_elements",
    dtypes=PROMOTE,
    samples=lambda make: [sample(make.integers(3, 4), make.integers(5))],
    doc="Whether each element is among the test elements.",
)

__all__ = ["bucketize", "isin", "searchsorted", "unique", "unique_consecutive"]
