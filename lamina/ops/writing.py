"""Copies with a part written over: by index arrays, along a dimension, or at flat positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.inplace import apply_inplace
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.axes import axis_of
from lamina.ops.indexing_rules import (
    add_at,
    check_index_kind,
    check_range,
    explain_index_error,
    kind_name,
    numpy_key,
    positions_of_key,
    refused,
)
from lamina.ops.numbers import fill_choice, number_as
from lamina.ops.picking import check_flat
from lamina.ops.row_kernels import with_rows_added
from lamina.ops.scattering import scatter_reduce

__all__ = ["index_add", "index_copy", "index_fill", "index_reduce", "put"]

# --- by index arrays -----------------------------------------------------------------------------


def _index_put(
    input: Any, indices: Any, values: Any, accumulate: bool = False, places: Any = None
) -> Any:
    if hasattr(values, "dtype") and values.dtype != input.dtype:
        raise refused(
            "Index put requires the source and destination dtypes match, got "
            f"{kind_name(input.dtype)} for the destination and {kind_name(values.dtype)} for the "
            "source."
        )
    key = numpy_key(indices, places)
    try:
        if accumulate and len(indices) == 1 and indices[0].dtype.kind != "b":
            return _put_rows(input, indices[0], places[0], values)
        out = np.copy(input, order="C")
        if accumulate:
            add_at(out, positions_of_key(out.shape, _checked(indices, out, key), places), values)
        else:
            out[key] = values
    except (IndexError, ValueError) as error:
        raise put_trouble(error, input, key, values) from None
    return out


def _put_rows(input: Any, index: Any, axis: int, values: Any) -> Any:
    """Values added to rows, counted from the end where their numbers are negative."""
    shape, rows = input.shape, input.shape[axis]
    np.zeros_like(index, shape=(rows,), dtype=bool)[index]  # raises if one is out of range
    listed = np.broadcast_to(values, (*shape[:axis], *index.shape, *shape[axis + 1 :]))
    return with_rows_added(input, np.where(index < 0, index + rows, index), axis, listed)


def _checked(indices: Any, out: Any, key: Any) -> Any:
    """Let NumPy look at the indices: flat positions would not notice one that is out of range."""
    out[key]
    return indices


def put_trouble(error: Exception, array: Any, key: Any, values: Any) -> Exception:
    """Why values could not be written at an index."""
    if isinstance(error, errors.LaminaError):
        return error
    if isinstance(error, IndexError):
        return explain_index_error(error, array.shape, key)
    shape = array[key].shape
    return errors.WriteShapeMismatch(
        f"shape mismatch: value tensor of shape {dims(values.shape)} cannot be broadcast to "
        f"indexing result of shape {dims(shape)}",
        [(this_place(), "written here")],
    )


_put_index = [np.array([0, 2])]
index_put_op = operation(
    "index_put",
    _index_put,
    tensors="input *indices@ values~",
    grad={
        "input": lambda F, g, indices, accumulate, places: (
            g if accumulate else F.index_clear(g, indices, places)
        ),
        "values": lambda F, g, indices, places, values_shape: F.sum_to_size(
            F.index(g, indices, places), values_shape
        ),
    },
    samples=lambda make: [
        sample(make(4, 3), _put_index, make(2, 3), False, (0,)),
        sample(make(4, 3), [np.array([1, 1])], make(3), True, (0,)),
        sample(
            make(2, 4, 3), [np.array([0, 1]), np.array([[2], [2]])], make(2, 2, 1), True, (0, 2)
        ),
    ],
    doc="A copy with values written, or added, where index arrays choose.",
)


def _index_clear(input: Any, indices: Any, places: Any) -> Any:
    out = np.copy(input, order="C")
    out[numpy_key(indices, places)] = 0
    return out


index_clear = operation(
    "index_clear",
    _index_clear,
    tensors="input *indices@",
    grad={"input": lambda F, g, indices, places: F.index_clear(g, indices, places)},
    halves_in_float=False,
    samples=lambda make: [sample(make(4, 3), _put_index, (0,))],
    doc="A copy with zeros where index arrays choose.",
)

# --- along a dimension ---------------------------------------------------------------------------


def _check_rows(name: str, input: Any, dim: int, index: Any, source: Any, error: Any = None) -> int:
    """The axis of an `index_*` operation with a fitting source."""
    axis = axis_of(dim, input.ndim)
    if index.ndim > 1:
        raise errors.InvalidIndex(
            f"{name}(): Index is supposed to be a vector", [(this_place(), "called here")]
        )
    check_index_kind(index, name, "Expected dtype int32/int64 for index")
    count = source.shape[axis] if source.ndim else 1
    if index.size != count:
        raise refused(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({count}), for dim: {axis}"
        )
    own = [n for k, n in enumerate(input.shape) if k != axis]
    other = [n for k, n in enumerate(source.shape) if k != axis]
    if own != other:
        raise refused(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {dims(input.shape)} source.shape = {dims(source.shape)}"
        )
    check_range(index, input.shape[axis] if input.ndim else 1, axis, error)
    return axis


def _wide(input: Any) -> Any:
    return (input if input.ndim else input[None]).copy("C")


def _index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    if source.dtype != input.dtype:
        raise refused(
            f"index_add_(): self ({kind_name(input.dtype)}) and source ({kind_name(source.dtype)}) "
            "must have the same scalar type"
        )
    axis = _check_rows("index_add_", input, dim, index, source)
    wide = input if input.ndim else input[None]
    listed = source if alpha == 1 else source * number_as(alpha, source.dtype)
    return with_rows_added(wide, index, axis, listed).reshape(input.shape)


index_add = operation(
    "index_add",
    _index_add,
    tensors="input index source",
    grad={
        "input": lambda F, g: g,
        "source": lambda F, g, dim, index, alpha, source_shape: _scaled(
            F.reshape(F.index_select(g, dim, index), source_shape), alpha
        ),
    },
    samples=lambda make: [
        sample(make(4, 3), 0, np.array([2, 0, 2]), make(3, 3)),
        sample(make(2, 3), 1, np.array([1]), make(2, 1), alpha=2.0),
    ],
    doc="""A copy with slices of `source` added at some indices of a dimension.

    >>> import lamina
    >>> lamina.index_add(lamina.zeros(2), 0, lamina.tensor([1, 1]), lamina.tensor([5.0, 6.0]))
    tensor([ 0., 11.])
    """,
)


def _scaled(value: Any, alpha: Any) -> Any:
    return value if alpha == 1 else value * alpha


def _index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    if source.dtype != input.dtype:
        raise refused(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{kind_name(input.dtype)} and (source) {kind_name(source.dtype)}"
        )
    axis = _check_rows("index_copy_", input, dim, index, source, errors.IndexOutOfRange)
    out = _wide(input)
    out[(slice(None),) * axis + (index.reshape(-1),)] = source if source.ndim else source[None]
    return out.reshape(input.shape)


index_copy = operation(
    "index_copy",
    _index_copy,
    tensors="input index source",
    grad={
        "input": lambda F, g, dim, index: F.index_fill(g, dim, index, 0),
        "source": lambda F, g, dim, index, source_shape: F.reshape(
            F.index_select(g, dim, index), source_shape
        ),
    },
    halves_in_float=False,
    samples=lambda make: [sample(make(4, 3), 0, np.array([2, 0]), make(2, 3))],
    doc="A copy with slices of `source` written at some indices of a dimension.",
)


def _index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    if index.ndim > 1:
        raise refused("index_fill_(): Index is supposed to be a vector")
    axis = axis_of(dim, input.ndim)
    out = (input if input.ndim else input[None]).copy("K")
    key = (slice(None),) * axis + (index.reshape(-1),)
    try:
        out[key] = value if hasattr(value, "dtype") else number_as(value, input.dtype)
    except IndexError as error:
        raise explain_index_error(error, out.shape, key) from None
    return out.reshape(input.shape)


index_fill_number = operation(
    "index_fill",
    _index_fill,
    tensors="input index",
    grad={"input": lambda F, g, dim, index: F.index_fill(g, dim, index, 0)},
    halves_in_float=False,
    samples=lambda make: [sample(make(4, 3), 0, np.array([2, 0]), 1.5)],
    doc="A copy with a number written at some indices of a dimension.",
)
index_fill_tensor = operation(
    "index_fill_tensor",
    _index_fill,
    tensors="input index value~",
    grad={
        "input": lambda F, g, dim, index: F.index_fill(g, dim, index, 0),
        "value": lambda F, g, dim, index: F.sum_to_size(g - F.index_fill(g, dim, index, 0), ()),
    },
    node_name="IndexFillBackward1",
    halves_in_float=False,
    samples=lambda make: [sample(make(4, 3), 0, np.array([2, 0]), make())],
    doc="A copy with the value of a 0-dimensional tensor written at some indices of a dimension.",
)


@takes_numpy_names
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any, **numpy_names: Any) -> Tensor:
    """A copy with one value written at some indices of a dimension."""
    if numpy_names or value is MISSING:
        return again(index_fill, numpy_names, input, dim, index, value)
    chosen = fill_choice("index_fill_", value, index_fill_number, index_fill_tensor)
    found: Tensor = chosen(input, dim, index, value)
    return found


@native
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place form of `index_fill`."""
    chosen = fill_choice("index_fill_", value, index_fill_number, index_fill_tensor)
    return apply_inplace(chosen.op, self, [self, dim, index, value])


@native
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True, out: Any = None,
) -> Tensor:  # fmt: skip
    """A copy with slices of `source` reduced into the slices at some indices of a dimension."""
    wide = _reduced_index(input, dim, index, source, reduce)
    found: Tensor = scatter_reduce(
        input, dim, wide, source, reduce, include_self=include_self, out=out
    )
    return found


@native
def index_reduce_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """In-place form of `index_reduce`."""
    wide = _reduced_index(self, dim, index, source, reduce)
    return apply_inplace(scatter_reduce.op, self, [self, dim, wide, source, reduce, include_self])


def _reduced_index(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str) -> Tensor:
    """The index of `index_reduce` as `scatter_reduce` wants it: one for each element."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise refused(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    shape = input._array.shape
    axis = _check_rows("index_reduce_", input._array, dim, index._array, source._array)
    if not shape:
        number: Tensor = traced.view(index, source._array.shape)
        return number
    wide = traced.view(index, (1,) * axis + (-1,) + (1,) * (len(shape) - axis - 1))
    found: Tensor = traced.broadcast_to(wide, source._array.shape)
    return found


# --- flat positions ------------------------------------------------------------------------------


def _put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    if index.dtype.kind != "i" or index.dtype.itemsize != 8:
        raise errors.DtypeError(
            f"put_(): Expected a long tensor for index, but got {kind_name(index.dtype)}",
            [(this_place(), "called here")],
        )
    if source.dtype != input.dtype:
        raise refused(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{kind_name(input.dtype)} and source.dtype = {kind_name(source.dtype)}"
        )
    if source.size != index.size:
        raise errors.InvalidIndex(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}",
            [(this_place(), "called here")],
        )
    check_flat(index, input.size)
    out = np.copy(input, order="C")
    flat = out.reshape(-1)
    if accumulate:
        positions = np.where(index < 0, index + input.size, index)
        np.add.at(flat, positions.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return out


put = operation(
    "put",
    _put,
    tensors="input index source",
    grad={
        "input": lambda F, g, index, accumulate: (
            g if accumulate else F.put(g, index, F.zeros_like(F.take(g, index)))
        ),
        "source": lambda F, g, index, source_shape: F.reshape(F.take(g, index), source_shape),
    },
    samples=lambda make: [
        sample(make(2, 3), np.array([0, -1]), make(2)),
        sample(make(2, 3), np.array([[0, 0]]), make(2), True),
    ],
    doc="A copy with the elements of `source` written, or added, at positions of the flat tensor.",
)
