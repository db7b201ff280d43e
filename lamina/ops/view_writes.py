"""Copies with a part written over that a view shows: select_scatter and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.op import raw
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.core.views import replay
from lamina.ops.axes import sizes_of

__all__ = ["as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter"]


def _overwritten(input: Any, src: Any, steps: Any) -> Any:
    out = np.copy(input, order="C")
    part = replay(raw, out, steps)
    if part.shape != src.shape:
        raise errors.WriteShapeMismatch(
            "expected src to have a size equal to the slice of self. src size = "
            f"{dims(src.shape)}, slice size = {dims(part.shape)}",
            [(this_place(), "called here")],
        )
    part[...] = src
    return out


def _select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    return _overwritten(input, src, (("select", (dim, index)),))


select_scatter = operation(
    "select_scatter",
    _select_scatter,
    tensors="input src",
    grad={
        "input": lambda F, g, dim, index: F.overwrite_view(g, None, (("select", (dim, index)),)),
        "src": lambda F, g, dim, index: F.select(g, dim, index),
    },
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3), make(2), 1, 0)],
    doc="A copy with `src` written at one index of a dimension.",
)


def _slice_scatter(
    input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    return _overwritten(input, src, (("slice", (dim, start, end, step)),))


slice_scatter = operation(
    "slice_scatter",
    _slice_scatter,
    tensors="input src",
    grad={
        "input": lambda F, g, dim, start, end, step: F.overwrite_view(
            g, None, (("slice", (dim, start, end, step)),)
        ),
        "src": lambda F, g, dim, start, end, step: F.slice(g, dim, start, end, step),
    },
    halves_in_float=False,
    samples=lambda make: [sample(make(4, 3), make(2, 3), 0, 0, 4, 2)],
    doc="A copy with `src` written over a range of indices of a dimension.",
)


def _diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return _overwritten(input, src, (("diagonal", (offset, dim1, dim2)),))


diagonal_scatter = operation(
    "diagonal_scatter",
    _diagonal_scatter,
    tensors="input src",
    grad={
        "input": lambda F, g, offset, dim1, dim2: F.overwrite_view(
            g, None, (("diagonal", (offset, dim1, dim2)),)
        ),
        "src": lambda F, g, offset, dim1, dim2: F.diagonal(g, offset, dim1, dim2),
    },
    halves_in_float=False,
    samples=lambda make: [sample(make(3, 3), make(3)), sample(make(3, 3), make(2), 1)],
    doc="A copy with `src` written over a diagonal.",
)


def _as_strided_scatter(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: int = 0
) -> Any:
    return _overwritten(input, src, (("part_of_rows", (size, stride, storage_offset)),))


_strided_scatter = operation(
    "as_strided_scatter",
    _as_strided_scatter,
    tensors="input src",
    grad={
        "input": lambda F, g, size, stride, storage_offset: F.overwrite_view(
            g, None, (("part_of_rows", (size, stride, storage_offset)),)
        ),
        "src": lambda F, g, size, stride, storage_offset: F.part_of_rows(
            g, size, stride, storage_offset
        ),
    },
    halves_in_float=False,
    samples=lambda make: [sample(make(3, 4), make(2, 2), (2, 2), (1, 4), 1)],
    doc="A copy with `src` written over a strided view.",
)


@native
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:  # fmt: skip
    """A copy with `src` written over a strided view."""
    found: Tensor = _strided_scatter(
        input, src, sizes_of((size,)), sizes_of((stride,), "stride"), storage_offset or 0
    )
    return found
