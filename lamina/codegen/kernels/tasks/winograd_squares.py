"""The arithmetic of Winograd's minimal filtering F(2 x 2, 3 x 3), on squares of lanes.

Four results of a kernel of nine elements, which are neighbours, depend on a square of 4 x 4
elements. Squares and kernels are transformed to 16 numbers each, whose products, summed up over
channels, are transformed to the four results: 16 multiplications instead of 36.

With d, g and y for the elements, the kernel, and the results:

    y = A' ((G g G') * (B' d B)) A

Gradients of the kernel are the same read backwards: G' ((A y A') * (B' d B)) G.

References:
    Lavin, A., Gray, S. "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.
    Winograd, S. "Arithmetic Complexity of Computations", SIAM 1980.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from lamina.codegen.llvm.ir import Lanes

Line = Callable[..., list[Lanes]]


def transformed(line: Line, square: Sequence[Lanes]) -> list[Lanes]:
    """A transform of one line, done to all columns of a square, then to all rows.

    Squares are given and made row by row.
    """
    side = math.isqrt(len(square))
    rows = [square[k : k + side] for k in range(0, len(square), side)]
    return in_rows(line, [line(*column) for column in zip(*rows, strict=True)])


def in_rows(line: Line, columns: Sequence[Sequence[Lanes]]) -> list[Lanes]:
    """A transform of one line, done to all rows of a square that is given by its columns."""
    return [lanes for row in zip(*columns, strict=True) for lanes in line(*row)]


def elements(first: Lanes, second: Lanes, third: Lanes, fourth: Lanes) -> list[Lanes]:
    """B': what a line of four elements becomes."""
    return [first - third, second + third, third - second, second - fourth]


def kernel(first: Lanes, second: Lanes, third: Lanes) -> list[Lanes]:
    """G: what a line of three elements of a kernel becomes."""
    outer = (first + third) * 0.5
    inner = second * 0.5
    return [first, outer + inner, outer - inner, third]


def results(first: Lanes, second: Lanes, third: Lanes, fourth: Lanes) -> list[Lanes]:
    """A': the two results of a line of four sums of products."""
    return [first + second + third, second - third - fourth]


def gradients(first: Lanes, second: Lanes) -> list[Lanes]:
    """A: what a line of two results' gradients becomes."""
    return [first, first + second, first - second, -second]


def kernel_gradients(first: Lanes, second: Lanes, third: Lanes, fourth: Lanes) -> list[Lanes]:
    """G': the gradients of three elements of a kernel, of a line of four sums of products."""
    outer, inner = (second + third) * 0.5, (second - third) * 0.5
    return [first + outer, inner, outer + fourth]
