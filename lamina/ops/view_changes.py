"""Changes of a tensor's own shape in place, and views that are copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.fast_moves import moving
from lamina.core.inplace import rebase
from lamina.core.modes import door, state
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import raw
from lamina.core.positions import here
from lamina.core.tangents import move_tangents
from lamina.core.tensor import Tensor, cell_of, set_array, wrap
from lamina.core.versions import INFERENCE
from lamina.core.views import View, refresh
from lamina.ops import broadcasting, memory, permutation, shape, splitting, strides, windows
from lamina.ops.axes import sizes_of

__all__ = [
    "alias_copy", "as_strided_copy", "diagonal_copy", "expand_copy", "narrow_copy", "permute_copy",
    "split_with_sizes_copy", "squeeze_copy", "t_copy", "transpose_copy", "unbind_copy",
    "unfold_copy", "unsqueeze_copy", "view_copy",
]  # fmt: skip

# --- in place ------------------------------------------------------------------------------------


def _twin(function: Callable[..., Any], node_name: str) -> Callable[..., Any]:
    """A view operation once more, whose node has the name of the in-place form."""
    op: Any = function.op  # type: ignore[attr-defined]
    rule = op.rules[0]
    return moving(
        f"{op.name}_in_place", op.kernel, grad=rule, node_name=node_name, samples=op.samples,
        doc=f"{op.doc.splitlines()[0]} The step of the in-place form.",
    )  # fmt: skip


def become(self: Tensor, function: Callable[..., Any], *args: Any) -> Tensor:
    """Make a tensor the view of itself that an operation makes; its memory stays."""
    if self._view is not None:
        refresh(self)
    op: Any = function.op  # type: ignore[attr-defined]
    name = op.name.removesuffix("_in_place")
    records = self.requires_grad and state.grad_enabled
    if records or self._cell is INFERENCE:
        blame.check_inplace(name, self, records)
    stand_in = wrap(self._array, self._origin)
    if records:
        stand_in._node = self._node
        stand_in._requires_grad = self._node is not None
    result = function(stand_in, *args)
    view = self._view
    set_array(self, result._array)
    if self._cell is not INFERENCE:
        cell_of(self).bump(*here())
    if view is not None:
        # Not recorded: the place in the graph is found anew when next asked for.
        version = self._cell.version if records else -1
        steps = (*view.steps, (op.name, args))
        self._view = View(view.base, steps, view.creation, version, view.origin)
        if records:
            self._node = result._node
    elif records:
        rebase(self, result)
    if door.is_watched and state.duals:
        move_tangents(self, function, *args)
    return self


_squeeze_all = _twin(shape.squeeze_all, "SqueezeBackward3")
_squeeze_dim = _twin(shape.squeeze_dim, "SqueezeBackward4")
_squeeze_dims = _twin(shape.squeeze_dims, "SqueezeBackward5")
_unsqueeze = _twin(shape.unsqueeze, "UnsqueezeBackward1")
_transpose = _twin(permutation.transpose, "TransposeBackward1")
_t = _twin(permutation.t, "TBackward1")
_strided = _twin(strides.strided_op, "AsStridedBackward1")


@takes_numpy_names
def squeeze_(self: Tensor, dim: Any = None, **numpy_names: Any) -> Tensor:
    """Drop dimensions of size 1 in place."""
    if numpy_names:
        return again(squeeze_, numpy_names, self, dim)
    if dim is None:
        return become(self, _squeeze_all)
    if isinstance(dim, tuple | list):
        return become(self, _squeeze_dims, tuple(dim))
    return become(self, _squeeze_dim, dim)


@takes_numpy_names
def unsqueeze_(self: Tensor, dim: int, **numpy_names: Any) -> Tensor:
    """Insert a dimension of size 1 in place."""
    if numpy_names or dim is MISSING:
        return again(unsqueeze_, numpy_names, self, dim)
    return become(self, _unsqueeze, dim)


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions in place."""
    return become(self, _transpose, dim0, dim1)


def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Exchange two dimensions in place."""
    return become(self, _transpose, axis0, axis1)


def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions in place."""
    return become(self, _transpose, dim0, dim1)


def t_(self: Tensor) -> Tensor:
    """Transpose a matrix in place."""
    return become(self, _t)


def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Take any size and strides of the tensor's memory in place."""
    return become(self, _strided, *strides.strided_arguments(self, size, stride, storage_offset))


# --- copies --------------------------------------------------------------------------------------


def _copying(
    function: Callable[..., Any], kernel: Callable[..., Any], name: str, node_name: str
) -> Any:
    """A view operation whose result is a copy."""
    op: Any = function.op  # type: ignore[attr-defined]
    return moving(
        name, kernel, grad=op.rules[0], node_name=node_name + "_copy", is_view=False,
        samples=op.samples, doc=f"As `{op.name}`, but a copy.",
    )  # fmt: skip


alias_copy = _copying(memory.alias, lambda input: input.copy("C"), "alias_copy", "AliasBackward0")
transpose_copy = _copying(
    permutation.transpose,
    lambda input, dim0, dim1: raw.transpose(input, dim0, dim1).copy("C"),
    "transpose_copy",
    "TransposeBackward0",
)
t_copy = _copying(permutation.t, lambda input: raw.t(input).copy("C"), "t_copy", "TBackward0")
unsqueeze_copy = _copying(
    shape.unsqueeze,
    lambda input, dim: raw.unsqueeze(input, dim).copy("C"),
    "unsqueeze_copy",
    "UnsqueezeBackward0",
)
unfold_copy = _copying(
    windows.unfold,
    lambda input, dimension, size, step: raw.unfold(input, dimension, size, step).copy("C"),
    "unfold_copy",
    "UnfoldBackward0",
)
diagonal_copy = windows.diagonal_copy
_view_copy = _copying(
    shape.view, lambda input, size: raw.view(input, size).copy("C"), "view_copy", "ViewBackward0"
)
_permute_copy = _copying(
    permutation.permuted,
    lambda input, dims: raw.permute(input, dims).copy("C"),
    "permute_copy",
    "PermuteBackward0",
)
_expand_copy = _copying(
    broadcasting.expanded,
    lambda input, size: raw.broadcast_to(input, size).copy("C"),
    "expand_copy",
    "ExpandBackward0",
)
_as_strided_copy = _copying(
    strides.strided_op,
    lambda input, size, stride, offset, geometry: raw.as_strided(
        input, size, stride, offset, geometry
    ).copy("C"),
    "as_strided_copy",
    "AsStridedBackward0",
)
_squeeze_copy = _copying(
    shape.squeeze_all, lambda input: input.squeeze().copy("C"), "squeeze_copy", "SqueezeBackward0"
)
_squeeze_dim_copy = _copying(
    shape.squeeze_dim,
    lambda input, dim: raw.squeeze_dim(input, dim).copy("C"),
    "squeeze_dim_copy",
    "SqueezeBackward1",
)
_squeeze_dims_copy = _copying(
    shape.squeeze_dims,
    lambda input, dim: raw.squeeze_dims(input, dim).copy("C"),
    "squeeze_dims_copy",
    "SqueezeBackward2",
)


@native
def view_copy(input: Tensor, size: Any = None, *, dtype: Any = None, out: Any = None) -> Tensor:
    """As `view`, but a copy."""
    if dtype is not None:
        return memory.clone(memory.view_as_dtype(input, dtype), out=out)
    return _view_copy(input, sizes_of((size,)), out=out)


@native
def permute_copy(input: Tensor, dims: Any, *, out: Any = None) -> Tensor:
    """As `permute`, but a copy."""
    return _permute_copy(input, sizes_of((dims,), "dims"), out=out)


@native
def expand_copy(input: Tensor, size: Any, *, implicit: bool = False, out: Any = None) -> Tensor:
    """As `expand`, but a copy."""
    return _expand_copy(input, sizes_of((size,)), out=out)


@native
def as_strided_copy(
    input: Tensor, size: Any, stride: Any, storage_offset: int | None = None, *, out: Any = None
) -> Tensor:
    """As `as_strided`, but a copy."""
    arguments = strides.strided_arguments(input, size, stride, storage_offset)
    return _as_strided_copy(input, *arguments, out=out)


@native
def squeeze_copy(input: Tensor, dim: Any = None, *, out: Any = None) -> Tensor:
    """As `squeeze`, but a copy."""
    if dim is None:
        return _squeeze_copy(input, out=out)
    if isinstance(dim, tuple | list):
        return _squeeze_dims_copy(input, tuple(dim), out=out)
    return _squeeze_dim_copy(input, dim, out=out)


@native
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Any = None) -> Tensor:
    """As `narrow`, but a copy."""
    return memory.clone(windows.narrow(input, dim, start, length), out=out)


@native
def unbind_copy(input: Tensor, dim: int = 0, *, out: Any = None) -> tuple[Tensor, ...]:
    """As `unbind`, but copies."""
    return _copies(splitting.unbind(input, dim), out)


@native
def split_with_sizes_copy(
    input: Tensor, split_sizes: Any, dim: int = 0, *, out: Any = None
) -> tuple[Tensor, ...]:
    """As `split_with_sizes`, but copies."""
    return _copies(splitting.split_with_sizes(input, split_sizes, dim), out)


def _copies(parts: tuple[Tensor, ...], out: Any) -> Any:
    if out is None:
        return tuple(memory.clone(part) for part in parts)
    if len(out) != len(parts):
        raise errors.InvalidArgument(
            f"out= must have {len(parts)} tensors, not {len(out)}", [(this_place(), "called here")]
        )
    for target, part in zip(out, parts, strict=True):
        memory.clone(part, out=target)
    return None
