"""How products of matrices are made by our kernels, and which are left to BLAS.

`tasks/stacks` reads factors as they lie: stacks, and what is not large. `tasks/products` packs both
factors first, so that the second-level cache sees each number once for many tiles.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np

from lamina.codegen.kernels.task_library import lanes_of, rounded
from lamina.codegen.kernels.tasks import products, stacks
from lamina.codegen.kernels.tasks.tiles import heights_of
from lamina.codegen.llvm import machine, threads

LEAST_PRODUCTS: Final = 200_000
"""Multiplications from which on our kernels are faster than BLAS on one thread."""

LEAST_LANES: Final = 8
"""Lanes of float32 in a vector: with 4, as on ARM, nothing was measured, and BLAS has its way."""

LEAST_ROWS: Final = 4
LEAST_COLUMNS: Final = 8
"""With fewer, too much of a tile is empty."""

MOST_PACKED: Final = 48 << 20
"""Bytes of packed factors: larger ones are left to BLAS, which needs less memory."""

STRETCH: Final = 512
"""Steps that are summed up in registers at a time: a panel of rows stays in the first cache."""

ROWS_IN_CACHE: Final = 48
LEAST_PIECES: Final = 16
"""Rows whose panels are one piece, unless there would be too few for threads to finish together.

With fewer, large factors pass by too often: 1500 x 1500 of float64 took 20 % longer with 24.
"""

PIECES: Final = 8
ENOUGH_PIECES: Final = 4
"""Parts of a product that are wanted, and those that are worth reading a factor once more."""

LEAST_PIECE: Final = 130_000
"""Multiplications (a microsecond of them) that are worth a piece of their own."""

ROWS_TOGETHER: Final = 192
ROWS_PACKED: Final = 384
"""Rows of a piece at most: they stay in the second cache; packing is shared by more of them."""

MOST_AS_THEY_LIE: Final = {32: 1 << 27, 16: 1 << 22}
"""Multiplications from which on packing both factors pays, by how many vectors a machine holds.

Tiles of fewer rows read the right factor more often.
"""

TABLES: Final = {"product": products.FIELDS, "stack": stacks.FIELDS}
"""The functions of machine code, and what they find in their tables."""


@final
@dataclass(frozen=True)
class ProductPlan:
    """All that a product needs but addresses.

    Attributes:
        function: What makes it (see `TABLES`).
        numbers: The function's table, with zeros for addresses.
        nbytes: How much scratch memory there must be.
    """

    function: str
    numbers: tuple[int, ...]
    nbytes: int

    @property
    def names(self) -> tuple[str, ...]:
        """What stands where in the table."""
        return TABLES[self.function]


@final
class Factors(NamedTuple):
    """The factors of a product, or of a stack of them, as they lie in memory.

    Attributes:
        char: The dtype.
        stack: The sizes of the leading axes.
        sizes: Rows and columns of a result, and the inner dimension.
        left, right: Strides in bytes, of the leading axes and of a matrix.
        result_row: From a row of a result to the next; results lie one after another.
        adds: Whether products are added to what the results hold.
    """

    char: str
    stack: tuple[int, ...]
    sizes: tuple[int, int, int]
    left: tuple[int, ...]
    right: tuple[int, ...]
    result_row: int
    adds: bool = False

    @property
    def products(self) -> int:
        """How many multiplications there are."""
        return math.prod(self.stack) * math.prod(self.sizes)


def plan(factors: Factors) -> ProductPlan | None:
    """How a product is made; None where BLAS does that better."""
    rows, columns, _ = factors.sizes
    item = np.dtype(factors.char).itemsize
    if not has_tiles(factors.char) or item not in factors.right[-2:] or not factors.products:
        return None
    if rows < LEAST_ROWS or columns < LEAST_COLUMNS or factors.products < LEAST_PRODUCTS:
        return None
    is_large = factors.products >= MOST_AS_THEY_LIE[machine.register_count()]
    if is_large and math.prod(factors.stack) == 1 and item in factors.left[-2:]:
        return _in_panels(factors, item)
    return _as_they_lie(factors, item)


@functools.cache
def has_tiles(char: str) -> bool:
    """Whether this machine has vectors for which our tiles are made."""
    if char not in "fd" or not machine.is_available():
        return False
    return machine.lane_count() >= LEAST_LANES


# --- both factors packed -------------------------------------------------------------------------


def _in_panels(factors: Factors, item: int) -> ProductPlan | None:
    rows, columns, depth = factors.sizes
    width = lanes_of(factors.char)
    height, across = heights_of()[0], 2 * width
    stretch = _stretch(depth)
    sides = (-(-rows // height), height), (-(-columns // across), across)
    (shared_count, shared_lines), (own_count, own_lines) = sorted(sides, key=math.prod)
    shared_panel = rounded((depth * shared_lines + width) * item)
    own_panel = rounded((stretch * own_lines + width) * item)
    together = max(min(own_count // LEAST_PIECES, ROWS_IN_CACHE // height), 1)
    own_step = own_panel * together
    own_at = shared_count * shared_panel
    nbytes = own_at + threads.capacity() * own_step + 64
    if nbytes > MOST_PACKED:
        return None
    table = {
        **_matrices(factors), "shared_panel": shared_panel, "own_panel": own_panel,
        "own_at": own_at, "own_step": own_step, "is_left_own": int(own_lines == height),
        "together": together,
    }  # fmt: skip
    return _planned("product", table, nbytes)


# --- factors as they lie -------------------------------------------------------------------------


def _as_they_lie(factors: Factors, item: int) -> ProductPlan | None:
    rows, columns, depth = factors.sizes
    axes = _stack_axes(factors)
    if len(axes) > 3:
        return None
    count, packs = math.prod(factors.stack), int(factors.right[-1] != item)
    across = 2 * lanes_of(factors.char)
    wanted = min(max(factors.products // LEAST_PIECE, 1), PIECES)
    row_piece, column_piece = _piece(rows, columns, -(-wanted // count), across, bool(packs))
    row_pieces, column_pieces = -(-rows // row_piece), -(-columns // column_piece)
    pieces = count * row_pieces * column_pieces
    own_step = rounded((_stretch(depth) * across + lanes_of(factors.char)) * item) * packs
    outer, middle, inner = [(1, 0, 0)] * (3 - len(axes)) + axes
    table = {
        **_matrices(factors), "result_step": rows * factors.result_row, "own_step": own_step,
        "packs": packs, "row_piece": row_piece, "column_piece": column_piece,
        "row_pieces": row_pieces, "column_pieces": column_pieces, "middle": middle[0],
        "inner": inner[0], "left_outer": outer[1], "left_middle": middle[1], "left_inner": inner[1],
        "right_outer": outer[2], "right_middle": middle[2], "right_inner": inner[2],
        "pieces": pieces, "grain": max(pieces * LEAST_PIECE // factors.products, 1),
    }  # fmt: skip
    return _planned("stack", table, threads.capacity() * own_step + 64 * packs)


def _piece(rows: int, columns: int, parts: int, across: int, packs: bool) -> tuple[int, int]:
    """Rows and columns of a piece, for a matrix that is to have some parts if it can."""
    down = -(-rows // (ROWS_PACKED if packs else ROWS_TOGETHER))
    beside = -(-parts // down)
    column_piece = rounded(-(-columns // beside), across)
    if down * -(-columns // (2 * across)) >= ENOUGH_PIECES:  # two panels read the same rows
        column_piece = max(column_piece, 2 * across)
    return rounded(-(-rows // down), stacks.heights_by_vectors()[2][0]), column_piece


def _stack_axes(factors: Factors) -> list[tuple[int, int, int]]:
    """Sizes and steps of the leading axes, with those as one that go together in both factors."""
    axes: list[tuple[int, int, int]] = []
    for size, left, right in zip(factors.stack, factors.left[:-2], factors.right[:-2], strict=True):
        if size == 1:
            continue
        if axes and axes[-1][1:] == (left * size, right * size):
            axes[-1] = axes[-1][0] * size, left, right
        else:
            axes.append((size, left, right))
    return axes


# --- both ----------------------------------------------------------------------------------------


def _stretch(depth: int) -> int:
    return -(-depth // -(-depth // STRETCH))


def _matrices(factors: Factors) -> dict[str, int]:
    rows, columns, depth = factors.sizes
    return {
        "left_row": factors.left[-2], "left_column": factors.left[-1],
        "right_row": factors.right[-2], "right_column": factors.right[-1],
        "result_row": factors.result_row, "rows": rows, "columns": columns, "depth": depth,
        "adds": int(factors.adds), "stretch": _stretch(depth),
    }  # fmt: skip


def _planned(function: str, table: dict[str, int], nbytes: int) -> ProductPlan:
    numbers = tuple(table.get(name, 0) for name in TABLES[function])
    return ProductPlan(function, numbers, nbytes)
