"""Copies in which elements are turned round, or put on diagonals and triangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtypes
from lamina.core.arguments import native, takes_tensors
from lamina.core.call import operation
from lamina.core.fast_moves import moving
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import PROMOTE
from lamina.core.positions import here
from lamina.core.samples import sample
from lamina.core.tensor import Tensor, wrap
from lamina.devices import CPU, backend_of
from lamina.ops.axes import axes_of, axis_of, given, rows_first, sizes_of
from lamina.ops.indexing_rules import refused
from lamina.ops.joining import at_least
from lamina.ops.making import place_of_device
from lamina.ops.shape import reshape
from lamina.ops.windows import diagonal_copy

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "diag", "diag_embed",
    "diagflat", "flip", "fliplr", "flipud", "roll", "rot90", "tril", "tril_indices", "triu",
    "triu_indices",
]  # fmt: skip


# --- turning round -------------------------------------------------------------------------------


def _flip(input: Any, dims: Any) -> Any:
    axes = axes_of(dims, input.ndim)
    if not axes or not input.ndim:
        return input.copy("K")
    index = [slice(None)] * input.ndim
    for axis in axes:
        index[axis] = slice(None, None, -1)
    return input[tuple(index)].copy("C")


flip_op = moving(
    "flip",
    _flip,
    grad=lambda F, g, dims: F.flip(g, dims),
    is_view=False,
    samples=lambda make: [
        sample(make(2, 3), (0,)),
        sample(make(2, 3), (0, -1)),
        sample(make(2), ()),
    ],
    doc="A copy with the order of some dimensions reversed.",
)


@takes_numpy_names
def flip(input: Tensor, dims: Any, **numpy_names: Any) -> Tensor:
    """A copy with the order of some dimensions reversed.

    >>> import lamina
    >>> lamina.flip(lamina.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    if numpy_names or dims is MISSING:
        return again(flip, numpy_names, input, dims)
    return flip_op(input, sizes_of((dims,), "dims"))


def flip_method(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    """A copy with the order of some dimensions reversed."""
    return flip_op(self, sizes_of(given(dims, named, "dims"), "dims"))


@native
def fliplr(input: Tensor) -> Tensor:
    """A copy with the order of dimension 1 reversed: left and right exchanged."""
    if input._array.ndim < 2:
        raise refused("Input must be >= 2-d.")
    return flip_op(input, (1,))


@native
def flipud(input: Tensor) -> Tensor:
    """A copy with the order of dimension 0 reversed: up and down exchanged."""
    if input._array.ndim < 1:
        raise refused("Input must be >= 1-d.")
    return flip_op(input, (0,))


def _roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
    if not shifts:
        raise refused("`shifts` required")
    if not dims and len(shifts) == 1:
        return np.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    if len(shifts) != len(dims):
        raise refused(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return np.roll(input, shifts, tuple(axis_of(dim, input.ndim) for dim in dims)).copy("C")


roll_op = moving(
    "roll",
    _roll,
    grad=lambda F, g, shifts, dims: F.roll(g, tuple(-shift for shift in shifts), dims),
    is_view=False,
    samples=lambda make: [
        sample(make(2, 3), (1,), ()), sample(make(2, 3), (1, -2), (0, 1)),
        sample(make(4), (5,), (0,)),
    ],
    doc="A copy with elements shifted round along dimensions.",
)  # fmt: skip


@takes_numpy_names
def roll(input: Tensor, shifts: Any, dims: Any = (), **numpy_names: Any) -> Tensor:
    """A copy with elements shifted along dimensions; what leaves at one end comes in at the other.

    >>> import lamina
    >>> lamina.roll(lamina.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    if numpy_names or shifts is MISSING:
        return again(roll, numpy_names, input, shifts, dims)
    dims = () if dims is None else dims
    return roll_op(input, sizes_of((shifts,), "shifts"), sizes_of((dims,), "dims"))


def _rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    if len(dims) != 2:
        raise refused(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise refused(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (axis_of(dim, input.ndim) for dim in dims)
    if first == second:
        raise refused(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return np.rot90(input, k, (first, second)).copy("K")


rot90_op = moving(
    "rot90",
    _rot90,
    grad=lambda F, g, k, dims: F.rot90(g, -k, dims),
    is_view=False,
    samples=lambda make: [sample(make(2, 3), 1, (0, 1)), sample(make(2, 3, 2), -1, (0, 2))],
    doc="A copy turned by `k` right angles in the plane of two dimensions.",
)


@native
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """A copy turned by `k` right angles in the plane of two dimensions.

    >>> import lamina
    >>> lamina.rot90(lamina.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    return rot90_op(input, k, tuple(dims))


# --- triangles and diagonals ---------------------------------------------------------------------


def _triangle(name: str, function: Any) -> Any:
    def kernel(input: Any, diagonal: int = 0) -> Any:
        if input.ndim < 2:
            raise refused(f"{name}: input tensor must have at least 2 dimensions")
        return rows_first(function(input, diagonal))

    return kernel


tril = moving(
    "tril",
    _triangle("tril", np.tril),
    grad=lambda F, g, diagonal: F.tril(g, diagonal),
    is_view=False,
    samples=lambda make: [sample(make(3, 4)), sample(make(2, 3, 3), -1)],
    doc="""A copy with zeros above a diagonal.

    >>> import lamina
    >>> lamina.tril(lamina.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """,
)
triu = moving(
    "triu",
    _triangle("triu", np.triu),
    grad=lambda F, g, diagonal: F.triu(g, diagonal),
    is_view=False,
    samples=lambda make: [sample(make(3, 4)), sample(make(2, 3, 3), 1)],
    doc="""A copy with zeros below a diagonal.

    >>> import lamina
    >>> lamina.triu(lamina.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """,
)


def _indices(
    name: str, function: Any, row: int, col: int, offset: int, dtype: Any, device: Any
) -> Tensor:
    for word, length in (("row", row), ("col", col)):
        if length < 0:
            raise refused(f"{word} must be non-negative, got{length}")
    kind = (dtype or dtypes.int64).numpy
    places = np.stack(function(row, offset, col)).astype(kind)
    place = place_of_device(device)
    found = places if place is CPU else backend_of(place).constant(places)
    return wrap(found, (*here(), name, None, None))


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Row and column indices of the lower triangle of a matrix, row by row.

    >>> import lamina
    >>> lamina.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _indices("tril_indices", np.tril_indices, row, col, offset, dtype, device)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Row and column indices of the upper triangle of a matrix, row by row."""
    return _indices("triu_indices", np.triu_indices, row, col, offset, dtype, device)


def _diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    if not input.ndim:
        raise refused("diag_embed() cannot be applied to a 0-dim tensor.")
    ndim = input.ndim + 1
    first, second = axis_of(dim1, ndim), axis_of(dim2, ndim)
    if first == second:
        raise refused(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = input.shape[-1]
    size = length + abs(offset)
    base = np.zeros_like(input, shape=(*input.shape[:-1], size * size), order="C")
    # In a flat square matrix the elements of a diagonal are equally far apart.
    start = offset if offset >= 0 else -offset * size
    base[..., start : start + length * (size + 1) : size + 1] = input
    square = base.reshape((*input.shape[:-1], size, size))
    others = iter(range(ndim - 2))
    order = [
        ndim - 2 if k == first else ndim - 1 if k == second else next(others) for k in range(ndim)
    ]
    return rows_first(square.transpose(order))


diag_embed = moving(
    "diag_embed",
    _diag_embed,
    grad=lambda F, g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2),
    is_view=False,
    samples=lambda make: [sample(make(3)), sample(make(2, 3), 1, 0, 2), sample(make(2, 3), -1)],
    doc="""Matrices with the elements of the last dimension on a diagonal.

    >>> import lamina
    >>> lamina.diag_embed(lamina.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """,
)


@native
def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix (a copy).

    >>> import lamina
    >>> lamina.diag(lamina.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = input._array.ndim
    if ndim == 1:
        return diag_embed(input, diagonal, 0, 1, out=out)
    if ndim == 2:
        return diagonal_copy(input, diagonal, 0, 1, out=out)
    raise refused(f"diag(): Supports 1D or 2D tensors. Got {ndim}D", ["use diagonal or diag_embed"])


@native
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on its diagonal."""
    return diag_embed(reshape(input, (-1,)), offset, 0, 1)


def _block_diag(tensors: Any) -> Any:
    shapes = _block_shapes([part.shape for part in tensors])
    base = np.zeros_like(
        tensors[0], shape=(sum(rows for rows, _ in shapes), sum(columns for _, columns in shapes))
    )
    top = left = 0
    for part, (rows, columns) in zip(tensors, shapes, strict=True):
        base[top : top + rows, left : left + columns] = part
        top, left = top + rows, left + columns
    return base


def _block_shapes(shapes: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    for place, shape in enumerate(shapes):
        if len(shape) > 2:
            raise refused(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {place} "
                f"has {len(shape)} dimensions"
            )
    return [(1, math.prod(shape)) if len(shape) < 2 else (shape[0], shape[1]) for shape in shapes]


def _block_grads(F: Any, g: Any, tensors_shape: Any, tensors_dtype: Any) -> list[Any]:
    found = []
    top = left = 0
    for shape, kind, (rows, columns) in zip(
        tensors_shape, tensors_dtype, _block_shapes(tensors_shape), strict=True
    ):
        part = F.slice(F.slice(g, 0, top, top + rows, 1), 1, left, left + columns, 1)
        found.append(F.cast_like_input(F.reshape(part, shape), kind))
        top, left = top + rows, left + columns
    return found


_block_op = operation(
    "block_diag",
    _block_diag,
    tensors="*tensors",
    grad={"tensors": _block_grads},
    dtypes=PROMOTE,
    halves_in_float=False,
    samples=lambda make: [sample([make(2, 3), make(2), make()])],
    doc="A matrix with the given ones along its diagonal.",
)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given ones along its diagonal, and zeros elsewhere."""
    if not tensors:
        return wrap(
            np.zeros((1, 0), dtypes.get_default_dtype().numpy), (*here(), "block_diag", None, None)
        )
    found: Tensor = _block_op(list(tensors))
    return found


# --- at least so many dimensions -----------------------------------------------------------------


def _at_least(ndim: int, name: str) -> Any:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return at_least(tensors[0], ndim)
        if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
            tensors = tuple(tensors[0])
        return tuple(at_least(tensor, ndim) for tensor in tensors)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Each tensor with dimensions of size 1 added until it has {ndim}."
    return takes_tensors(function)


atleast_1d = _at_least(1, "atleast_1d")
atleast_2d = _at_least(2, "atleast_2d")
atleast_3d = _at_least(3, "atleast_3d")
