"""Shapes: the same elements seen under other sizes.

All of these are views, except that `reshape` copies where no view can show what is wanted.
"""

from __future__ import annotations

from typing import Any

from lamina import dtypes, errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims as listed
from lamina.core.blame.words import this_place
from lamina.core.fast_moves import moving
from lamina.core.layouts import contiguous_format
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import offer
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.axes import axes_of, axis_of, given, sizes_of
from lamina.ops.memory import clone, view_as_dtype

__all__ = [
    "flatten", "ravel", "reshape", "squeeze", "unflatten", "unsqueeze",
]  # fmt: skip

# --- other sizes for the same elements -----------------------------------------------------------


def _view(input: Any, size: Any) -> Any:
    if size and min(size) < -1:
        raise _bad_shape(input, size)
    try:
        if input.flags.c_contiguous:
            return input.reshape(size)
        return input.reshape(size, copy=False)
    except ValueError:
        raise _bad_shape(input, size) from None


def _bad_shape(input: Any, size: tuple[int, ...]) -> errors.LaminaError:
    """Why an array can't be seen under a size."""
    place = this_place()
    bad = next((k for k, length in enumerate(size) if length < -1), None)
    if bad is not None:
        text = f"invalid shape dimension {size[bad]} at index {bad} of shape {listed(size)}"
        return errors.ReshapeMismatch(text, [(place, "asked for here")])
    if size.count(-1) > 1:
        return errors.ReshapeMismatch(
            "only one dimension can be inferred", [(place, "asked for here")]
        )
    known = 1
    for length in size:
        known *= 1 if length == -1 else length
    if -1 in size and known == 0 and input.size == 0:
        return errors.ReshapeMismatch(
            f"cannot reshape tensor of 0 elements into shape {listed(size)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous",
            [(place, "asked for here")],
        )
    if known != input.size and (-1 not in size or known == 0 or input.size % known):
        return errors.ReshapeMismatch(
            f"shape '{listed(size)}' is invalid for input of size {input.size}: the input has "
            f"shape {listed(input.shape)}",
            [(place, "asked for here")],
            ["the product of the sizes must be the number of elements; -1 stands for what is left"],
        )
    return errors.ViewStrideMismatch(
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead: the elements do not "
        f"lie in memory in the order that {listed(size)} needs",
        [(place, "asked for here")],
        ["use reshape, which copies if it must, or .contiguous().view(...)"],
    )


def _reshape(input: Any, size: Any) -> Any:
    if size and min(size) < -1:
        raise _bad_shape(input, size)
    try:
        return input.reshape(size)
    except ValueError:
        raise _bad_shape(input, size) from None


_view_samples = lambda make: [  # noqa: E731
    sample(make(3, 4), (2, 6)), sample(make(2, 3, 2), (-1, 2)), sample(make(0, 2), (2, 0)),
]  # fmt: skip
_reshaped = lambda F, g, input_shape: F.reshape(g, input_shape)  # noqa: E731

view = moving(
    "view", _view, grad=_reshaped, samples=_view_samples,
    doc="A view of the same elements under another size; one length may be -1.",
)  # fmt: skip
reshape_alias = moving(
    "reshape_alias", _view, grad=_reshaped, samples=_view_samples,
    doc="The view that `reshape` makes of a tensor whose elements do not lie row by row.",
)  # fmt: skip
unsafe_view = moving(
    "unsafe_view", _reshape, grad=_reshaped, is_view=False, samples=_view_samples,
    doc="The elements of a copy nobody else has under another size.",
)  # fmt: skip


@takes_numpy_names
def reshape(input: Tensor, shape: Any, **numpy_names: Any) -> Tensor:
    """The same elements in the same order under another shape.

    A view where that is possible, else a copy; one length may be -1 and is then found.

    >>> import lamina
    >>> lamina.reshape(lamina.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if numpy_names or shape is MISSING:
        return again(reshape, numpy_names, input, shape)
    if shape.__class__ is not tuple:
        if not isinstance(shape, tuple | list):
            raise errors.ArgumentTypeError(
                f"reshape(): argument 'shape' must be tuple of ints, not {type(shape).__name__}",
                [(this_place(), "called here")],
            )
        shape = sizes_of((shape,), "shape")
    array = input._array
    if array.flags.c_contiguous:
        return view(input, shape)
    try:
        array.reshape(shape, copy=False)
    except ValueError:
        return unsafe_view(clone(input, contiguous_format), shape)
    return reshape_alias(input, shape)


offer("reshape", _reshape, reshape)


def view_method(self: Tensor, *size: Any, dtype: Any = None, **named: Any) -> Tensor:
    """A view of the same elements under another size, or of the same bytes as another dtype."""
    if dtype is not None or (len(size) == 1 and isinstance(size[0], dtypes.dtype)):
        return view_as_dtype(self, size[0] if dtype is None else dtype)
    if named:
        size = tuple(given(size, named, "size"))
    if not size:
        raise errors.ArgumentTypeError(
            "view() received an invalid combination of arguments - got (), but expected the sizes "
            "or a dtype",
            [(this_place(), "called here")],
        )
    return view(self, sizes_of(size))


def reshape_method(self: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The same elements in the same order under another shape: a view if possible."""
    if not shape:
        if "shape" not in named:
            raise errors.ArgumentTypeError(
                'reshape() missing 1 required positional arguments: "shape"',
                [(this_place(), "called here")],
            )
        shape = (named["shape"],)
    return reshape(self, sizes_of(shape, "shape"))


@takes_numpy_names
def view_as(self: Tensor, other: Tensor, **numpy_names: Any) -> Tensor:
    """A view of the same elements under the size of another tensor."""
    if numpy_names or other is MISSING:
        return again(view_as, numpy_names, self, other)
    return view(self, other._array.shape)


@takes_numpy_names
def reshape_as(self: Tensor, other: Tensor, **numpy_names: Any) -> Tensor:
    """The same elements under the shape of another tensor."""
    if numpy_names or other is MISSING:
        return again(reshape_as, numpy_names, self, other)
    return reshape(self, other._array.shape)


@native
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` joined into one.

    >>> import lamina
    >>> lamina.flatten(lamina.zeros(2, 3, 4), start_dim=1).shape
    torch.Size([2, 12])
    """
    shape = input._array.shape
    start, end = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if start > end:
        raise errors.InvalidArgument(
            "flatten() has invalid args: start_dim cannot come after end_dim",
            [(this_place(), "called here")],
        )
    if not shape:
        return reshape(input, (1,))
    if start == end:
        return input
    length = 1
    for size in shape[start : end + 1]:
        length *= size
    return reshape(input, (*shape[:start], length, *shape[end + 1 :]))


@native
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, without a copy if they lie row by row already."""
    if input._array.flags.c_contiguous:
        return view(input, (-1,))
    return view(clone(input, contiguous_format), (-1,))


@takes_numpy_names
def unflatten(input: Tensor, dim: Any, sizes: Any, **numpy_names: Any) -> Tensor:
    """One dimension split into several of the given sizes; one of them may be -1."""
    if numpy_names or sizes is MISSING:
        return again(unflatten, numpy_names, input, dim, sizes)
    shape = input._array.shape
    axis = axis_of(dim, len(shape))
    sizes = sizes_of((sizes,) if isinstance(sizes, tuple | list) else sizes, "sizes")
    if not sizes:
        raise errors.InvalidArgument(
            "unflatten: sizes must be non-empty", [(this_place(), "called here")]
        )
    length = 1
    for size in sizes:
        length *= abs(size)
    whole = shape[axis]
    if (-1 in sizes and (length == 0 or whole % length)) or (-1 not in sizes and length != whole):
        raise errors.ReshapeMismatch(
            f"unflatten: Provided sizes {listed(sizes)} don't multiply up to the size of dim "
            f"{axis} ({whole}) in the input tensor",
            [(this_place(), "called here")],
        )
    return view(input, (*shape[:axis], *sizes, *shape[axis + 1 :]))


def unflatten_method(self: Tensor, dim: Any, sizes: Any) -> Tensor:
    """One dimension split into several of the given sizes; one of them may be -1."""
    return unflatten(self, dim, sizes)


# --- dimensions of size 1 ------------------------------------------------------------------------


def _squeeze(input: Any) -> Any:
    return input.squeeze()


def _squeeze_dim(input: Any, dim: int) -> Any:
    axis = axis_of(dim, input.ndim)
    return input.squeeze(axis) if input.ndim and input.shape[axis] == 1 else input[...]


def _squeeze_dims(input: Any, dim: Any) -> Any:
    axes = axes_of(dim, input.ndim)
    chosen = tuple([axis for axis in axes if input.ndim and input.shape[axis] == 1])
    return input.squeeze(chosen) if chosen else input[...]


squeeze_all = moving(
    "squeeze_all", _squeeze, grad=_reshaped, node_name="SqueezeBackward0",
    samples=lambda make: [sample(make(1, 3, 1)), sample(make(2, 3))],
    doc="A view without the dimensions of size 1.",
)  # fmt: skip
squeeze_dim = moving(
    "squeeze_dim", _squeeze_dim, grad=_reshaped, node_name="SqueezeBackward1",
    samples=lambda make: [sample(make(1, 3, 1), 0), sample(make(2, 3), 1), sample(make(), 0)],
    doc="A view without one dimension, if that has size 1.",
)  # fmt: skip
squeeze_dims = moving(
    "squeeze_dims", _squeeze_dims, grad=_reshaped, node_name="SqueezeBackward2",
    samples=lambda make: [sample(make(1, 3, 1), (0, 2)), sample(make(2, 1), (0, 1))],
    doc="A view without those of the given dimensions that have size 1.",
)  # fmt: skip


@takes_numpy_names
def squeeze(input: Tensor, dim: Any = None, **numpy_names: Any) -> Tensor:
    """A view without dimensions of size 1: all such, or those among `dim`.

    >>> import lamina
    >>> lamina.squeeze(lamina.zeros(1, 3, 1)).shape
    torch.Size([3])
    """
    if numpy_names:
        return again(squeeze, numpy_names, input, dim)
    if dim is None:
        return squeeze_all(input)
    if dim.__class__ is not int and isinstance(dim, tuple | list):
        return squeeze_dims(input, tuple(dim))
    return squeeze_dim(input, dim)


def _unsqueeze(input: Any, dim: int) -> Any:
    ndim = input.ndim
    axis = axis_of(dim, ndim + 1)
    return input[(slice(None),) * axis + (None, ...)]


unsqueeze = moving(
    "unsqueeze",
    _unsqueeze,
    grad=_reshaped,
    samples=lambda make: [sample(make(2, 3), 1), sample(make(2, 3), -1), sample(make(), 0)],
    doc="""A view with a new dimension of size 1 at place `dim`.

    >>> import lamina
    >>> lamina.unsqueeze(lamina.zeros(3), 0).shape
    torch.Size([1, 3])
    """,
)
