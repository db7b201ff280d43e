"""Elements of planes (the last dimensions of a tensor, flattened): where maxima came from."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.kernels.serving import serves
from lamina.codegen.later import Later
from lamina.core.call import operation
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.constants import constant_like
from lamina.ops.halves import in_float

if TYPE_CHECKING:
    from lamina.codegen.kernels import pooling as native_pooling
else:
    native_pooling = Later("lamina.codegen.kernels.pooling")

LEAST_WORK: Final = 1 << 14
"""From how many elements on machine code is used, if it can be made."""


def from_planes(input: Any, indices: Any, rank: int) -> Any:
    """Elements of planes by index, as `indices` is laid out."""
    lead = input.shape[: input.ndim - rank]
    flat = input.reshape(*lead, math.prod(input.shape[input.ndim - rank :]))
    count = math.prod(indices.shape[len(lead) :])
    found = np.take_along_axis(flat, indices.reshape(*lead, count), -1)
    return found.reshape(indices.shape)


@functools.lru_cache(64)
def _starts(count: int, area: int) -> Any:
    """Where planes of so many elements start, one below the other."""
    return (np.arange(count) * area)[:, None]


def _scattered(input: Any, indices: Any, sizes: tuple[int, ...]) -> Any:
    return fresh((*input.shape[: input.ndim - len(sizes)], *sizes), input.dtype)


@array_function(_scattered)
def scatter_in_planes(input: Any, indices: Any, sizes: tuple[int, ...]) -> Any:
    """Planes of zeros with elements where their indices say."""
    if serves(input.size, LEAST_WORK, input) and indices.dtype == np.int64:
        found = native_pooling.scatter(input, indices, sizes)
        if found is not None:
            return found
    lead = input.shape[: input.ndim - len(sizes)]
    area = math.prod(sizes)
    made = np.zeros_like(input, shape=(math.prod(lead) * area,))
    planes = constant_like(indices, _starts(math.prod(lead), area))
    count = math.prod(input.shape[len(lead) :])
    index = indices.reshape(math.prod(lead), count) + planes
    np.add.at(made, index.reshape(-1), input.reshape(-1))
    return made.reshape(*lead, *sizes)


@in_float
def _plane_scatter(input: Any, indices: Any, sizes: Any) -> Any:
    return scatter_in_planes(input, indices, tuple(sizes))


operation(
    "plane_gather",
    from_planes,
    tensors="input indices",
    grad={
        "input": lambda F, g, indices, input_shape, rank: F.plane_scatter(
            g, indices, tuple(input_shape[len(input_shape) - rank :])
        )
    },
    halves_in_float=False,
    doc="Elements of planes (the last dimensions, flattened), by index.",
)
operation(
    "plane_scatter",
    _plane_scatter,
    tensors="input indices",
    grad={
        "input": lambda F, g, indices, sizes: F.plane_gather(g, indices, len(sizes)),
    },
    doc="Zero planes with elements added at indices.",
)
