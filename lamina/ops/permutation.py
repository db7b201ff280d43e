"""Dimensions in another order: transposes and permutations, all of them views."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims as listed
from lamina.core.blame.words import this_place
from lamina.core.fast_moves import moving
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import offer, traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.ops.axes import axis_of, given, sizes_of

__all__ = [
    "adjoint", "moveaxis", "movedim", "permute", "swapaxes", "swapdims", "t", "transpose",
]  # fmt: skip

# --- dimensions in another order -----------------------------------------------------------------


def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    ndim = input.ndim
    first, second = axis_of(dim0, ndim), axis_of(dim1, ndim)
    return input.swapaxes(first, second) if ndim else input[...]


transpose = moving(
    "transpose",
    _transpose,
    grad=lambda F, g, dim0, dim1: F.transpose(g, dim0, dim1),
    samples=lambda make: [sample(make(2, 3, 4), 0, -1), sample(make(), 0, -1)],
    doc="""A view with two dimensions exchanged.

    >>> import lamina
    >>> lamina.transpose(lamina.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """,
)


@takes_numpy_names
def swapaxes(input: Tensor, axis0: int, axis1: int, **numpy_names: Any) -> Tensor:
    """A view with two dimensions exchanged: `transpose` under NumPy's name."""
    if numpy_names or axis1 is MISSING:
        return again(swapaxes, numpy_names, input, axis0, axis1)
    return transpose(input, axis0, axis1)


@takes_numpy_names
def swapdims(input: Tensor, dim0: int, dim1: int, **numpy_names: Any) -> Tensor:
    """A view with two dimensions exchanged: `transpose` under another name."""
    if numpy_names or dim1 is MISSING:
        return again(swapdims, numpy_names, input, dim0, dim1)
    return transpose(input, dim0, dim1)


def _t(input: Any) -> Any:
    if input.ndim > 2:
        raise errors.InvalidArgument(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D",
            [(this_place(), "called here")],
            ["use transpose(dim0, dim1), permute(...), or .mT for batches of matrices"],
        )
    return input.transpose() if input.ndim == 2 else input[...]


t = moving(
    "t",
    _t,
    grad=lambda F, g: F.t(g),
    node_name="TBackward0",
    samples=lambda make: [sample(make(2, 3)), sample(make(3)), sample(make())],
    doc="The transpose of a matrix, as a view; a vector or a number stays as it is.",
)


def _permute(input: Any, dims: Any) -> Any:
    ndim = input.ndim
    if len(dims) != ndim:
        raise errors.InvalidArgument(
            "permute(): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
            f"{len(dims)}",
            [(this_place(), "called here")],
        )
    axes = [axis_of(dim, ndim) for dim in dims]
    if len(set(axes)) != ndim:
        raise errors.InvalidArgument(
            "permute(): duplicate dims are not allowed.", [(this_place(), "called here")]
        )
    return input.transpose(axes) if ndim else input[...]


def _permute_back(F: Any, g: Any, dims: Any) -> Any:
    order = [axis_of(dim, len(dims)) for dim in dims]
    back = [0] * len(order)
    for place, axis in enumerate(order):
        back[axis] = place
    return F.permute(g, tuple(back))


permuted = moving(
    "permute",
    _permute,
    grad=_permute_back,
    samples=lambda make: [sample(make(2, 3, 4), (2, 0, 1)), sample(make(2, 3, 4), (0, -1, 1))],
    doc="A view with the dimensions in the order of `dims`.",
)


@takes_numpy_names
def permute(input: Tensor, dims: Any, **numpy_names: Any) -> Tensor:
    """A view with the dimensions in the order of `dims`.

    >>> import lamina
    >>> lamina.permute(lamina.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    if numpy_names or dims is MISSING:
        return again(permute, numpy_names, input, dims)
    return permuted(input, sizes_of((dims,), "dims"))


offer("permute", _permute, permuted)


def permute_method(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    """A view with the dimensions in the order of `dims`."""
    return permuted(self, sizes_of(given(dims, named, "dims"), "dims"))


@takes_numpy_names
def movedim(input: Tensor, source: Any, destination: Any, **numpy_names: Any) -> Tensor:
    """A view with some dimensions moved to new places; the others keep their order."""
    if numpy_names or destination is MISSING:
        return again(movedim, numpy_names, input, source, destination)
    sources = (source,) if isinstance(source, int) else tuple(source)
    targets = (destination,) if isinstance(destination, int) else tuple(destination)
    ndim = input._array.ndim
    if len(sources) != len(targets):
        raise errors.InvalidArgument(
            f"movedim: Invalid source or destination dims: source ({listed(sources)} dims) should "
            f"contain the same number of dims as destination ({listed(targets)} dims)",
            [(this_place(), "called here")],
        )
    places = {}
    for word, chosen in (("source", sources), ("destination", targets)):
        places[word] = [axis_of(dim, ndim) for dim in chosen]
        if len(set(places[word])) != len(chosen):
            raise errors.InvalidArgument(
                f"movedim: repeated dim in `{word}` ({listed(chosen)})",
                [(this_place(), "called here")],
            )
    if not ndim:
        return traced.alias(input)
    order = [axis for axis in range(ndim) if axis not in places["source"]]
    for target, origin in sorted(zip(places["destination"], places["source"], strict=True)):
        order.insert(target, origin)
    return permuted(input, tuple(order))


@takes_numpy_names
def moveaxis(input: Tensor, source: Any, destination: Any, **numpy_names: Any) -> Tensor:
    """A view with some dimensions moved: `movedim` under NumPy's name."""
    if numpy_names or destination is MISSING:
        return again(moveaxis, numpy_names, input, source, destination)
    return movedim(input, source, destination)


# --- transposes as attributes --------------------------------------------------------------------


def _matrices(self: Tensor, name: str, exact: bool = False) -> int:
    ndim: int = self._array.ndim
    if ndim == 1 or (exact and ndim > 2):
        kind = "matrices (2-D tensors)" if exact else "matrices or batches of matrices"
        hint = " For batches of matrices, consider using tensor.mH" if exact and ndim > 2 else ""
        raise errors.InvalidArgument(
            f"tensor.{name} is only supported on {kind}. Got {ndim}-D tensor.{hint}",
            [(this_place(), "asked for here")],
            ["use .mT / .mH for batches, permute for other orders, unsqueeze for a vector"],
        )
    return ndim


def matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions exchanged (`tensor.mT`)."""
    if _matrices(self, "mT") == 0:
        return self
    return transpose(self, -2, -1)


def reversed_dims(self: Tensor) -> Tensor:
    """All dimensions in reverse order (`tensor.T`)."""
    ndim = self._array.ndim
    if ndim > 2:
        warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
            "to reverse the dimensions of a tensor."
        )
    return permuted(self, tuple(range(ndim - 1, -1, -1)))


def matrix_adjoint(self: Tensor) -> Tensor:
    """The conjugate transpose of each matrix (`tensor.mH`)."""
    if _matrices(self, "mH") == 0:
        raise errors.InvalidArgument(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 0-D "
            "tensor.",
            [(this_place(), "asked for here")],
        )
    return _conjugated(transpose(self, -2, -1))


def conjugate_transpose(self: Tensor) -> Tensor:
    """The conjugate transpose of one matrix (`tensor.H`)."""
    if _matrices(self, "H", exact=True) == 0:
        return _conjugated(self)
    return _conjugated(transpose(self, 0, 1))


@native
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of each matrix, transposed."""
    return matrix_adjoint(input)


def _conjugated(input: Tensor) -> Tensor:
    return traced.conj(input) if input._array.dtype.kind == "c" else input
