"""Memory: copies, tensors that share memory outside the graph, and other readings of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.codegen.vectorized import LEAST_SHARED, vectorized
from lamina.core import blame
from lamina.core.arguments import native, whole_numbers
from lamina.core.blame.words import a_name, dims, made_note, this_place
from lamina.core.fast_moves import moving
from lamina.core.layouts import channels_last, contiguous_format, preserve_format
from lamina.core.modes import state
from lamina.core.op import offer
from lamina.core.origins import CUT_DETACH
from lamina.core.positions import here
from lamina.core.records import note_detached
from lamina.core.samples import sample
from lamina.core.tensor import Tensor, cell_of, root_of, set_array, wrap
from lamina.core.versions import INFERENCE

__all__ = ["clone", "detach", "detach_"]


_copied = vectorized()(np.positive)


def _clone(input: Any, memory_format: Any = None) -> Any:
    if memory_format is None or memory_format is preserve_format:
        is_large = input.size >= LEAST_SHARED and input.__class__ is np.ndarray
        if is_large and input.dtype.kind == "f" and input.flags.c_contiguous:
            return _copied(input)
        # An expanded dimension has no place in the order of others: then rows come first.
        is_expanded = 0 in input.strides and not input.flags.c_contiguous
        return input.copy("C" if is_expanded else "K")
    if memory_format is contiguous_format:
        return input.copy("C")
    rank = 4 if memory_format is channels_last else 5
    if input.ndim != rank:
        raise errors.InvalidArgument(
            f"required rank {rank} tensor to use {memory_format.name} format",
            [(this_place(), "called here")],
        )
    last = (0, *range(2, rank), 1)
    back = (0, rank - 1, *range(1, rank - 1))
    return input.transpose(last).copy("C").transpose(back)


clone = moving(
    "clone",
    _clone,
    grad=lambda F, g: g,
    is_view=False,
    samples=lambda make: [sample(make(3, 4)), sample(make()), sample(make(0, 2))],
    doc="""A copy with memory of its own, through which gradients flow.

    >>> import lamina
    >>> x = lamina.ones(2)
    >>> y = lamina.clone(x)
    >>> y[0] = 5
    >>> x
    tensor([1., 1.])
    """,
)


def contiguous(self: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor with its elements row by row in memory: itself if they are, else a copy."""
    array = self._array
    if memory_format is contiguous_format:
        return self if array.flags.c_contiguous else clone(self, contiguous_format)
    if memory_format is preserve_format:
        raise errors.InvalidArgument(
            "preserve memory format is unsupported by the contiguous operator",
            [(this_place(), "called here")],
        )
    last = (0, *range(2, array.ndim), 1)
    if array.ndim in (4, 5) and array.transpose(last).flags.c_contiguous:
        return self
    return clone(self, memory_format)


alias = moving(
    "alias", lambda input: input[...], grad=lambda F, g: g,
    samples=lambda make: [sample(make(2, 3))], doc="A view of the whole tensor.",
)  # fmt: skip


@native
def detach(input: Tensor) -> Tensor:
    """The same memory outside the graph: no gradient flows through it.

    A change in place of either is seen by both, and noticed.

    >>> import lamina
    >>> lamina.ones(2, requires_grad=True).detach().requires_grad
    False
    """
    place = here()
    if input.requires_grad:
        made = wrap(input._array, (*place, "detach", CUT_DETACH, None), Tensor)
        note_detached(place, input)
    else:
        made = wrap(input._array, (*place, "detach", None, root_of(input)), Tensor)
    if input._cell is INFERENCE:
        made._cell = INFERENCE
    else:
        made._cell = cell_of(input)
        made._cell.shared_at = place
    return made


offer("detach", lambda input: input, detach)


@native
def detach_(input: Tensor) -> Tensor:
    """Take this very tensor out of the graph: it becomes a leaf without gradient."""
    if input._view is not None and not state.inference:
        raise errors.DetachOfView(
            "Can't detach views in-place. Use detach() instead: how this view depends on its base "
            "would be forgotten",
            [(this_place(), "detached here"), *made_note(input, "the view was made here")],
            ["write `v = v.detach()`"],
        )
    reason = CUT_DETACH if input.requires_grad else None
    input._origin = (*here(), "detach_", reason, root_of(input))
    input._node = None
    input._requires_grad = False
    return input


def view_as_dtype(self: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The same bytes read as another dtype; not differentiable."""
    array, kind = self._array, dtype.numpy
    old, new = array.dtype.itemsize, kind.itemsize
    if old != new:
        _check_bytes(array, self.dtype, dtype, old, new)
    try:
        seen = array.view(kind)
    except ValueError:
        raise errors.ViewStrideMismatch(
            f"self.stride(-1) must be 1 to view {self.dtype} as {dtype} (different element sizes)",
            [(this_place(), "called here")],
            ["make the elements lie side by side first: .contiguous()"],
        ) from None
    made = wrap(seen, (*here(), "view", None, None))
    if self._cell is not INFERENCE:
        made._cell = cell_of(self)
    return made


def _check_bytes(array: Any, from_: Any, to: Any, old: int, new: int) -> None:
    if not array.ndim:
        raise errors.ViewStrideMismatch(
            f"self.dim() cannot be 0 to view {from_} as {to} (different element sizes)",
            [(this_place(), "called here")],
        )
    length = array.shape[-1]
    if new > old and length * old % new:
        raise errors.ViewStrideMismatch(
            f"self.size(-1) must be divisible by {new // old} to view {from_} as {to} (different "
            f"element sizes), but got {length}",
            [(this_place(), "called here")],
        )


# --- changes of size and memory, in place --------------------------------------------------------


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Change the size in place; the elements stay in their order, new ones are arbitrary."""
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    return _resized(self, whole_numbers("resize_", "size", size))


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Change the size in place to that of another tensor."""
    return _resized(self, tuple(the_template._array.shape))


def _resized(self: Tensor, size: tuple[int, ...]) -> Tensor:
    if any(length < 0 for length in size):
        raise errors.NegativeSize(
            f"Trying to create tensor with negative dimension: {dims(size)}",
            [(this_place(), "called here")],
        )
    if self.requires_grad and not state.inference:
        raise errors.ResizeRefused(
            "cannot resize variables that require grad",
            [(this_place(), "resized here"), *made_note(self)],
            [f"resize a copy outside the graph: `{a_name(self)}.detach().clone().resize_(...)`"],
        )
    array = self._array
    if array.shape == size:
        return self
    count = 1
    for length in size:
        count *= length
    flat = array.reshape(-1)
    if count <= array.size:
        made = flat[:count].reshape(size)
    else:
        longer = np.zeros_like(array, shape=(count,), order="C")
        longer[: array.size] = flat
        made = longer.reshape(size)
    _replaced(self, made)
    return self


def _replaced(self: Tensor, array: Any) -> None:
    set_array(self, array)
    if self._cell is not INFERENCE:
        cell_of(self).bump(*here())


def set_(self: Tensor, source: Any = None) -> Tensor:
    """Make this tensor show the memory of another; without one, show nothing."""
    if self.requires_grad and state.grad_enabled:
        blame.check_inplace("set_", self, True)
    if source is None:
        _replaced(self, np.zeros_like(self._array, shape=(0,)))
        return self
    if source.dtype is not self.dtype:
        raise errors.DataMismatch(
            f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}",
            [(this_place(), "called here")],
        )
    _replaced(self, source._array)
    return self


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors show the very same memory in the same way."""
    first, second = self._array, tensor._array
    same = first.shape == second.shape and first.strides == second.strides
    return bool(same and self.data_ptr() == tensor.data_ptr())
