"""Elements of planes (the last dimensions of a tensor, flattened): where maxima came from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.ops.constants import constant_like
from lamina.ops.halves import in_float


def from_planes(input: Any, indices: Any, rank: int) -> Any:
    """Elements of planes by index, as `indices` is laid out."""
    lead = input.shape[: input.ndim - rank]
    flat = input.reshape(*lead, math.prod(input.shape[input.ndim - rank :]))
    count = math.prod(indices.shape[len(lead) :])
    found = np.take_along_axis(flat, indices.reshape(*lead, count), -1)
    return found.reshape(indices.shape)


@in_float
def _plane_scatter(input: Any, indices: Any, sizes: Any) -> Any:
    lead = input.shape[: input.ndim - len(sizes)]
    area = math.prod(sizes)
    made = np.zeros_like(input, shape=(math.prod(lead) * area,))
    planes = constant_like(indices, np.arange(math.prod(lead)) * area)
    count = math.prod(input.shape[len(lead) :])
    index = indices.reshape(math.prod(lead), count) + planes[:, None]
    np.add.at(made, index.reshape(-1), input.reshape(-1))
    return made.reshape(*lead, *sizes)


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
