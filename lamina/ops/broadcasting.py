"""Broadcasting: views that repeat elements without memory, and shapes that tensors share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import dims as listed
from lamina.core.blame.words import legacy_type, made_note, this_place
from lamina.core.fast_moves import moving
from lamina.core.layouts import Size
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.axes import given, sizes_of

__all__ = ["broadcast_shapes", "broadcast_tensors", "broadcast_to"]

# --- repeated elements that take no memory -------------------------------------------------------


def _expand(input: Any, size: Any) -> Any:
    shape = input.shape
    if shape == size:
        return input[...]
    wanted = _expanded_size(input, size)
    if input.__class__ is np.ndarray and input.flags.c_contiguous and input.size:
        # The same view as below, in 0.4 us instead of 2.5.
        extra = len(wanted) - len(shape)
        strides = [0 if n == 1 else s for n, s in zip(shape, input.strides, strict=True)]
        for axis, (old, new) in enumerate(zip(shape, wanted[extra:], strict=True)):
            if old == new:
                strides[axis] = input.strides[axis]
        return np.ndarray(wanted, input.dtype, input, 0, [0] * extra + strides)
    # NumPy makes such views read-only, to protect from writing to several elements at once; here
    # whoever writes looks for that, and a part of the view (a row) may well be written to.
    view = np.broadcast_to(input, wanted)
    if input.flags.writeable:
        view.flags.writeable = True
    return view


def _expanded_size(input: Any, size: Any) -> tuple[int, ...]:
    shape = input.shape
    extra = len(size) - len(shape)
    if extra < 0:
        word = legacy_type(dtypes.from_numpy(input.dtype))
        raise errors.ShapeMismatch(
            f"expand({word}{{{listed(shape)}}}, size={listed(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)})",
            [(this_place(), "called here")],
        )
    wanted = list(size)
    for place, length in enumerate(size):
        old = shape[place - extra] if place >= extra else None
        if length == -1:
            if old is None:
                raise errors.ShapeMismatch(
                    f"The expanded size of the tensor ({length}) isn't allowed in a leading, "
                    f"non-existing dimension {place}",
                    [(this_place(), "called here")],
                )
            wanted[place] = old
        elif old is not None and old != length and old != 1:
            raise errors.ShapeMismatch(
                f"The expanded size of the tensor ({length}) must match the existing size ({old}) "
                f"at non-singleton dimension {place}.  Target sizes: {listed(size)}.  Tensor "
                f"sizes: {listed(shape)}",
                [(this_place(), "called here")],
                ["only dimensions of size 1 can be expanded"],
            )
    return tuple(wanted)


expanded = moving(
    "broadcast_to",
    _expand,
    grad=lambda F, g, input_shape: F.sum_to_size(g, input_shape),
    node_name="ExpandBackward0",
    samples=lambda make: [
        sample(make(3, 1), (2, 3, 4)), sample(make(2, 3), (2, 3)), sample(make(), (2,)),
    ],
    doc="A view that repeats elements along dimensions of size 1 and new leading ones.",
)  # fmt: skip


@takes_numpy_names
def broadcast_to(input: Tensor, size: Any, **numpy_names: Any) -> Tensor:
    """A view that repeats elements along dimensions of size 1 and new leading ones.

    >>> import lamina
    >>> lamina.broadcast_to(lamina.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    if numpy_names or size is MISSING:
        return again(broadcast_to, numpy_names, input, size)
    return expanded(input, size if size.__class__ is tuple else sizes_of((size,)))


def broadcast_method(self: Tensor, *size: Any, **named: Any) -> Tensor:
    """A view that repeats elements along dimensions of size 1 and new leading ones."""
    return expanded(self, sizes_of(given(size, named, "size")))


def expand(self: Tensor, *size: Any, implicit: bool = False, **named: Any) -> Tensor:
    """A view that repeats elements along dimensions of size 1; -1 keeps a dimension as it is."""
    return expanded(self, sizes_of(given(size, named, "size")))


@takes_numpy_names
def expand_as(self: Tensor, other: Tensor, **numpy_names: Any) -> Tensor:
    """A view expanded to the size of another tensor."""
    if numpy_names or other is MISSING:
        return again(expand_as, numpy_names, self, other)
    return expanded(self, other._array.shape)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes have together after broadcasting.

    >>> import lamina
    >>> lamina.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    regular = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result: list[int] = []
    for place, shape in enumerate(regular):
        for length in shape:
            if length < 0:
                raise errors.NegativeSize(
                    f"Trying to create tensor with negative dimension ({length}): ({length})",
                    [(this_place(), "called here")],
                )
        result = [1] * (len(shape) - len(result)) + result
        for back in range(1, len(shape) + 1):
            if shape[-back] == 1 or result[-back] == shape[-back]:
                continue
            if result[-back] != 1:
                raise errors.ShapeMismatch(
                    f"Attempting to broadcast a dimension of length {shape[-back]} at -{back}! "
                    f"Mismatching argument at index {place} had {shape}; but expected shape should "
                    f"be broadcastable to {result}",
                    [(this_place(), "called here")],
                )
            result[-back] = shape[-back]
    return Size(result)


@takes_tensors
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to the shape they have together."""
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    shape = together(tensors)
    return tuple([expanded(x, shape) if x._array.shape != shape else x for x in tensors])


def together(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The common shape of tensors after broadcasting; raises in the words of a computation."""
    shape: tuple[int, ...] = ()
    for tensor in tensors:
        other = tensor._array.shape
        if shape == other:
            continue
        length = max(len(shape), len(other))
        padded = [(1,) * (length - len(s)) + tuple(s) for s in (shape, other)]
        for place, (a, b) in enumerate(zip(*padded, strict=True)):
            if a != b and 1 not in (a, b):
                raise errors.ShapeMismatch(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    f"non-singleton dimension {place}",
                    [(this_place(), "called here"), *made_note(tensor)],
                )
        shape = tuple([b if a == 1 else a for a, b in zip(*padded, strict=True)])
    return shape


def sum_to_size_method(self: Tensor, *size: Any, **named: Any) -> Tensor:
    """The sum over the dimensions in which `size` would be broadcast to this tensor's shape."""
    wanted, shape = sizes_of(given(size, named, "size")), self._array.shape
    if wanted == shape:
        return self
    extra = len(shape) - len(wanted)
    if extra < 0 or any(a not in (1, b) for a, b in zip(wanted, shape[extra:], strict=True)):
        raise errors.ShapeMismatch(
            f"size {{{listed(wanted)}}} is not expandable to size {{{listed(shape)}}}.",
            [(this_place(), "called here")],
        )
    if not self.dtype.is_differentiable:
        self = self.to(dtypes.int64)
    found: Tensor = traced.sum_to_size(self, wanted)
    return found
