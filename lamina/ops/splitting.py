"""Splitting a tensor into views of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.arguments import native, whole_numbers
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import LINEAR, offer, raw, traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.axes import axis_of
from lamina.ops.windows import slice_dim

__all__ = [
    "chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
]  # fmt: skip


def _view_of_outputs(F: Any) -> Callable[..., Any]:
    """One of the views that an operation with several makes: a step of `views.replay`."""

    def one(input: Any, name: str, args: Any, index: int) -> Any:
        return getattr(F, name)(input, *args)[index]

    return one


offer("view_of_outputs", _view_of_outputs(raw), _view_of_outputs(traced))


def _parts(input: Any, axis: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    before = (slice(None),) * axis
    found, start = [], 0
    for size in sizes:
        found.append(input[(*before, slice(start, start + size))])
        start += size
    return tuple(found)


def _equal_sizes(length: int, size: int) -> list[int]:
    if size == 0 and length == 0:
        return [0]
    count = max(-(-length // size), 1)
    return [size] * (count - 1) + [length - size * (count - 1)]


def _split(tensor: Any, split_size: int, dim: int = 0) -> Any:
    if not tensor.ndim:
        raise errors.InvalidArgument(
            "split expects at least a 1-dimensional tensor", [(this_place(), "called here")]
        )
    axis = axis_of(dim, tensor.ndim)
    length = tensor.shape[axis]
    if split_size < 0:
        raise errors.InvalidArgument(
            f"split expects split_size be non-negative, but got split_size={split_size}",
            [(this_place(), "called here")],
        )
    if split_size == 0 and length:
        raise errors.InvalidArgument(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}",
            [(this_place(), "called here")],
        )
    return _parts(tensor, axis, _equal_sizes(length, split_size))


def parts_of(g: Any) -> list[Any]:
    """The gradients of the outputs; that of a single output comes by itself."""
    return list(g) if isinstance(g, tuple | list) else [g]


def _joined(F: Any, parts: Any, shape: tuple[int, ...], sizes: Sequence[int], dim: int) -> Any:
    """The gradients of parts put together; parts without a gradient count as zero."""
    axis = axis_of(dim, len(shape))
    parts = parts_of(parts)
    known = [part is not None for part in parts]
    if all(known):
        return F.cat(list(parts), axis)
    if sum(known) == 1:
        place = known.index(True)
        start = sum(sizes[:place])
        steps = (("slice", (axis, start, start + sizes[place], 1)),)
        return F.embed_view(parts[place], shape, _kind(parts[place]), steps)
    some = parts[known.index(True)]
    filled = []
    for part, size in zip(parts, sizes, strict=True):
        if part is None:
            shape_of_part = (*shape[:axis], size, *shape[axis + 1 :])
            nothing = F.slice(some, axis, 0, 0, 1)
            part = F.embed_view(nothing, shape_of_part, _kind(some), (("slice", (axis, 0, 0, 1)),))
        filled.append(part)
    return F.cat(filled, axis)


def _kind(value: Any) -> Any:
    dtype = value.dtype
    return dtype if isinstance(dtype, np.dtype) else dtype.numpy


_split_grad = {
    "tensor": lambda F, g, tensor_shape, split_size, dim: _joined(
        F, g, tensor_shape, _equal_sizes(tensor_shape[dim], split_size), dim
    )
}
split_equally = operation(
    "split",
    _split,
    grad=_split_grad,
    is_view=True,
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [sample(make(5, 2), 2, 0), sample(make(2, 4), 2, -1)],
    doc="Views of parts of equal size along a dimension; the last may be smaller.",
)


def _split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        raise errors.InvalidArgument(
            "split expects at least a 1-dimensional tensor", [(this_place(), "called here")]
        )
    length = input.shape[axis]
    if any(size < 0 for size in split_sizes):
        raise errors.InvalidArgument(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={dims(split_sizes)}",
            [(this_place(), "called here")],
        )
    if sum(split_sizes) != length:
        raise errors.InvalidArgument(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size "
            f"at dimension {axis}), but got split_sizes={dims(split_sizes)}",
            [(this_place(), "called here")],
        )
    return _parts(input, axis, split_sizes)


_with_sizes_grad = {
    "input": lambda F, g, input_shape, split_sizes, dim: _joined(
        F, g, input_shape, split_sizes, dim
    )
}
_with_sizes = operation(
    "split_with_sizes",
    _split_with_sizes,
    grad=_with_sizes_grad,
    is_view=True,
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [sample(make(5, 2), (2, 0, 3), 0), sample(make(2, 4), (1, 3), -1)],
    doc="Views of parts of the given sizes along a dimension.",
)


@takes_numpy_names
def split_with_sizes(
    input: Tensor, split_sizes: Any, dim: int = 0, **numpy_names: Any
) -> tuple[Tensor, ...]:
    """Views of parts of the given sizes along a dimension."""
    if numpy_names or split_sizes is MISSING:
        return again(split_with_sizes, numpy_names, input, split_sizes, dim)
    found: tuple[Tensor, ...] = _with_sizes(
        input, whole_numbers("split_with_sizes", "split_sizes", split_sizes), dim
    )
    return found


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of parts along a dimension: of one size (the last may be smaller), or of given sizes.

    >>> import lamina
    >>> lamina.split(lamina.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if isinstance(split_size_or_sections, tuple | list):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    found: tuple[Tensor, ...] = split_equally(
        tensor, whole_numbers("split", "split_size", split_size_or_sections)[0], dim
    )
    return found


def split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of parts along a dimension: of one size, or of given sizes."""
    return split(self, split_size, dim)


@native
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `chunks` parts along a dimension, or of fewer if they don't come out even.

    >>> import lamina
    >>> lamina.chunk(lamina.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if chunks <= 0:
        raise errors.InvalidArgument(
            f"chunk expects `chunks` to be greater than 0, got: {chunks}",
            [(this_place(), "called here")],
        )
    shape = input._array.shape
    if not shape:
        raise errors.InvalidArgument(
            "chunk expects at least a 1-dimensional tensor", [(this_place(), "called here")]
        )
    length = shape[axis_of(dim, len(shape))]
    if not length:
        return split_with_sizes(input, [0] * chunks, dim)
    return split(input, -(-length // chunks), dim)


@native
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of parts along a dimension: a number of nearly equal ones, or cut at given indices."""
    shape = input._array.shape
    if not shape:
        raise errors.InvalidArgument(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
            [(this_place(), "called here")],
        )
    length = shape[axis_of(dim, len(shape))]
    where = indices_or_sections
    if isinstance(where, Tensor):
        where = where.tolist()
    if isinstance(where, int):
        if where <= 0:
            raise errors.InvalidArgument(
                f"number of sections must be larger than 0, got {where}",
                [(this_place(), "called here")],
            )
        small, larger = divmod(length, where)
        cuts = [place * small + min(place, larger) for place in range(where + 1)]
    else:
        cuts = [0, *where, length]
    return tuple(slice_dim(input, dim, start, end, 1) for start, end in pairwise(cuts))


@native
def tensor_split_method(self: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of parts along a dimension: a number of nearly equal ones, or cut at given indices."""
    return tensor_split(self, indices_or_sections, dim)


def _split_at(name: str, least: int, dim: int, input: Tensor, sections: Any) -> tuple[Tensor, ...]:
    shape = input._array.shape
    if len(shape) < least:
        raise errors.InvalidArgument(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
            f"with {len(shape)} dimensions!",
            [(this_place(), "called here")],
        )
    if isinstance(sections, int) and (sections == 0 or shape[dim] % sections):
        raise errors.InvalidArgument(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{shape[dim]} is not divisible by the split_size {sections}!",
            [(this_place(), "called here")],
        )
    return tensor_split(input, sections, dim)


@native
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views of parts side by side: along dimension 1, or 0 for a vector."""
    dim = 0 if input._array.ndim == 1 else 1
    return _split_at("hsplit", 1, dim, input, indices_or_sections)


@native
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views of parts one below the other."""
    return _split_at("vsplit", 2, 0, input, indices_or_sections)


@native
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views of parts along dimension 2."""
    return _split_at("dsplit", 3, 2, input, indices_or_sections)


def _unbind(input: Any, dim: int = 0) -> Any:
    if not input.ndim:
        raise blame.dim_out_of_range(dim, 0)
    axis = axis_of(dim, input.ndim)
    before = (slice(None),) * axis
    return tuple([input[(*before, place, ...)] for place in range(input.shape[axis])])


def _unbind_grad(F: Any, g: Any, input_shape: Any, dim: int) -> Any:
    g = parts_of(g)
    known = [part is not None for part in g]
    if sum(known) == 1:
        place = known.index(True)
        return F.embed_view(g[place], input_shape, _kind(g[place]), (("select", (dim, place)),))
    some = g[known.index(True)]
    return F.stack([F.zeros_like(some) if part is None else part for part in g], dim)


unbind = operation(
    "unbind",
    _unbind,
    grad={"input": _unbind_grad},
    is_view=True,
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [sample(make(3, 2)), sample(make(2, 3), -1)],
    doc="""Views of all indices of a dimension, which is then gone.

    >>> import lamina
    >>> lamina.unbind(lamina.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """,
)


def iterate(self: Tensor) -> Any:
    """An iterator over the first dimension: views of its indices."""
    if not self._array.ndim:
        raise errors.ZeroDimensional(
            "iteration over a 0-d tensor", [(this_place(), "iterated here")]
        )
    return iter(unbind(self, 0))


# --- splitting without the tie of views ----------------------------------------------------------

_unsafe_split = operation(
    "unsafe_split",
    _split,
    grad=_split_grad,
    halves_in_float=False,
    samples=lambda make: [sample(make(5, 2), 2, 0)],
    doc="Parts of equal size that share memory with the tensor, but don't know of it.",
)
_unsafe_with_sizes = operation(
    "unsafe_split_with_sizes",
    _split_with_sizes,
    grad=_with_sizes_grad,
    halves_in_float=False,
    samples=lambda make: [sample(make(5, 2), (2, 3), 0)],
    doc="Parts of the given sizes that share memory with the tensor, but don't know of it.",
)


@native
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As `split`, for parts of which nobody else uses the memory: they may be changed in place."""
    found = _unsafe_split(tensor, int(split_size), dim)
    return found if isinstance(found, tuple) else (found,)


@native
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """As `split_with_sizes`, for parts of which nobody else uses the memory."""
    found = _unsafe_with_sizes(
        input, whole_numbers("split_with_sizes", "split_sizes", split_sizes), dim
    )
    return found if isinstance(found, tuple) else (found,)


@native
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As `chunk`, for parts of which nobody else uses the memory."""
    shape = input._array.shape
    length = shape[axis_of(dim, len(shape))] if shape else 0
    if chunks <= 0 or not length:
        return chunk(input, chunks, dim)
    return unsafe_split(input, -(-length // chunks), dim)
