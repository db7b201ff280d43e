"""Shapes: views that rearrange dimensions, and copies that join, split and repeat."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.core.provenance import here


def _view_of_outputs(input: Any, name: str, args: Any, index: int) -> Any:
    from lamina.core.op import raw

    return getattr(raw, name)(input, *args)[index]


def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    return np.swapaxes(input, dim0, dim1)


transpose = operation(
    "transpose",
    _transpose,
    grad={"input": lambda F, g, dim0, dim1: F.transpose(g, dim0, dim1)},
    is_view=True,
    halves_in_float=False,
    doc="A view with two dimensions exchanged.",
)


def _broadcast_to(input: Any, size: Any) -> Any:
    return np.broadcast_to(input, size)


broadcast_to = operation(
    "broadcast_to",
    _broadcast_to,
    grad={"input": lambda F, g, input_shape: F.sum_to_size(g, input_shape)},
    node_name="ExpandBackward0",
    is_view=True,
    halves_in_float=False,
    doc="A view that repeats elements along dimensions of size 1 and new leading ones.",
)


def _clone(input: Any) -> Any:
    return input.copy()


clone = operation("clone", _clone, grad={"input": lambda F, g: g}, halves_in_float=False, doc="A copy with its own memory.")


def _slice_view(input: Any, index: Any) -> Any:
    # With an Ellipsis NumPy gives an array, and so a view, also when a single element is chosen.
    index = index if isinstance(index, tuple) else (index,)
    return input[index if any(part is Ellipsis for part in index) else (*index, Ellipsis)]


slice_view = operation(
    "slice_view",
    _slice_view,
    grad={
        "input": lambda F, g, input_shape, input_dtype, index: F.embed_view(
            g, input_shape, input_dtype, (("slice_view", (index,)),)
        )
    },
    node_name="SliceBackward0",
    is_view=True,
    halves_in_float=False,
    doc="A view by integers, slices, None and Ellipsis.",
)


def _zeros_like(input: Any) -> Any:
    return np.zeros_like(input)


zeros_like = operation("zeros_like", _zeros_like, doc="Zeros")


def _sum(input: Any) -> Any:
    return np.sum(input)


sum = operation("sum", _sum, grad={"input": lambda F, g, input_shape: F.broadcast_to(g, input_shape)}, doc="Sum")
