"""The shapes of convolutions, and what their tables have in common."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lamina.codegen.kernels import gathering
from lamina.codegen.kernels.gathering import Meeting, Planes, Table


class Shapes(NamedTuple):
    """What the tables of a convolution depend on.

    Attributes:
        source, kernel, result: The sizes of the spatial dimensions.
        stride, padding, dilation: Of the convolution, or of the one that is transposed.
        channels, outputs: Channels of a group, before and after.
        groups: The number of groups.
        images: How many images are done together.
        source_step, result_step: From image to image, in elements.
        transposed: Whether the kernel is spread instead of gathered.
        char: The dtype.
    """

    source: tuple[int, ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    channels: int
    outputs: int
    groups: int
    images: int
    source_step: int
    result_step: int
    transposed: bool
    char: str

    @property
    def is_depthwise(self) -> bool:
        """Whether each group has one channel, before and after."""
        return self.channels == self.outputs == 1


def gathered(shapes: Shapes) -> tuple[Planes, list[Meeting]]:
    """The tables of a group; the images that are done together are one more dimension."""
    make = gathering.transposed_phases if shapes.transposed else gathering.forward_phases
    phases = [
        make(*sizes)
        for sizes in zip(
            shapes.result, shapes.kernel, shapes.stride, shapes.padding, shapes.dilation,
            strict=True,
        )
    ]  # fmt: skip
    images = gathering.forward_phases(shapes.images, 1, 1, 0, 1)
    sizes = gathering.Sizes(
        (shapes.images, *shapes.source), (1, *shapes.kernel), (shapes.images, *shapes.result),
        (shapes.source_step, *_dense_steps(shapes.source)),
        (shapes.result_step, *_dense_steps(shapes.result)),
    )  # fmt: skip
    return gathering.gather(sizes, [images, *phases])


def _dense_steps(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(sizes[k + 1 :]) for k in range(len(sizes)))


def together(batch: int, positions: int, most: int) -> int:
    """How many images are done together, so that few lanes are idle: a divisor of the batch."""
    wanted = max(most // max(positions, 1), 1)
    return max(n for n in range(1, min(wanted, batch) + 1) if batch % n == 0)


def entries(planes: Planes, item: int) -> Table:
    """The stretches that are copied, in bytes."""
    return planes.entries * np.array([item, item, 1])


def dense_rows(array: Any) -> Any:
    """The array, or a copy, with all spatial dimensions dense."""
    step = array.itemsize
    for size, stride in zip(array.shape[:1:-1], array.strides[:1:-1], strict=True):
        if size > 1 and stride != step:
            return np.ascontiguousarray(array)
        step *= size
    return array


def source_fields(source: Any, shapes: Shapes, planes: Planes, stretches: Table) -> dict[str, int]:
    """What tasks must know to copy the channels of some images."""
    item = source.itemsize
    return {
        "source": source.ctypes.data, "groups": shapes.groups,
        "source_batch": source.strides[0] * shapes.images,
        "source_group": source.strides[1] * shapes.channels,
        "source_channel": source.strides[1], "source_step": planes.step * item,
        "channels": shapes.channels, "entries": stretches.ctypes.data,
        "entry_count": len(stretches), "plane": planes.size * item,
    }  # fmt: skip
