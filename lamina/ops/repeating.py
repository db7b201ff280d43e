"""Repeating elements: repeat, tile, grids, products and combinations."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native, takes_tensors
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.fast_moves import moving
from lamina.core.layouts import contiguous_format
from lamina.core.op import traced
from lamina.core.positions import here
from lamina.core.samples import sample
from lamina.core.tensor import Tensor, wrap
from lamina.devices import device_of, to_device
from lamina.ops.axes import axis_of, given, sizes_of
from lamina.ops.broadcasting import broadcast_to
from lamina.ops.constants import constant_like
from lamina.ops.indexing_rules import refused
from lamina.ops.joining import stack
from lamina.ops.memory import clone
from lamina.ops.shape import flatten, reshape, unsqueeze, view

__all__ = ["cartesian_prod", "combinations", "meshgrid", "repeat_interleave", "tile"]


def _interleaved(shape: Sequence[int], repeats: Sequence[int]) -> tuple[list[int], list[int]]:
    """Shapes with a dimension of its own for each repetition: of size 1, and of full size."""
    padded = [1] * (len(repeats) - len(shape)) + list(shape)
    narrow = [length for size in padded for length in (1, size)]
    wide = [length for r, size in zip(repeats, padded, strict=True) for length in (r, size)]
    return narrow, wide


def _repeat(input: Any, repeats: Any) -> Any:
    if len(repeats) < input.ndim:
        raise refused(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    narrow, wide = _interleaved(input.shape, repeats)
    sizes = [r * n for r, n in zip(wide[::2], wide[1::2], strict=True)]
    if any(r < 0 for r in repeats):
        raise errors.NegativeSize(
            f"Trying to create tensor with negative dimension {min(sizes)}: {dims(sizes)}",
            [(this_place(), "called here")],
        )
    copies = np.broadcast_to(input.reshape(narrow), wide)
    return copies.copy("C").reshape(sizes)


def _repeat_grad(F: Any, g: Any, input_shape: Any, repeats: Any) -> Any:
    narrow, wide = _interleaved(input_shape, repeats)
    return F.reshape(F.sum_to_size(F.reshape(g, tuple(wide)), tuple(narrow)), input_shape)


repeat_op = moving(
    "repeat",
    _repeat,
    grad=_repeat_grad,
    is_view=False,
    samples=lambda make: [
        sample(make(2, 3), (2, 1)), sample(make(3), (2, 2)), sample(make(2), (0,)),
        sample(make(), ()),
    ],
    doc="A copy repeated so many times along each dimension.",
)  # fmt: skip


def repeat(self: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """A copy repeated so many times along each dimension; further dimensions come first."""
    return repeat_op(self, sizes_of(given(repeats, named, "repeats"), "repeats"))


@native
def tile(input: Tensor, dims: Any) -> Tensor:
    """A copy repeated so many times along the last dimensions.

    >>> import lamina
    >>> lamina.tile(lamina.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    counts = sizes_of((dims,), "dims")
    return repeat_op(input, (1,) * (input._array.ndim - len(counts)) + counts)


def tile_method(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    """A copy repeated so many times along the last dimensions."""
    return tile(self, sizes_of(given(dims, named, "dims"), "dims"))


@native
def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated, one number of times or each its own, along a dimension.

    >>> import lamina
    >>> lamina.repeat_interleave(lamina.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return _indices_repeated(input)
    if isinstance(repeats, Tensor) and repeats._array.size == 1:
        repeats = int(repeats.item())
    if dim is None:
        input, dim = flatten(input), 0
    if not input._array.ndim:
        input = reshape(input, (1,))
    axis = axis_of(dim, input._array.ndim)
    shape = input._array.shape
    if isinstance(repeats, int):
        if repeats < 0:
            raise refused("Repeats must be non-negative")
        wide = (*shape[: axis + 1], repeats, *shape[axis + 1 :])
        copies = clone(broadcast_to(unsqueeze(input, axis + 1), wide), contiguous_format)
        return view(copies, (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]))
    if repeats._array.shape != (shape[axis],):
        raise refused(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._array.size} and input.size({axis}) = {shape[axis]}"
        )
    found: Tensor = traced.index_select(input, axis, _indices_repeated(repeats))
    return found


def _repeated(repeats: Any) -> Any:
    if repeats.dtype.kind not in "iu":
        raise refused("repeats has to be Long or Int tensor")
    if repeats.ndim != 1:
        raise refused("repeat_interleave only accept 1D vector as repeat")
    if repeats.size and int(repeats.min()) < 0:
        raise refused("repeats can not be negative")
    return np.repeat(constant_like(repeats, np.arange(len(repeats), dtype=repeats.dtype)), repeats)


_indices_repeated = operation(
    "repeated_indices",
    _repeated,
    samples=lambda make: [sample(make.integers(3, low=0, high=3))],
    doc="Each index as many times as the element there says.",
)


@takes_tensors
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each vector expanded along all others.

    >>> import lamina
    >>> rows, columns = lamina.meshgrid(lamina.tensor([1, 2]), lamina.tensor([3, 4]), indexing="ij")
    >>> rows
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    if not tensors:
        raise refused("meshgrid expects a non-empty TensorList")
    for tensor in tensors:
        if tensor._array.ndim > 1:
            raise refused(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: a tensor of "
                f"shape {dims(tensor._array.shape)}"
            )
    if len({device_of(tensor._array) for tensor in tensors}) > 1:
        places = " and ".join(dict.fromkeys(str(tensor.device) for tensor in tensors))
        raise errors.DeviceMismatch(
            f"torch.meshgrid expects all tensors to have the same device, but found {places}",
            [(this_place(), "called here")],
            ["move them to one device first: .to(device)"],
        )
    if indexing not in (None, "ij", "xy"):
        raise refused(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + str(indexing)
        )
    order = list(tensors)
    swapped = indexing == "xy" and len(order) >= 2
    if swapped:
        order[0], order[1] = order[1], order[0]
    shape = tuple(tensor._array.size for tensor in order)
    found = []
    for place, tensor in enumerate(order):
        placed = (1,) * place + (shape[place],) + (1,) * (len(shape) - place - 1)
        found.append(broadcast_to(view(tensor, placed), shape))
    if swapped:
        found[0], found[1] = found[1], found[0]
    return tuple(found)


@takes_tensors
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows."""
    for tensor in tensors:
        if tensor._array.ndim != 1:
            raise refused(f"Expect a 1D vector, but got shape {dims(tensor._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], 1)


@native
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose `r` elements of a vector, in order, as rows."""
    if input._array.ndim != 1:
        raise refused(f"Expect a 1D vector, but got shape {dims(input._array.shape)}")
    r = operator.index(r)
    if r < 0:
        raise refused(f"Expect a non-negative number, but got {r}")
    array = input._array
    if not r:
        return wrap(np.zeros_like(array, shape=(0,)), (*here(), "combinations", None, None))
    length = array.size
    places = np.indices((length,) * r)
    keep = np.ones((length,) * r, dtype=bool)
    for first, second in pairwise(places):
        keep &= first <= second if with_replacement else first < second
    mask = wrap(to_device(keep, input.device), None)
    grids = meshgrid(*[input] * r, indexing="ij")
    return stack([traced.masked_select(grid, mask) for grid in grids], 1)
