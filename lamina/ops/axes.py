"""Dimensions and sizes as users give them, checked and made regular."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.arguments import whole_numbers
from lamina.core.blame.words import this_place


def axis_of(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; a tensor without dimensions counts as having one."""
    if dim.__class__ is not int and hasattr(dim, "__index__"):
        dim = dim.__index__()  # a tensor of one whole number, for example
    if -ndim <= dim < ndim:
        return dim if dim >= 0 else dim + ndim
    if ndim == 0 and (dim == 0 or dim == -1):
        return 0
    raise blame.dim_out_of_range(dim, ndim)


def axes_of(dims: Iterable[Any], ndim: int) -> tuple[int, ...]:
    """Several dimensions counted from the front, all different."""
    axes = tuple([axis_of(dim, ndim) for dim in dims])
    if len(set(axes)) != len(axes):
        twice = next(axis for axis in axes if axes.count(axis) > 1)
        raise errors.InvalidArgument(
            f"dim {twice} appears multiple times in the list of dims",
            [(this_place(), "given here")],
        )
    return axes


def sizes_of(sizes: Sequence[Any], what: str = "size") -> tuple[int, ...]:
    """Sizes given one by one, or as one sequence: `x.view(2, 3)` and `x.view((2, 3))`."""
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = sizes[0]
    for size in sizes:
        if size.__class__ is not int:
            return whole_numbers(None, what, sizes)
    return tuple(sizes)


def given(sizes: Sequence[Any], named: dict[str, Any], key: str) -> Sequence[Any]:
    """Sizes given by position, or as one keyword argument: `x.permute(dims=(1, 0))`."""
    if key in named and not sizes and len(named) == 1:
        return (named[key],)
    if named:
        wrong = next((name for name in named if name != key), key)
        raise errors.ArgumentTypeError(
            f"got an unexpected keyword argument '{wrong}'", [(this_place(), "called here")]
        )
    return sizes


def rows_first(array: Any) -> Any:
    """The array row by row in memory: NumPy gives results the order of their inputs."""
    return array if array.flags.c_contiguous else array.copy("C")
