"""Reading by index: index arrays, index_select, gather and take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.op import LINEAR
from lamina.core.samples import sample
from lamina.core.scattered import Scattered
from lamina.core.tensor import Tensor, wrap
from lamina.ops.axes import axis_of
from lamina.ops.broadcasting import broadcast_to
from lamina.ops.indexing_rules import (
    add_at,
    check_index_kind,
    check_range,
    explain_index_error,
    kind_name,
    ndarray,
    numpy_key,
    positions_of_key,
    refused,
)
from lamina.ops.row_kernels import summed_along, summed_rows, taken_along, taken_rows
from lamina.ops.shape import flatten

__all__ = ["gather", "index_select", "take", "take_along_dim"]

# --- x[index arrays] -----------------------------------------------------------------------------


def _index(input: Any, indices: Any, places: Any) -> Any:
    key = numpy_key(indices, places)
    try:
        if (
            len(indices) == 1
            and indices[0].dtype.kind != "b"
            and indices[0].__class__ is input.__class__
        ):
            return taken_rows(input, indices[0], places[0])
        found = input[key]
        return found if found.flags.c_contiguous else found.copy("C")
    except IndexError as error:
        raise explain_index_error(error, input.shape, key) from None


index = operation(
    "index",
    _index,
    tensors="input *indices@",
    grad={
        "input": lambda F, g, indices, places, input_shape, input_dtype: F.embed_index(
            g, indices, places, input_shape, input_dtype
        )
    },
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [
        sample(make(5, 3), [np.array([0, 2, 2])], (0,)),
        sample(make(3, 4, 2), [np.array([0, 1]), np.array([[1], [-1]])], (0, 2)),
        sample(make(2, 3), [np.array([[True, False, True], [False, True, True]])], (0,)),
    ],
    doc="The elements that index arrays or masks choose: a copy.",
)


def _embed_index(input: Any, indices: Any, places: Any, shape: Any, kind: Any) -> Any:
    if len(indices) == 1 and indices[0].dtype.kind != "b":
        rows = indices[0]
        rows = np.where(rows < 0, rows + shape[places[0]], rows)
        return summed_rows(input, rows, places[0], shape, kind)
    base = np.zeros_like(input, shape=shape, dtype=kind, order="C")
    if len(indices) == 1:
        base[numpy_key(indices, places)] = input
    else:
        add_at(base, positions_of_key(shape, indices, places), input)
    return base


embed_index = operation(
    "embed_index",
    _embed_index,
    tensors="input *indices@",
    grad={"input": lambda F, g, indices, places: F.index(g, indices, places)},
    samples=lambda make: [
        sample(make(3, 3), [np.array([0, 2, 2])], (0,), (5, 3), np.dtype(np.float64)),
        sample(
            make(2, 2, 4), [np.array([0, 1]), np.array([[1], [-1]])], (0, 2), (3, 4, 2),
            np.dtype(np.float64),
        ),
    ],
    doc="Zeros of a shape, with values added at the places that index arrays choose.",
)  # fmt: skip

# --- whole slices, by one list of indices --------------------------------------------------------


def _index_select(input: Any, dim: int, index: Any) -> Any:
    if index.ndim > 1:
        raise errors.InvalidIndex(
            "index_select(): Index is supposed to be a vector", [(this_place(), "called here")]
        )
    check_index_kind(index, "index_select", "Expected dtype int32 or int64 for index")
    axis = axis_of(dim, input.ndim)
    wide = input if input.ndim else input[None]
    check_lookup(index, wide.shape[axis])
    found = taken_rows(wide, index.reshape(-1), axis)
    return found if input.ndim else found.reshape(())


def check_lookup(index: Any, size: int) -> None:
    """Raise IndexOutOfRange, as a lookup does, if an index is outside 0 .. size - 1."""
    try:
        check_range(index, size, 0)
    except errors.InvalidArgument as error:
        raise errors.IndexOutOfRange(
            f"index out of range in self: {error.headline}", error.notes
        ) from None


index_select = operation(
    "index_select",
    _index_select,
    tensors="input index",
    grad={
        "input": lambda F, g, dim, index, input_shape, input_dtype: F.embed_rows(
            g, dim, index, input_shape, input_dtype
        )
    },
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [
        sample(make(4, 3), 0, np.array([2, 0, 2])), sample(make(2, 3), -1, np.array([1])),
    ],
    doc="""The slices at some indices of a dimension: a copy.

    >>> import lamina
    >>> lamina.index_select(lamina.tensor([5, 6, 7]), 0, lamina.tensor([2, 0]))
    tensor([7, 5])
    """,
)  # fmt: skip


def _embed_rows(input: Any, dim: int, index: Any, shape: Any, kind: Any) -> Any:
    wide = shape or (1,)
    found = summed_rows(input, index, axis_of(dim, len(wide)), wide, kind)
    return found if shape else found.reshape(shape)


embed_rows = operation(
    "embed_rows",
    _embed_rows,
    tensors="input index",
    grad={
        "input": lambda F, g, dim, index, input_shape: F.reshape(
            F.index_select(g, dim, index), input_shape
        )
    },
    samples=lambda make: [sample(make(3, 2), 0, np.array([2, 0, 2]), (4, 2), np.dtype(np.float64))],
    doc="Zeros of a shape, with slices added at some indices of a dimension.",
)

# --- one index for each element of the result ----------------------------------------------------


def check_gather(name: str, input: Any, dim: int, index: Any, is_looked_at: bool = True) -> int:
    """The axis of a gather or scatter whose index fits to the input.

    Args:
        name: What the call is named in errors.
        input, dim, index: Its arguments.
        is_looked_at: Whether the numbers are; else whoever reads them looks.
    """
    axis = axis_of(dim, input.ndim)
    if index.size:
        check_index_kind(index, name)
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise refused("Index tensor must have the same number of dimensions as input tensor")
    if input.ndim and index.ndim:
        for k, (small, large) in enumerate(zip(index.shape, input.shape, strict=True)):
            if k != axis and small > large:
                raise refused(
                    f"Size does not match at dimension {k} expected index {dims(index.shape)} to "
                    f"be no larger than self {dims(input.shape)} apart from dimension {axis}"
                )
    if is_looked_at:
        check_along(input, axis, index)
    return axis


def check_along(input: Any, axis: int, index: Any) -> None:
    """Raise for indices that an array does not have along an axis; a number has one place."""
    check_range(index, input.shape[axis] if input.ndim else 1, axis)


def cut(array: Any, index: Any, axis: int) -> Any:
    """The part of an array that an index of its rank reaches: its sizes, whole along `axis`."""
    array = array if array.ndim else array[None]
    if all(
        k == axis or a == b for k, (a, b) in enumerate(zip(array.shape, index.shape, strict=True))
    ):
        return array
    return array[tuple(slice(None) if k == axis else slice(n) for k, n in enumerate(index.shape))]


def _gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    if not index.size and index.ndim != input.ndim:
        return np.zeros_like(input, shape=index.shape, order="C")
    axis = check_gather("gather", input, dim, index, False)
    wide = index if index.ndim else index[None]
    if not index.size:
        return np.zeros_like(input, shape=index.shape, order="C")
    try:
        found = taken_along(input if input.ndim else input[None], wide, axis)
    except IndexError:  # NumPy's complaint, which becomes PyTorch's
        check_along(input, axis, index)
        raise
    return found if index.ndim else found.reshape(())


def _gather_scattered(
    F: Any, g: Any, dim: int, index: Any, input_shape: Any, input_dtype: Any
) -> Scattered | None:
    """The gradient of an input of which one element of each row was read."""
    axis = dim % max(len(input_shape), 1)
    is_one = index.shape == (*input_shape[:axis], 1, *input_shape[axis + 1 :])
    return Scattered(g, index, axis) if is_one else None


gather = operation(
    "gather",
    _gather,
    tensors="input index",
    grad={
        "input": lambda F, g, dim, index, input_shape, input_dtype: F.embed_gather(
            g, dim, index, input_shape, input_dtype
        )
    },
    scattered=_gather_scattered,
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [
        sample(make(3, 4), 0, np.array([[0, 2, 2], [1, 0, 0]])),
        sample(make(3, 4), -1, np.array([[0], [3]])),
    ],
    doc="""For each index, the element that it names along a dimension.

    >>> import lamina
    >>> lamina.gather(lamina.tensor([[1, 2], [3, 4]]), 1, lamina.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """,
)


def _embed_gather(input: Any, dim: int, index: Any, shape: Any, kind: Any) -> Any:
    if not index.size:
        return np.zeros_like(input, shape=shape, dtype=kind, order="C")
    wide, table = index if index.ndim else index[None], shape or (1,)
    found = summed_along(input.reshape(wide.shape), wide, axis_of(dim, len(table)), table, kind)
    return found if shape else found.reshape(shape)


embed_gather = operation(
    "embed_gather",
    _embed_gather,
    tensors="input index",
    grad={"input": lambda F, g, dim, index: F.gather(g, dim, index)},
    samples=lambda make: [
        sample(make(2, 3), 0, np.array([[0, 2, 2], [1, 0, 0]]), (3, 4), np.dtype(np.float64)),
    ],
    doc="Zeros of a shape, with values added where the indices name along a dimension.",
)  # fmt: skip


@native
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None
) -> Tensor:
    """As `gather`, with input and indices broadcast; without `dim`, both count as flat."""
    if dim is None:
        found: Tensor = gather(flatten(input), 0, flatten(indices), out=out)
        return found
    shape, wanted = input._array.shape, indices._array.shape
    if len(shape) != len(wanted):
        raise refused(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(shape)} dimensions for input, and {len(wanted)} dimensions for indices"
        )
    if indices._array.dtype.kind != "i":
        raise errors.DtypeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{kind_name(indices._array.dtype)}",
            [(this_place(), "called here")],
        )
    axis = axis_of(dim, len(shape))
    both = [tuple(1 if k == axis else n for k, n in enumerate(sizes)) for sizes in (shape, wanted)]
    together = np.broadcast_shapes(*both)

    def with_size(size: int) -> tuple[int, ...]:
        return (*together[:axis], size, *together[axis + 1 :])

    wide = broadcast_to(input, with_size(shape[axis]))
    # Indices count round the dimension, as PyTorch has it here.
    chosen = broadcast_to(
        wrap(np.remainder(indices._array, max(shape[axis], 1)), None), with_size(wanted[axis])
    )
    result: Tensor = gather(wide, axis, chosen, out=out)
    return result


# --- positions in the flat tensor ----------------------------------------------------------------


def check_flat(index: Any, size: int) -> Any:
    """Flat indices counted from the front, checked."""
    if index.__class__ is ndarray and index.size:
        low, high = int(index.min()), int(index.max())
        if low < -size or high >= size:
            wrong = low if low < -size else high
            raise errors.IndexOutOfRange(
                f"out of range: tried to access index {wrong} on a tensor of {size} elements.",
                [(this_place(), "called here")],
            )
    return index


def _take(input: Any, index: Any) -> Any:
    if index.dtype.kind != "i" or index.dtype.itemsize != 8:
        raise errors.DtypeError(
            f"take(): Expected a long tensor for index, but got {kind_name(index.dtype)}",
            [(this_place(), "called here")],
        )
    if not input.size and index.size:
        raise errors.InvalidIndex(
            "take(): tried to take from an empty tensor", [(this_place(), "called here")]
        )
    return np.take(input.reshape(-1), check_flat(index, input.size))


take = operation(
    "take",
    _take,
    tensors="input index",
    grad={
        "input": lambda F, g, index, input_shape, input_dtype: F.embed_take(
            g, index, input_shape, input_dtype
        )
    },
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [sample(make(2, 3), np.array([[0, 5], [-1, 2]]))],
    doc="""The elements at some positions of the flat tensor.

    >>> import lamina
    >>> lamina.take(lamina.tensor([[1, 2], [3, 4]]), lamina.tensor([0, 3]))
    tensor([1, 4])
    """,
)


def _embed_take(input: Any, index: Any, shape: Any, kind: Any) -> Any:
    base = np.zeros_like(input, shape=shape, dtype=kind, order="C")
    add_at(base, np.where(index < 0, index + math.prod(shape), index), input)
    return base


embed_take = operation(
    "embed_take",
    _embed_take,
    tensors="input index",
    grad={"input": lambda F, g, index: F.take(g, index)},
    samples=lambda make: [
        sample(make(2, 2), np.array([[0, 5], [-1, 2]]), (2, 3), np.dtype(np.float64)),
    ],
    doc="Zeros of a shape, with values added at flat positions.",
)  # fmt: skip
