"""Sparse tensors in coordinate format: made of places and values, and taken apart again.

Gradients by sparse tensors are dense, so every rule here is that of the dense operation; what gives
a sparse tensor its values picks its own from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import called, this_place
from lamina.core.call import operation
from lamina.core.op import SAME
from lamina.core.positions import here
from lamina.core.tensor import Tensor, wrap
from lamina.devices.sparse import SparseArray, sparse_of
from lamina.ops.axes import axes_of
from lamina.ops.creation import zeros
from lamina.ops.data import as_tensor
from lamina.ops.making import checked_kind
from lamina.ops.product_checks import refuse

__all__ = ["sparse_coo_tensor"]

# --- operations --------------------------------------------------------------------------------


def _made(input: Any, indices: Any, size: Any) -> Any:
    return SparseArray(indices, input, size, False)


def _picked(input: Any, indices: Any) -> Any:
    return input[tuple(indices)]


def _placed(input: Any, indices: Any, size: Any) -> Any:
    return SparseArray(indices, input, size, True).dense()


_coo = operation(
    "sparse_coo",
    _made,
    grad={"input": lambda F, g, indices: F.sparse_picked(g, indices)},
    node_name="SparseCooTensorWithDimsAndTensorsBackward0",
    doc="A sparse tensor of values at places.",
)
operation(
    "sparse_picked",
    _picked,
    grad={"input": lambda F, g, input_shape, indices: F.sparse_placed(g, indices, input_shape)},
    doc="The elements at places.",
)
operation(
    "sparse_placed",
    _placed,
    grad={"input": lambda F, g, indices: F.sparse_picked(g, indices)},
    doc="Zeros with elements at places.",
)
_to_dense = operation(
    "to_dense", lambda input: input.dense(), grad={"input": SAME}, doc="All elements."
)
_to_sparse = operation(
    "to_sparse",
    lambda input: sparse_of(input),
    grad={"input": SAME},
    doc="Those that are not zero.",
)
_coalesce = operation(
    "coalesce", lambda input: input.coalesced(), grad={"input": SAME}, doc="No place twice."
)


def _masked(input: Any, indices: Any) -> Any:
    return SparseArray(indices, input[tuple(indices)], input.shape, True)


def _masked_rule(F: Any, g: Any, input_shape: Any, indices: Any) -> Any:
    return F.sparse_placed(F.sparse_picked(g, indices), indices, input_shape)


_sparse_mask = operation(
    "sparse_mask", _masked, grad={"input": _masked_rule}, doc="The elements at a mask's places."
)


def _values_rule(F: Any, g: Any, input_shape: Any, indices: Any) -> Any:
    return F.sparse_placed(g, indices, input_shape)


_values = operation(
    "values",
    lambda input, indices: input.values,
    grad={"input": _values_rule},
    node_name="ValuesBackward0",
    doc="The kept elements.",
)

# --- making ------------------------------------------------------------------------------------


def sparse_coo_tensor(
    *args: Any, size: Any = None, dtype: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None, indices: Any = None, values: Any = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor: elements at some places, zeros elsewhere.

    Call forms: `sparse_coo_tensor(indices, values, size=None)` and `sparse_coo_tensor(size)`.

    Args:
        indices: The places (dimensions, count), a column each. Where one stands twice, its
            elements are added up.
        values: The elements (count,); gradients flow to them.
        size: The shape; the smallest that holds all places if None.
        dtype: The elements' dtype; that of `values` if None.
        device: Only the CPU has sparse tensors.
        pin_memory: Accepted; nothing is done.
        requires_grad: Whether a gradient will be asked for.
        check_invariants: Accepted: places are always checked.
        is_coalesced: Whether places are known to be in order, none of them twice.

    Raises:
        InvalidArgument: Places outside the shape, or another number of values than of places.
        NotSupported: Values with dimensions of their own.

    >>> import lamina
    >>> x = lamina.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    parts = [*args, *[part for part in (indices, values) if part is not None]]
    if len(parts) < 2:
        shape = parts[0] if parts else size
        parts = [zeros(len(shape), 0, dtype=dtypes.int64), zeros(0, dtype=checked_kind(dtype))]
        size = shape
    elif len(parts) == 3:
        size = parts[2]
    places = as_tensor(parts[0], dtype=dtypes.int64)._array
    elements = as_tensor(parts[1], dtype=dtype)
    shape = _checked_shape(places, elements, size)
    made: Tensor = _coo(elements, places, shape)
    if is_coalesced:
        made._array.is_coalesced = True
    return made.requires_grad_() if requires_grad else made


def _checked_shape(places: Any, elements: Tensor, size: Any) -> tuple[int, ...]:
    """The shape of the whole; raises where places and elements do not fit."""
    if places.ndim != 2:
        raise refuse(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if elements.ndim != 1:
        raise errors.NotSupported(
            "sparse tensors hold numbers: values must have one dimension, not "
            f"{elements.ndim} (hybrid tensors are not there)",
            [(this_place(), "made here")],
        )
    if places.shape[1] != elements._array.shape[0]:
        raise refuse(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{places.shape[1]}, nnz from values: {elements._array.shape[0]}"
        )
    if places.size and places.min() < 0:
        dim = int(np.argwhere(places < 0)[0][0])
        raise refuse(f"found negative index {places.min()} for dim {dim}")
    if size is None:
        return tuple(int(row.max()) + 1 if row.size else 0 for row in places)
    shape = tuple(int(length) for length in size)
    if len(shape) != places.shape[0]:
        raise refuse(
            f"number of dimensions must be sparse_dim ({places.shape[0]}) + dense_dim (0), but got "
            f"{len(shape)}"
        )
    for dim, (row, length) in enumerate(zip(places, shape, strict=True)):
        if row.size and row.max() >= length:
            raise refuse(
                f"size is inconsistent with indices: for dim {dim}, size is {length} but found "
                f"index {row.max()}"
            )
    return shape


# --- taking apart ------------------------------------------------------------------------------


def _sparse(tensor: Tensor, name: str) -> SparseArray:
    """The array of a sparse tensor; raises for another."""
    if not isinstance(tensor._array, SparseArray):
        raise refuse(
            f"{name} expected sparse coordinate tensor layout but got Strided",
            f"`{called(tensor).strip('`')}.to_sparse()` makes a sparse tensor",
        )
    return tensor._array


def _check_coalesced(array: SparseArray, name: str) -> None:
    if not array.is_coalesced:
        raise refuse(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first",
            f"write `.coalesce().{name}()`",
        )


def coalesce(self: Tensor) -> Tensor:
    """The same tensor with its places in order, and none of them twice."""
    result: Tensor = self if _sparse(self, "coalesce").is_coalesced else _coalesce(self)
    return result


def is_coalesced(self: Tensor) -> bool:
    """Whether places are in order, and none stands twice."""
    return _sparse(self, "is_coalesced").is_coalesced


def indices(self: Tensor) -> Tensor:
    """The places (dimensions, count) of the kept elements, of a coalesced tensor."""
    _check_coalesced(_sparse(self, "indices"), "indices")
    return all_indices(self)


def values(self: Tensor) -> Tensor:
    """The kept elements (count,), of a coalesced tensor."""
    _check_coalesced(_sparse(self, "values"), "values")
    return all_values(self)


def all_indices(self: Tensor) -> Tensor:
    """The places, as they stand: perhaps twice."""
    return wrap(_sparse(self, "_indices").indices, (*here(), "_indices", None, None))


def all_values(self: Tensor) -> Tensor:
    """The kept elements, as they stand."""
    result: Tensor = _values(self, _sparse(self, "_values").indices)
    return result


def count_kept(self: Tensor) -> int:
    """The number of kept elements."""
    return int(_sparse(self, "_nnz").values.size)


def sparse_dim(self: Tensor) -> int:
    """The number of dimensions that places have: all of them."""
    return _sparse(self, "sparse_dim").ndim


def dense_dim(self: Tensor) -> int:
    """The number of dimensions that kept elements have: none."""
    return 0 if self.is_sparse else self.ndim


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """All elements of a sparse tensor; a dense one is returned as it is."""
    whole: Tensor = _to_dense(self) if self.is_sparse else self
    return whole if dtype is None else whole.to(dtype)


def to_sparse(self: Tensor, *args: Any, layout: Any = None, **options: Any) -> Tensor:
    """The elements that are not zero, as a sparse tensor.

    Raises:
        NotSupported: Another layout than coordinates, or dense dimensions.
    """
    if self.is_sparse:
        return self
    other_layout = "coo" not in str(layout or "coo")
    if not self.ndim or options or other_layout or (args and args[0] != self.ndim):
        raise errors.NotSupported(
            "only the layout torch.sparse_coo is there, for one dimension or more, without dense "
            "dimensions",
            [(this_place(), "called here")],
        )
    result: Tensor = _to_sparse(self)
    return result


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse tensor, as a sparse tensor.

    Raises:
        InvalidArgument: A mask that is not sparse, or of another shape.
    """
    array = _sparse(mask, "sparse_mask").coalesced()
    if array.shape != tuple(self.shape):
        raise refuse(f"sparse_mask(): shapes {list(self.shape)} and {list(array.shape)} differ")
    result: Tensor = _sparse_mask(to_dense(self), array.indices)
    return result


# --- sums and products -------------------------------------------------------------------------


@takes_tensors
def sparse_sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all elements, or a sparse tensor of sums along dimensions."""
    _sparse(input, "sum")
    input = input if dtype is None else input.to(dtype)
    if dim is None:
        return all_values(input).sum()
    dims = (dim,) if isinstance(dim, int) else dim
    total = to_dense(input).sum(axes_of(dims, input.ndim))
    return to_sparse(total) if total.ndim else total


@takes_tensors
def sparse_mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of two matrices, of which one is sparse or both.

    >>> import lamina
    >>> x = lamina.sparse_coo_tensor([[0], [1]], [3.0], (2, 2))
    >>> lamina.sparse.mm(x, lamina.ones(2, 1))
    tensor([[3.],
            [0.]])
    """
    if reduce != "sum":
        raise errors.NotSupported("sparse.mm: only reduce='sum' is there")
    return mat1.mm(mat2)
