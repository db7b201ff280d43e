"""Joining tensors along a dimension, or along a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation, run
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import LINEAR, PROMOTE
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.axes import axis_of, rows_first
from lamina.ops.shape import reshape, unsqueeze

__all__ = [
    "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack",
    "vstack",
]  # fmt: skip

# --- joining -------------------------------------------------------------------------------------


def _is_skipped(shape: tuple[int, ...]) -> bool:
    """Whether `cat` leaves a tensor out: an empty one of one dimension fits to anything."""
    return shape == (0,)


def _cat(tensors: Any, dim: int = 0) -> Any:
    parts = [part for part in tensors if not _is_skipped(part.shape)]
    if not parts:
        return np.concatenate(tensors, axis=axis_of(dim, 1))
    if not parts[0].ndim:
        raise errors.ConcatenationMismatch(
            "zero-dimensional tensor (at position 0) cannot be concatenated",
            [(this_place(), "joined here")],
            ["use torch.stack for numbers"],
        )
    axis = axis_of(dim, parts[0].ndim)
    try:
        return rows_first(np.concatenate(parts, axis=axis))
    except ValueError:
        _check_joined([part.shape for part in tensors], axis)
        raise


def _check_joined(shapes: list[tuple[int, ...]], axis: int) -> None:
    """Say which tensor does not fit to the first one."""
    first = next(shape for shape in shapes if not _is_skipped(shape))
    for place, shape in enumerate(shapes):
        if _is_skipped(shape):
            continue
        if len(shape) != len(first):
            trouble = (
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
            if not shape:
                trouble = f"zero-dimensional tensor (at position {place}) cannot be concatenated"
            raise errors.ConcatenationMismatch(
                f"{trouble}: tensor number {place} in the list has shape {dims(shape)}",
                [(this_place(), "joined here")],
            )
        for k, (wanted, found) in enumerate(zip(first, shape, strict=True)):
            if k != axis and wanted != found:
                raise errors.ConcatenationMismatch(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{wanted} but got size {found} for tensor number {place} in the list. The "
                    f"shapes are {', '.join(map(dims, shapes))}",
                    [(this_place(), "joined here")],
                    [f"join them along dimension {k}, or bring dimension {k} to one size first"],
                )


def _cat_grads(F: Any, g: Any, tensors_shape: Any, tensors_dtype: Any, dim: int) -> list[Any]:
    found, start = [], 0
    axis = axis_of(dim, g.ndim)
    for shape, kind in zip(tensors_shape, tensors_dtype, strict=True):
        length = 0 if _is_skipped(shape) and g.ndim != 1 else shape[axis]
        part = F.slice(g, axis, start, start + length, 1)
        start += length
        if part.shape != shape:
            part = F.reshape(part, shape)
        found.append(_cast(F, part, kind))
    return found


def _cast(F: Any, part: Any, kind: Any) -> Any:
    dtype = part.dtype
    is_same = (dtype if isinstance(dtype, np.dtype) else dtype.numpy) == kind
    return part if is_same else F.cast_like_input(part, kind)


_cat_op = operation(
    "cat",
    _cat,
    tensors="*tensors",
    grad={"tensors": _cat_grads},
    dtypes=PROMOTE,
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [
        sample([make(2, 3), make(1, 3)], 0), sample([make(2, 3), make(2, 1), make(2, 2)], -1),
    ],
    doc="""The tensors joined along a dimension that they have.

    >>> import lamina
    >>> lamina.cat([lamina.tensor([1, 2]), lamina.tensor([3])])
    tensor([1, 2, 3])
    """,
)  # fmt: skip


@takes_numpy_names
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, **numpy_names: Any) -> Tensor:
    """The tensors joined along a dimension that they have.

    >>> import lamina
    >>> lamina.cat([lamina.tensor([1, 2]), lamina.tensor([3])])
    tensor([1, 2, 3])
    """
    if numpy_names or tensors is MISSING:
        return again(cat, numpy_names, tensors, dim, out)
    if isinstance(tensors, tuple | list) and not tensors:
        raise errors.InvalidValue(
            "torch.cat(): expected a non-empty list of Tensors", [(this_place(), "called here")]
        )
    found: Tensor = run(_cat_op.op, [tensors, dim], out)
    return found


@takes_numpy_names
def concat(
    tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, **numpy_names: Any
) -> Tensor:
    """The tensors joined along a dimension: another name of `cat`."""
    if numpy_names or tensors is MISSING:
        return again(concat, numpy_names, tensors, dim, out)
    return cat(tensors, dim, out=out)


@takes_numpy_names
def concatenate(
    tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, **numpy_names: Any
) -> Tensor:
    """The tensors joined along a dimension: NumPy's name of `cat`."""
    if numpy_names or tensors is MISSING:
        return again(concatenate, numpy_names, tensors, dim, out)
    return cat(tensors, dim, out=out)


def _stack(tensors: Any, dim: int = 0) -> Any:
    first = tensors[0].shape
    for place, part in enumerate(tensors):
        if part.shape != first:
            raise errors.ConcatenationMismatch(
                f"stack expects each tensor to be equal size, but got {dims(first)} at entry 0 and "
                f"{dims(part.shape)} at entry {place}",
                [(this_place(), "stacked here")],
            )
    axis = axis_of(dim, len(first) + 1)
    new_axis: tuple[Any, ...] = (slice(None),) * axis + (None, ...)
    return rows_first(np.concatenate([part[new_axis] for part in tensors], axis=axis))


def _stack_grads(F: Any, g: Any, tensors_dtype: Any, dim: int) -> list[Any]:
    return [_cast(F, p, kind) for p, kind in zip(F.unbind(g, dim), tensors_dtype, strict=True)]


_stack_op = operation(
    "stack",
    _stack,
    tensors="*tensors",
    grad={"tensors": _stack_grads},
    dtypes=PROMOTE,
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [sample([make(2, 3), make(2, 3)], -1), sample([make(), make()], 0)],
    doc="Tensors of one shape joined along a new dimension.",
)


@takes_numpy_names
def stack(
    tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, **numpy_names: Any
) -> Tensor:
    """Tensors of one shape joined along a new dimension.

    >>> import lamina
    >>> lamina.stack([lamina.tensor([1, 2]), lamina.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    if numpy_names or tensors is MISSING:
        return again(stack, numpy_names, tensors, dim, out)
    if isinstance(tensors, tuple | list):
        _listed(tensors, "stack")
    found: Tensor = run(_stack_op.op, [tensors, dim], out)
    return found


def at_least(tensor: Tensor, ndim: int) -> Tensor:
    """The tensor with new dimensions of size 1, so that it has `ndim` of them."""
    if not tensor._array.ndim:
        return reshape(tensor, (1,) * ndim)
    while tensor._array.ndim < ndim:
        # A matrix becomes a stack of columns; a vector becomes a row.
        tensor = unsqueeze(tensor, 2 if tensor._array.ndim == 2 else 0)
    return tensor


def _listed(tensors: Any, name: str) -> list[Tensor]:
    found = list(tensors)
    if not found:
        raise errors.InvalidArgument(
            f"{name} expects a non-empty TensorList", [(this_place(), "called here")]
        )
    return found


@takes_tensors
def hstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """The tensors joined side by side: vectors end to end, others along dimension 1."""
    parts = [at_least(x, 1) for x in _listed(tensors, "hstack")]
    return cat(parts, 0 if parts[0]._array.ndim == 1 else 1, out=out)


@takes_tensors
def vstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """The tensors joined one below the other: vectors count as rows."""
    return cat([at_least(x, 2) for x in _listed(tensors, "vstack")], 0, out=out)


@takes_tensors
def row_stack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """The tensors joined one below the other: another name of `vstack`."""
    return vstack(tensors, out=out)


@takes_tensors
def dstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """The tensors joined along dimension 2."""
    return cat([at_least(x, 3) for x in _listed(tensors, "dstack")], 2, out=out)


@takes_tensors
def column_stack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """The tensors joined along dimension 1: vectors count as columns."""
    parts = []
    for tensor in _listed(tensors, "column_stack"):
        if tensor._array.ndim <= 1:
            tensor = reshape(tensor, (tensor._array.size, 1))
        parts.append(tensor)
    return hstack(parts, out=out)
