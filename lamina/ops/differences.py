"""Differences, areas under curves, and gradients of sampled functions.

All of these are made of slices, sums and products, which have the derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.op import traced
from lamina.core.tensor import Tensor
from lamina.ops.reduced import axes_of, axis_of


def _part(input: Any, axis: int, start: int | None, stop: int | None) -> Any:
    """The part of a tensor between two places of one dimension."""
    return input[(*(slice(None),) * axis, slice(start, stop))]


@native
def diff(
    input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None, *,
    out: Any = None,
) -> Any:  # fmt: skip
    """The differences of neighbours along a dimension, taken `n` times.

    >>> import lamina
    >>> lamina.diff(lamina.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if input.ndim == 0:
        raise errors.InvalidArgument(
            "diff expects input to be at least one-dimensional", [(this_place(), "called here")]
        )
    axis = axis_of(dim, input.ndim)
    around = [part for part in (prepend, input, append) if part is not None]
    if len(around) > 1:
        input = traced.cat(around, axis)
    is_truth = input._array.dtype.kind == "b"
    if n == 0:
        input = traced.clone(input)
    for _ in range(min(n, input.shape[axis])):
        later, earlier = _part(input, axis, 1, None), _part(input, axis, None, -1)
        input = traced.logical_xor(later, earlier) if is_truth else later - earlier
    return input if out is None else traced.copied(input, out=out)


# --- areas under curves ------------------------------------------------------------------------


def _areas(y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """Twice the area between each two neighbours."""
    axis = axis_of(dim, y.ndim)
    if x is None:
        step: Any = 1 if dx is None else dx
        return (_part(y, axis, 1, None) + _part(y, axis, None, -1)) * step, axis
    if dx is not None:
        raise errors.ArgumentTypeError(
            "trapezoid: either `x` or `dx` can be given, not both", [(this_place(), "called here")]
        )
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise errors.ShapeMismatch(
                "trapezoid: There must be one `x` value for each sample point, but there are "
                f"{x.shape[0]} for {y.shape[axis]}",
                [(this_place(), "called here")],
            )
        step = x[1:] - x[:-1]
        step = traced.reshape(step, (-1, *(1,) * (y.ndim - axis - 1)))
    else:
        axis_x = axis_of(dim if dim < 0 else axis - y.ndim, x.ndim)
        step = _part(x, axis_x, 1, None) - _part(x, axis_x, None, -1)
    return (_part(y, axis, 1, None) + _part(y, axis, None, -1)) * step, axis


@native
def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    r"""The area under samples of a curve: $\sum_i \Delta x_i (y_i + y_{i+1}) / 2$.

    >>> import lamina
    >>> lamina.trapezoid(lamina.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    """
    if y.shape[dim] == 0:
        return traced.zeros_like(traced.sum(y, dim))
    areas, axis = _areas(y, x, dx, dim)
    return traced.sum(areas, axis - y.ndim) / 2.0


@native
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """The running area under samples of a curve; see `trapezoid`.

    >>> import lamina
    >>> lamina.cumulative_trapezoid(lamina.tensor([1.0, 5.0, 10.0]))
    tensor([ 3.0000, 10.5000])
    """
    areas, axis = _areas(y, x, dx, dim)
    return traced.cumsum(areas, axis - y.ndim) / 2.0


# --- gradients of sampled functions ------------------------------------------------------------


def _inner(input: Any, axis: int, spacing: Any) -> Any:
    """The derivative at inner places, from both neighbours."""
    later, here, earlier = (
        _part(input, axis, 2, None), _part(input, axis, 1, -1), _part(input, axis, None, -2),
    )  # fmt: skip
    if not isinstance(spacing, Tensor):
        return (later - earlier) / (2.0 * spacing)
    steps = spacing[1:] - spacing[:-1]
    steps = traced.reshape(steps, (-1, *(1,) * (input.ndim - axis - 1)))
    before, after = steps[:-1], steps[1:]
    both = before + after
    return (
        earlier * (-after / (before * both))
        + here * ((after - before) / (before * after))
        + later * (before / (after * both))
    )


def _edge(input: Any, axis: int, spacing: Any, at_end: bool, edge_order: int) -> Any:
    """The derivative at the first or last place, from one or two neighbours."""
    length = input.shape[axis]
    places = [length - 1, length - 2, length - 3] if at_end else [0, 1, 2]
    values = [_part(input, axis, p, p + 1) for p in places[: edge_order + 1]]
    if isinstance(spacing, Tensor):
        first = spacing[places[1]] - spacing[places[0]]
        second = spacing[places[2]] - spacing[places[1]] if edge_order == 2 else None
    else:
        first = second = -spacing if at_end else spacing
    if edge_order == 1:
        return (values[1] - values[0]) / first
    return (
        values[0] * (-(2.0 * first + second) / (first * (first + second)))
        + values[1] * ((first + second) / (first * second))
        + values[2] * (-first / (second * (first + second)))
    )


def _gradient_along(input: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    first = _edge(input, axis, spacing, False, edge_order)
    last = _edge(input, axis, spacing, True, edge_order)
    return traced.cat([first, _inner(input, axis, spacing), last], axis)


@native
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """The derivatives of a sampled function along dimensions, by central differences.

    Args:
        input: The samples.
        spacing: The distance between samples; or one distance, or one tensor of coordinates, for
            each dimension.
        dim: A dimension, or several; all if None.
        edge_order: 1 or 2: how exact the derivatives at both ends are.

    Returns:
        A tuple with one tensor for each dimension.

    >>> import lamina
    >>> lamina.gradient(lamina.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    place = [(this_place(), "called here")]
    if edge_order not in (1, 2):
        raise errors.InvalidArgument(
            f"torch.gradient only supports edge_order=1 and edge_order=2, but got {edge_order}",
            place,
        )
    axes = axes_of(dim, input.ndim)
    spacing = 1 if spacing is None else spacing
    spacings = spacing if isinstance(spacing, Sequence) else [spacing] * len(axes)
    if isinstance(spacing, Tensor):
        spacings = [spacing] * len(axes)
    if len(spacings) != len(axes):
        raise errors.InvalidArgument(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {len(axes)}', but got a list of length {len(spacings)}",
            place,
        )
    for axis in axes:
        if input.shape[axis] <= edge_order:
            raise errors.InvalidArgument(
                "torch.gradient expected each dimension size to be at least edge_order+1", place
            )
    return tuple(
        _gradient_along(input, axis, each, edge_order)
        for axis, each in zip(axes, spacings, strict=True)
    )


trapz = trapezoid

__all__ = ["cumulative_trapezoid", "diff", "gradient", "trapezoid", "trapz"]
