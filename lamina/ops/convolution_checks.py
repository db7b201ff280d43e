"""What convolutions ask of their arguments."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.arguments import whole_numbers
from lamina.ops.convolution_kernels import Geometry


def sizes_of(value: Any, count: int, name: str, caller: str) -> tuple[int, ...]:
    """One number for each of `count` dimensions, from as many or from one for all."""
    if value.__class__ is int:
        return (value,) * count
    sizes = whole_numbers(caller, name, value)
    if len(sizes) == 1:
        return sizes * count
    if len(sizes) != count:
        raise errors.InvalidArgument(
            f"{caller}: expected {name} to be a single integer value or a list of {count} values "
            f"to match the convolution dimensions, but got {name}={list(sizes)}"
        )
    return sizes


def check(
    caller: str, input: Any, weight: Any, bias: Any, geometry: Geometry, transposed: bool
) -> None:
    """Raise for shapes and dtypes that don't fit together."""
    x, w = input._array, weight._array
    count = len(geometry.stride)
    if w.ndim != count + 2:
        raise errors.InvalidArgument(
            f"{caller}: expected a {count + 2}-dimensional weight, but got weight of size "
            f"{list(w.shape)}"
        )
    if x.dtype != w.dtype or (bias is not None and bias._array.dtype != w.dtype):
        kinds = f"Input type ({input.dtype}) and weight type ({weight.dtype})"
        if x.dtype == w.dtype:
            kinds = f"Input type ({input.dtype}) and bias type ({bias.dtype})"
        raise errors.DtypeError(
            f"{caller}: {kinds} should be the same", help=["convert one of them with `.to(dtype)`"]
        )
    if min(geometry.stride) <= 0 or min(geometry.dilation) <= 0 or geometry.groups <= 0:
        raise errors.InvalidArgument(
            f"{caller}: non-positive stride, dilation or groups is not supported"
        )
    if min(geometry.padding) < 0:
        raise errors.InvalidArgument(f"{caller}: negative padding is not supported")
    _check_channels(caller, x, w, bias, geometry, transposed)


def _check_channels(
    caller: str, x: Any, w: Any, bias: Any, geometry: Geometry, transposed: bool
) -> None:
    groups = geometry.groups
    wanted = w.shape[0] if transposed else w.shape[1] * groups
    if x.shape[1] != wanted or w.shape[0] % groups:
        raise errors.InvalidArgument(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input"
            f"{list(x.shape)} to have {wanted} channels, but got {x.shape[1]} channels instead",
            help=["channels are dimension 1 of a batch, and dimension 0 of a single sample"],
        )
    outputs = w.shape[1] * groups if transposed else w.shape[0]
    if bias is not None and bias._array.shape != (outputs,):
        raise errors.InvalidArgument(
            f"{caller}: expected bias to be 1-dimensional with {outputs} elements, but got bias of "
            f"size {list(bias._array.shape)} instead"
        )
    if not transposed and min(geometry.output(x.shape[2:], w.shape[2:])) <= 0:
        room = [size + 2 * p for size, p in zip(x.shape[2:], geometry.padding, strict=True)]
        raise errors.InvalidArgument(
            f"{caller}: Kernel size can't be greater than actual input size: the padded input is "
            f"{room}, the kernel reaches over {list(geometry.reach(w.shape[2:]))}",
            help=["pad the input, or use a smaller kernel or dilation"],
        )


def is_batched(caller: str, input: Any, count: int) -> bool:
    """Whether the input has a batch dimension; raise for any other number of dimensions."""
    ndim = input._array.ndim
    if ndim not in (count + 1, count + 2):
        raise errors.InvalidArgument(
            f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {caller}, but "
            f"got input of size: {list(input._array.shape)}"
        )
    return bool(ndim == count + 2)
