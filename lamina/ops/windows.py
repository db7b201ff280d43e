"""Parts of a tensor as views: select, slice, diagonal, and sliding windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import whole_numbers
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.fast_moves import moving
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.devices import backend_of, device_of
from lamina.devices.dispatched import DispatchedArray
from lamina.devices.dispatched import as_strided as strided_view
from lamina.ops.axes import axis_of

__all__ = ["diagonal", "narrow", "select"]


def _embedded(name: str) -> Any:
    """The rule of a view that shows each element of its base once at most."""

    def rule(F: Any, g: Any, input_shape: Any, input_dtype: Any, *args: Any) -> Any:
        return F.embed_view(g, input_shape, input_dtype, ((name, args),))

    return rule


# --- one index, a range of indices ---------------------------------------------------------------


def _select(input: Any, dim: int, index: int) -> Any:
    if not input.ndim:
        raise errors.InvalidIndex(
            "select() cannot be applied to a 0-dim tensor.", [(this_place(), "called here")]
        )
    axis = axis_of(dim, input.ndim)
    # With an Ellipsis NumPy gives an array, and so a view, also when a single element is chosen.
    try:
        if axis == 0:
            return input[index, ...]
        return input[(slice(None),) * axis + (index, ...)]
    except IndexError:
        raise errors.IndexOutOfRange(
            f"select(): index {index} out of range for tensor of size {dims(input.shape)} at "
            f"dimension {axis}",
            [(this_place(), "selected here")],
        ) from None


_embed_select = _embedded("select")
select = moving(
    "select",
    _select,
    grad=lambda F, g, input_shape, input_dtype, dim, index: _embed_select(
        F, g, input_shape, input_dtype, dim, index
    ),
    samples=lambda make: [
        sample(make(2, 3), 0, 1),
        sample(make(2, 3, 4), -1, -2),
        sample(make(3), 0, 0),
    ],
    doc="""A view at one index of a dimension, which is then gone.

    >>> import lamina
    >>> lamina.select(lamina.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """,
)


def _slice(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    if step <= 0:
        raise errors.InvalidArgument("slice step must be positive", [(this_place(), "sliced here")])
    if not input.ndim:
        raise errors.InvalidArgument(
            "slice() cannot be applied to a 0-dim tensor.", [(this_place(), "sliced here")]
        )
    axis = axis_of(dim, input.ndim)
    if axis == 0:
        return input[start:end:step]
    return input[(slice(None),) * axis + (slice(start, end, step),)]


_embed_slice = _embedded("slice")
slice_dim = moving(
    "slice",
    _slice,
    grad=lambda F, g, input_shape, input_dtype, dim, start, end, step: _embed_slice(
        F, g, input_shape, input_dtype, dim, start, end, step
    ),
    samples=lambda make: [
        sample(make(5, 3), 0, 1, 4, 2), sample(make(2, 5), -1, -3, None, 1),
        sample(make(4), 0, 3, 1, 1),
    ],
    doc="A view of a range of indices of one dimension.",
)  # fmt: skip


@takes_numpy_names
def narrow(input: Tensor, dim: int, start: Any, length: int, **numpy_names: Any) -> Tensor:
    """A view of `length` indices of a dimension, beginning at `start`.

    >>> import lamina
    >>> lamina.narrow(lamina.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    if numpy_names or length is MISSING:
        return again(narrow, numpy_names, input, dim, start, length)
    shape = input._array.shape
    if not shape:
        raise errors.InvalidArgument(
            "narrow() cannot be applied to a 0-dim tensor.", [(this_place(), "called here")]
        )
    size, begin = shape[axis_of(dim, len(shape))], whole_numbers("narrow", "start", start)[0]
    if length < 0:
        raise errors.InvalidArgument(
            "narrow(): length must be non-negative.", [(this_place(), "called here")]
        )
    if not -size <= begin <= size:
        raise errors.IndexOutOfRange(
            f"start out of range (expected to be in range of [-{size}, {size}], but got {begin})",
            [(this_place(), "called here")],
        )
    begin += size if begin < 0 else 0
    if begin + length > size:
        raise errors.InvalidArgument(
            f"start ({begin}) + length ({length}) exceeds dimension size ({size}).",
            [(this_place(), "called here")],
        )
    return slice_dim(input, dim, begin, begin + length, 1)


def _slice_view(input: Any, index: Any) -> Any:
    index = index if isinstance(index, tuple) else (index,)
    return input[index if any(part is Ellipsis for part in index) else (*index, Ellipsis)]


_embed_slice_view = _embedded("slice_view")
slice_view = moving(
    "slice_view",
    _slice_view,
    grad=lambda F, g, input_shape, input_dtype, index: _embed_slice_view(
        F, g, input_shape, input_dtype, index
    ),
    node_name="SliceBackward0",
    samples=lambda make: [sample(make(3, 4), (1, slice(0, 2))), sample(make(3), (None, Ellipsis))],
    doc="A view by integers, slices, None and Ellipsis.",
)

# --- diagonals -----------------------------------------------------------------------------------


def _diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    first, second = axis_of(dim1, input.ndim), axis_of(dim2, input.ndim)
    if first == second:
        raise errors.InvalidArgument(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}",
            [(this_place(), "called here")],
        )
    view = input.diagonal(offset, first, second)
    if not view.flags.writeable and input.flags.writeable:
        # NumPy makes diagonals read-only for the sake of programs from before they were views.
        view.flags.writeable = True
    return view


_embed_diagonal = _embedded("diagonal")
_diagonal_samples = lambda make: [  # noqa: E731
    sample(make(3, 4)), sample(make(3, 4), 1), sample(make(2, 3, 4), -1, 0, 2),
    sample(make(2, 3), 5),
]  # fmt: skip
diagonal = moving(
    "diagonal",
    _diagonal,
    grad=lambda F, g, input_shape, input_dtype, offset, dim1, dim2: _embed_diagonal(
        F, g, input_shape, input_dtype, offset, dim1, dim2
    ),
    samples=_diagonal_samples,
    doc="""A view of the diagonal of two dimensions, as the last dimension.

    >>> import lamina
    >>> lamina.diagonal(lamina.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """,
)


def _diagonal_copy(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return _diagonal(input, offset, dim1, dim2).copy()


diagonal_copy = moving(
    "diagonal_copy",
    _diagonal_copy,
    grad=lambda F, g, input_shape, input_dtype, offset, dim1, dim2: _embed_diagonal(
        F, g, input_shape, input_dtype, offset, dim1, dim2
    ),
    node_name="DiagonalBackward0_copy",
    is_view=False,
    samples=_diagonal_samples,
    doc="A copy of the diagonal of two dimensions.",
)

# --- sliding windows -----------------------------------------------------------------------------


def strided(array: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
    """A view with any shape and byte strides, from the array's first element on."""
    if isinstance(array, DispatchedArray):
        return array._apply(strided_view, (array, tuple(shape), tuple(strides)), {})
    return backend_of(device_of(array)).as_strided(array, shape, strides)


def _unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    axis = axis_of(dimension, input.ndim)
    length = input.shape[axis] if input.ndim else 1
    if size < 0 or size > length:
        raise errors.InvalidArgument(
            f"maximum size for tensor at dimension {axis} is {length} but size is {size}",
            [(this_place(), "called here")],
        )
    if step <= 0:
        raise errors.InvalidArgument(
            f"step is {step} but must be > 0", [(this_place(), "called here")]
        )
    if not input.ndim:
        return strided(input, (size,), (input.itemsize,))
    shape, strides = list(input.shape), list(input.strides)
    shape[axis] = (length - size) // step + 1
    strides[axis] *= step
    return strided(input, (*shape, size), (*strides, input.strides[axis]))


unfold = moving(
    "unfold",
    _unfold,
    grad=lambda F, g, input_shape, dimension, size, step: F.unfold_backward(
        g, input_shape, dimension, size, step
    ),
    samples=lambda make: [
        sample(make(5), 0, 2, 1),
        sample(make(2, 7), 1, 3, 2),
        sample(make(6), 0, 2, 3),
    ],
    doc="A view of all windows of `size` along a dimension, `step` apart, as a new last dimension.",
)


def _unfold_backward(input: Any, shape: Any, dimension: int, size: int, step: int) -> Any:
    """Add the windows up where they lie: over offsets within a window, or over windows."""
    base = np.zeros_like(input, shape=shape or (1,), order="C")
    axis = axis_of(dimension, base.ndim)
    grad = input if shape else input[None]
    count = grad.shape[axis]
    before = (slice(None),) * axis
    if size <= count:
        for offset in range(size):
            base[(*before, slice(offset, offset + step * (count - 1) + 1, step))] += grad[
                ..., offset
            ]
    else:
        for window in range(count):
            part = np.moveaxis(grad[(*before, window)], -1, axis)
            base[(*before, slice(window * step, window * step + size))] += part
    return base.reshape(shape)


unfold_backward = operation(
    "unfold_backward",
    _unfold_backward,
    grad={"input": lambda F, g, dimension, size, step: F.unfold(g, dimension, size, step)},
    samples=lambda make: [
        sample(make(4, 2), (5,), 0, 2, 1),
        sample(make(2, 1, 4), (2, 5), 1, 4, 2),
    ],
    doc="The sum of windows at their places.",
)
