"""Images read at any places: grids of places, and the values there."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.call import operation
from lamina.core.op import raw
from lamina.core.samples import sample
from lamina.core.tensor import wrap
from lamina.ops.constants import constant_like
from lamina.ops.halves import in_float
from lamina.ops.interpolation import cubic_weights

__all__: list[str] = []


class Reading(NamedTuple):
    """How values between and beyond elements are found."""

    mode: str
    padding: str
    align_corners: bool


# --- places and their neighbours ---------------------------------------------------------------


def _reflected(places: Any, low: float, high: float) -> Any:
    """Places folded back into [low, high], as between mirrors."""
    span = high - low
    if span == 0:
        return places * 0
    away = np.abs(places - low) % (2 * span)
    return np.where(away > span, 2 * span - away, away) + low


def _kept_inside(places: Any, size: int, reading: Reading) -> Any:
    """Places moved into the image as the padding says."""
    if reading.padding == "reflection":
        ends = (0, size - 1) if reading.align_corners else (-0.5, size - 0.5)
        places = _reflected(places, *ends)
    return np.clip(places, 0, size - 1) if reading.padding != "zeros" else places


def _place(input: Any, size: int, reading: Reading) -> Any:
    """From [-1, 1] to where elements are 0, 1, ... `size - 1`; inside the image if so padded."""
    scaled = _unnormalized(input, size, reading.align_corners)
    if reading.mode == "bicubic":
        return scaled
    return _kept_inside(scaled, size, reading)


def _unnormalized(input: Any, size: int, align_corners: bool) -> Any:
    if align_corners:
        return (input + 1) * ((size - 1) / 2)
    return ((input + 1) * size - 1) * 0.5


def _place_slope(input: Any, size: int, reading: Reading) -> Any:
    """The derivative of `place`, which is piecewise constant."""
    slope = (size - 1) / 2 if reading.align_corners else size / 2
    made = np.full_like(input, slope)
    if reading.mode == "bicubic" or reading.padding == "zeros":
        return made
    places = _unnormalized(input, size, reading.align_corners)
    if reading.padding == "reflection":
        low, high = (0, size - 1) if reading.align_corners else (-0.5, size - 0.5)
        span = high - low
        turns = np.floor(np.abs(places - low) / span) if span else np.zeros_like(places)
        made = np.where((turns % 2 == 0) == (places >= low), made, -made)
        places = _reflected(places, low, high)
    return np.where((places > 0) & (places < size - 1), made, 0)


def _neighbour(input: Any, size: int, offset: int, reading: Reading) -> tuple[Any, Any]:
    """The index of an element next to a place, and 1 where there is one, else 0."""
    first = np.rint(input) if reading.mode == "nearest" else np.floor(input)
    index = first + offset
    if reading.mode == "bicubic":
        index = _kept_inside(index, size, reading)
    inside = (index >= 0) & (index < size)
    whole = np.where(inside, index, 0).astype(np.int64)
    return whole, inside.astype(input.dtype)


operation(
    "grid_place",
    _place,
    grad={"input": lambda F, g, input, size, reading: g * F.grid_place_slope(input, size, reading)},
    doc="Where in an image a place in [-1, 1] is.",
)
operation("grid_place_slope", _place_slope, doc="The derivative of `grid_place`.")
operation("grid_neighbour", _neighbour, doc="An element next to a place, and whether it exists.")


def _weights(F: Any, place: Any, mode: str) -> tuple[tuple[int, ...], list[Any]]:
    """The offsets of neighbours and their weights, as functions of the place."""
    if mode == "nearest":
        return (0,), [None]
    t = place - F.floor(place)
    if mode == "bilinear":
        return (0, 1), [1 - t, t]
    return (-1, 0, 1, 2), cubic_weights(t)


def _slopes(F: Any, place: Any, mode: str) -> list[Any]:
    """The derivatives of the weights with respect to the place."""
    if mode == "bilinear":
        return [-1.0, 1.0]
    t = place - F.floor(place)
    a = -0.75

    def near(x: Any) -> Any:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Any) -> Any:
        return (3 * a * x - 10 * a) * x + 8 * a

    return [far(t + 1), near(t), -near(1 - t), -far(2 - t)]


def _gather(input: Any, indices: Any, rank: int) -> Any:
    batch, channels = input.shape[:2]
    flat = input.reshape(batch, channels, -1)
    lines = indices.reshape(batch, 1, -1)
    return np.take_along_axis(flat, lines, -1).reshape(batch, channels, *indices.shape[1:])


@in_float
def _scatter(input: Any, indices: Any, sizes: Any) -> Any:
    batch, channels = input.shape[:2]
    area = int(np.prod(sizes))
    made = np.zeros_like(input, shape=(batch * channels * area,))
    planes = constant_like(indices, (np.arange(batch * channels) * area).reshape(batch, -1, 1))
    index = indices.reshape(batch, 1, -1) + planes
    np.add.at(made, index.reshape(-1), input.reshape(-1))
    return made.reshape(batch, channels, *sizes)


operation(
    "grid_gather",
    _gather,
    tensors="input indices",
    grad={
        "input": lambda F, g, indices, input_shape: F.grid_scatter(
            g, indices, tuple(input_shape[2:])
        )
    },
    doc="Elements of all channels, by their index in the flattened image.",
)
operation(
    "grid_scatter",
    _scatter,
    tensors="input indices",
    grad={"input": lambda F, g, indices, sizes: F.grid_gather(g, indices, len(sizes))},
    doc="Zero images with elements added by index.",
)
# --- reading an image --------------------------------------------------------------------------


def _neighbours(F: Any, grid: Any, sizes: Any, reading: Reading) -> Any:
    """For every neighbour of all places: its index, where it exists, and weights per dimension."""
    rank = len(sizes)
    # Coordinates are given from the last dimension to the first.
    places = [
        F.grid_place(F.select(grid, -1, rank - 1 - k), sizes[k], reading) for k in range(rank)
    ]
    found = [_weights(F, place, reading.mode) for place in places]
    for choice in product(range(len(found[0][0])), repeat=rank):
        index, inside = 0, 1
        for k, j in enumerate(choice):
            own, exists = F.grid_neighbour(places[k], sizes[k], found[k][0][j], reading)
            index = index * sizes[k] + own
            inside = inside * exists
        yield choice, index, inside, [found[k][1][j] for k, j in enumerate(choice)], places


def _product(parts: list[Any], start: Any) -> Any:
    for part in parts:
        if part is not None:
            start = start * part
    return start


def _read(F: Any, input: Any, grid: Any, reading: Reading) -> Any:
    sizes = tuple(input.shape[2:])
    total = None
    for _, index, inside, weights, _ in _neighbours(F, grid, sizes, reading):
        weight = _product(weights, inside)
        part = F.grid_gather(input, index, len(sizes)) * F.unsqueeze(weight, 1)
        total = part if total is None else total + part
    return total


def _grid_sample(input: Any, grid: Any, reading: Reading) -> Any:
    return _read(raw, input, grid, reading)


def _rule(F: Any, g: Any, input: Any, grid: Any, reading: Reading, needs: Any) -> Any:
    sizes = tuple(input.shape[2:])
    rank = len(sizes)
    of_input = None
    of_places: list[Any] = [None] * rank
    places: Any = None
    for choice, index, inside, weights, places in _neighbours(F, grid, sizes, reading):
        if needs[0]:
            weight = F.unsqueeze(_product(weights, inside), 1)
            part = F.grid_scatter(g * weight, index, sizes)
            of_input = part if of_input is None else of_input + part
        if not needs[1] or reading.mode == "nearest":
            continue
        along = F.sum(g * F.grid_gather(input, index, rank), 1, False) * inside
        for k in range(rank):
            slope = _slopes(F, places[k], reading.mode)[choice[k]]
            part = _product([*weights[:k], *weights[k + 1 :]], along * slope)
            of_places[k] = part if of_places[k] is None else of_places[k] + part
    if not needs[1]:
        return of_input, None
    if reading.mode == "nearest":
        return of_input, grid * 0
    parts = []
    for k, part in enumerate(of_places):
        coordinate = F.select(grid, -1, rank - 1 - k)
        parts.append(part * F.grid_place_slope(coordinate, sizes[k], reading))
    return of_input, F.stack(parts[::-1], -1)


def _declare(rank: int) -> Any:
    return operation(
        f"grid_sampler_{rank}d_reading",
        _grid_sample,
        tensors="input grid",
        grad=_rule,
        node_name=f"GridSampler{rank}DBackward0",
        samples=lambda make: [
            sample(
                make(1, 2, *[4] * rank),
                make(1, *[3] * rank, rank, low=-0.9, high=0.9),
                Reading("bilinear", "zeros", False),
            )
        ],
        doc="Values of images at places, from elements around them.",
    )


_SAMPLE = {2: _declare(2), 3: _declare(3)}


@takes_tensors
def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """Values of images at places.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W).
        grid: places (N, H', W', 2) as (x, y), or (N, D', H', W', 3) as (x, y, z); -1 and 1 are the
            ends of a dimension.
        mode: "bilinear", "nearest" or "bicubic" (4-d input).
        padding_mode: what is beyond the ends: "zeros", "border" or "reflection".
        align_corners: whether the ends are the centres of the outermost elements, instead of their
            outer edges.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise errors.InvalidValue(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise errors.InvalidValue(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    shape, places = input._array.shape, grid._array.shape
    rank = len(shape) - 2
    if rank not in _SAMPLE or len(places) != len(shape) or places[-1] != rank:
        raise errors.InvalidArgument(
            "grid_sampler(): expected a 4D or 5D input and a grid of as many dimensions, with "
            f"size {rank} in the last, but got {list(shape)} and {list(places)}"
        )
    if places[0] != shape[0]:
        raise errors.InvalidArgument(
            "grid_sampler(): expected grid and input to have same batch size, but got "
            f"{list(shape)} and {list(places)}"
        )
    if mode == "bicubic" and rank == 3:
        raise errors.InvalidArgument("grid_sampler(): bicubic interpolation only supports 4D input")
    return _SAMPLE[rank](input, grid, Reading(mode, padding_mode, bool(align_corners)))


def _base_line(count: int, align_corners: bool) -> Any:
    if count == 1:
        return np.zeros(1)
    line = np.linspace(-1, 1, count)
    return line if align_corners else line * ((count - 1) / count)


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """Places for `grid_sample` that move an image by an affine map.

    Args:
        theta: maps (N, 2, 3), or (N, 3, 4) of volumes.
        size: the sizes (N, C, H, W) or (N, C, D, H, W) wanted.
        align_corners: as for `grid_sample`.
    """
    size = tuple(map(int, size))
    rank = len(size) - 2
    if rank not in (2, 3) or theta._array.shape != (size[0], rank, rank + 1):
        raise errors.InvalidValue(
            f"Expected a batch of {rank}x{rank + 1} affine matrices for size {list(size)}, but got "
            f"{list(theta._array.shape)}"
        )
    lines = [_base_line(count, bool(align_corners)) for count in size[2:]]
    axes = np.meshgrid(*lines, indexing="ij")
    places = np.stack([*reversed(axes), np.ones_like(axes[0])], axis=-1).reshape(-1, rank + 1)
    base = wrap(constant_like(theta._array, places.astype(theta._array.dtype)), None)
    return (base @ theta.transpose(1, 2)).view(size[0], *size[2:], rank)
