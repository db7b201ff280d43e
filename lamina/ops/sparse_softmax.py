"""softmax of sparse tensors: over kept elements, as if all others were minus infinity."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import called, this_place
from lamina.core.call import operation
from lamina.core.tensor import Tensor
from lamina.devices.sparse import SparseArray
from lamina.ops.axes import axis_of
from lamina.ops.sparse import coalesce

__all__ = ["sparse_log_softmax", "sparse_softmax"]


def _slices(indices: Any, dim: int) -> tuple[Any, int]:
    """For each place the number of its slice along `dim`, and how many slices there are."""
    others = np.delete(indices, dim, axis=0)
    if not others.size:
        return np.zeros(indices.shape[1], np.intp), min(1, indices.shape[1])
    found, slices = np.unique(others, axis=1, return_inverse=True)
    return slices.reshape(-1), found.shape[1]


def _shifted(input: Any, indices: Any, dim: int) -> tuple[Any, Any]:
    """Elements less the largest of their slice, and the sums of their powers, one for each."""
    slices, count = _slices(indices, dim)
    largest = np.full(count, -np.inf, input.dtype)
    np.maximum.at(largest, slices, input.values)
    shifted = input.values - largest[slices]
    totals = np.bincount(slices, np.exp(shifted), count).astype(input.dtype)
    return shifted, totals[slices]


def _softmax(input: Any, indices: Any, dim: int) -> Any:
    shifted, totals = _shifted(input, indices, dim)
    return SparseArray(indices, np.exp(shifted) / totals, input.shape, True)


def _log_softmax(input: Any, indices: Any, dim: int) -> Any:
    shifted, totals = _shifted(input, indices, dim)
    return SparseArray(indices, shifted - np.log(totals), input.shape, True)


def _softmax_rule(F: Any, g: Any, out: Any, dim: int) -> Any:
    kept = F.to_dense(out)  # zero elsewhere, and so is the gradient
    return kept * (g - F.sum(kept * g, dim, True))


def _log_softmax_rule(F: Any, g: Any, out: Any, input_shape: Any, indices: Any, dim: int) -> Any:
    kept = F.sparse_placed(F.sparse_picked(g, indices), indices, input_shape)
    powers = F.exp(F.sparse_picked(F.to_dense(out), indices))
    return kept - F.sparse_placed(powers, indices, input_shape) * F.sum(kept, dim, True)


_softmax_op = operation(
    "sparse_softmax", _softmax, grad={"input": _softmax_rule}, doc="softmax of kept elements."
)
_log_softmax_op = operation(
    "sparse_log_softmax",
    _log_softmax,
    grad={"input": _log_softmax_rule},
    doc="The logarithms of softmax of kept elements.",
)


def _applied(operation: Any, name: str, input: Tensor, dim: int, dtype: Any) -> Tensor:
    if not input.is_sparse:
        dense = name.removeprefix("sparse_")
        own = called(input).strip("`")
        raise errors.NotSupported(
            f"Could not run 'aten::_{name}' with arguments from the 'CPU' backend: the tensor is "
            "not sparse",
            [(this_place(), "called here")],
            [
                f"`torch.{dense}(...)` is for dense tensors",
                f"`{own}.to_sparse()` leaves zeros out, which then count as minus infinity",
            ],
        )
    axis = axis_of(dim, input.ndim)
    input = input if dtype is None else input.to(dtype)
    if input._array.dtype.char not in "fd":
        raise errors.NotImplementedForDtype(
            f'"softmax" not implemented for {input.dtype!r}',
            [(this_place(), "called here")],
            ["pass `dtype=torch.float32`"],
        )
    input = coalesce(input)
    result: Tensor = operation(input, input._array.indices, axis)
    return result


@takes_tensors
def sparse_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    r"""softmax along a dimension of a sparse tensor, over the elements that are kept.

    Of each slice along `dim`: exp(x_i) / sum_j exp(x_j) over the kept x_j. The result is coalesced,
    and keeps what the coalesced input keeps.

    Args:
        input: A sparse tensor of float32 or float64.
        dim: The dimension along which the kept elements are made to add up to 1.
        dtype: What the input is converted to first.

    Raises:
        NotSupported: (NotImplementedError) The tensor is not sparse.
        NotImplementedForDtype: (NotImplementedError) Another dtype.
        DimensionOutOfRange: (IndexError) A dimension that is not there.

    >>> import lamina
    >>> x = lamina.sparse_coo_tensor([[0, 1, 1], [0, 1, 2]], [5.0, 0.0, 0.0], (2, 3))
    >>> lamina.sparse.softmax(x, 1).to_dense()
    tensor([[1.0000, 0.0000, 0.0000],
            [0.0000, 0.5000, 0.5000]])
    """
    return _applied(_softmax_op, "sparse_softmax", input, dim, dtype)


@takes_tensors
def sparse_log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithms of `softmax` of a sparse tensor: x_i - log(sum_j exp(x_j)) over kept elements.

    Arguments, result and errors are those of `lamina.sparse.softmax`.

    >>> import lamina
    >>> x = lamina.sparse_coo_tensor([[0, 1, 1], [0, 1, 2]], [5.0, 0.0, 0.0], (2, 3))
    >>> lamina.sparse.log_softmax(x, 1).values()
    tensor([ 0.0000, -0.6931, -0.6931])
    """
    return _applied(_log_softmax_op, "sparse_log_softmax", input, dim, dtype)
