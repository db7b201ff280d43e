"""Convolutions by machine code, on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.depthwise import convolve_depthwise, convolve_depthwise_for_weight
from lamina.codegen.kernels.gathered_products import convolve_by_products
from lamina.codegen.kernels.shapes import Shapes, dense_rows, together
from lamina.codegen.kernels.weight_products import POSITIONS, weigh_by_products
from lamina.codegen.kernels.winograd import convolve_by_winograd
from lamina.codegen.kernels.winograd_weights import weigh_by_winograd

TOGETHER: Final = 512
"""How many positions of small images are done together."""


def convolve(
    source: Any, weight: Any, bias: Any, result: Any, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], groups: int, transposed: bool,
) -> None:  # fmt: skip
    """Write the convolution (or its transpose) into `result`, which is contiguous."""
    if not result.size:
        return
    source, weight = dense_rows(source), np.ascontiguousarray(weight)
    kernel = weight.shape[2:]
    shapes = _shapes(
        source, kernel, result, stride, padding, dilation, groups, TOGETHER, transposed
    )
    if shapes.is_depthwise:
        convolve_depthwise(source, weight, bias, result, shapes)
    elif not convolve_by_winograd(source, weight, bias, result, shapes):
        convolve_by_products(source, weight, bias, result, shapes)


def convolve_for_weight(
    source: Any, gradient: Any, result: Any, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], groups: int,
) -> None:  # fmt: skip
    """Write the gradient of a convolution's weight into `result`, which is contiguous."""
    if not result.size:
        return
    if not gradient.size:
        result[...] = 0
        return
    source, gradient = dense_rows(source), dense_rows(gradient)
    shapes = _shapes(
        source, result.shape[2:], gradient, stride, padding, dilation, groups, POSITIONS, False
    )
    if shapes.is_depthwise:
        convolve_depthwise_for_weight(source, gradient, result, shapes)
    elif not weigh_by_winograd(source, gradient, result, shapes):
        weigh_by_products(source, gradient, result, shapes)


def _shapes(
    source: Any, kernel: tuple[int, ...], result: Any, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], groups: int, most: int, transposed: bool,
) -> Shapes:  # fmt: skip
    channels, outputs = source.shape[1] // groups, result.shape[1] // groups
    images = together(source.shape[0], math.prod(result.shape[2:]), most)
    if channels == outputs == 1:
        images = 1
    item = source.itemsize
    return Shapes(
        source.shape[2:], kernel, result.shape[2:], tuple(stride), tuple(padding),
        tuple(dilation), channels, outputs, groups, images, source.strides[0] // item,
        result.strides[0] // item, transposed, source.dtype.char,
    )  # fmt: skip
