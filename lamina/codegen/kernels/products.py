"""Products of matrices by kernels of our own, on threads of our own.

BLAS's threads spin for a while after each product, on the cores that the next operation needs; and
on machines with vectors of 64 bytes our tiles are faster than OpenBLAS's.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.task_library import borrowed, lanes_of, rounded
from lamina.codegen.kernels.tasks import products as tasks
from lamina.codegen.llvm import machine, threads
from lamina.codegen.llvm.ir import KIND_OF, module
from lamina.codegen.stores import address_of
from lamina.devices.thread_count import blas_alone

LEAST_PRODUCTS: Final = 600_000
"""Multiplications from which on our kernels are faster than BLAS on one thread."""

LEAST_ROWS: Final = 4
LEAST_COLUMNS: Final = 24
"""With fewer, packing is too much of the work, or too much of a tile is empty."""

MOST_PACKED: Final = 48 << 20
"""Bytes of packed factors: larger ones are left to BLAS, which needs less memory."""

STRETCH: Final = 384
"""Steps that are summed up in registers at a time: a panel then lies in the first-level cache."""

SHARED_BY_BLAS: Final = 1 << 18
"""Multiplications from which on OpenBLAS wakes its threads."""

LARGE_FOR_BLAS: Final = 1 << 23
"""Multiplications from which on BLAS's threads are worth their spinning (80 us of one core)."""

_PIECES: Final = ((4, 8), (4, 4), (2, 4), (2, 2), (1, 2), (1, 1))
_LEAST_PIECES: Final = 16
_LEFT, _RIGHT, _RESULT, _PACKED_LEFT, _PACKED_RIGHT = (
    tasks.FIELDS.index(name) for name in ("left", "right", "result", "packed_left", "packed_right")
)


@final
@dataclass(frozen=True)
class ProductPlan:
    """All that a product needs but addresses.

    Attributes:
        numbers: The table of the tasks, with zeros for addresses.
        right_at: Where in the scratch memory the packed right factor begins.
        nbytes: How much scratch memory there must be.
    """

    numbers: tuple[int, ...]
    right_at: int
    nbytes: int


def plan(
    char: str, sizes: tuple[int, int, int], left: tuple[int, ...], right: tuple[int, ...],
    result_row: int, adds: bool = False,
) -> ProductPlan | None:  # fmt: skip
    """How a product is made; None where BLAS does that better.

    Args:
        char: The dtype.
        sizes: Rows and columns of the result, and the inner dimension.
        left, right, result_row: Strides in bytes.
        adds: Whether it is added to what the result holds.
    """
    rows, columns, depth = sizes
    item = np.dtype(char).itemsize
    if not has_tiles(char) or item not in left or item not in right:
        return None
    if rows < LEAST_ROWS or columns < LEAST_COLUMNS or rows * columns * depth < LEAST_PRODUCTS:
        return None
    width = lanes_of(char)
    height, across = tasks.HEIGHTS[width * item], 2 * width
    down, beside = -(-rows // height), -(-columns // across)
    left_panel = rounded((depth * height + width) * item)
    right_panel = rounded(depth * across * item)
    right_at = down * left_panel
    nbytes = right_at + beside * right_panel + 64
    if nbytes > MOST_PACKED:
        return None
    together = next(
        (pair for pair in _PIECES if -(-down // pair[0]) * -(-beside // pair[1]) >= _LEAST_PIECES),
        _PIECES[-1],
    )
    table = {
        "left_row": left[0], "left_column": left[1], "right_row": right[0],
        "right_column": right[1], "result_row": result_row, "rows": rows, "columns": columns,
        "depth": depth, "adds": int(adds), "left_panel": left_panel, "right_panel": right_panel,
        "stretch": -(-depth // -(-depth // STRETCH)), "rows_together": together[0],
        "columns_together": together[1],
    }  # fmt: skip
    numbers = tuple(table.get(name, 0) for name in tasks.FIELDS)
    return ProductPlan(numbers, right_at, nbytes)


@functools.cache
def has_tiles(char: str) -> bool:
    """Whether this machine has vectors for which our tiles are made."""
    if char not in "fd" or not machine.is_available():
        return False
    return lanes_of(char) * np.dtype(char).itemsize in tasks.HEIGHTS


@functools.cache
def address_of_product(char: str) -> int:
    """Where the function for a dtype is in memory: it takes the tasks' table."""
    return _machine(char).address_of("product")


@functools.cache
def _machine(char: str) -> machine.Machine:
    threads.pool()  # which the module calls
    return machine.Machine(module(tasks.product_functions(KIND_OF[char], lanes_of(char))))


@final
class _Prepared:
    """A plan, ready to be run for arrays."""

    __slots__ = ("numbers", "plan", "run")

    def __init__(self, plan: ProductPlan, char: str) -> None:
        self.plan = plan
        self.numbers = (ctypes.c_int64 * len(plan.numbers))(*plan.numbers)
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address_of_product(char))


@functools.lru_cache(1024)
def _prepared(
    kind: np.dtype[Any], shape: tuple[int, int], left: tuple[int, int], other: tuple[int, int],
    right: tuple[int, int],
) -> _Prepared | bool:  # fmt: skip
    """How a product is made; else whether BLAS is to make it on one thread."""
    rows, depth = shape
    columns = other[1]
    if not has_tiles(kind.char) or not kind.isnative or depth != other[0]:
        return False
    found = plan(kind.char, (rows, columns, depth), left, right, columns * kind.itemsize)
    if found is not None:
        return _Prepared(found, kind.char)
    return SHARED_BY_BLAS <= rows * columns * depth < LARGE_FOR_BLAS


def multiplied(x: Any, y: Any) -> Any:
    """The product of two matrices, arrays of one dtype.

    Raises:
        ValueError: If their inner dimensions differ.
    """
    kind = x.dtype
    prepared = _prepared(kind, x.shape, x.strides, y.shape, y.strides)
    if prepared is False:
        return x.dot(y)
    if prepared is True:
        with blas_alone:
            return x.dot(y)
    made = np.empty((x.shape[0], y.shape[1]), kind)
    pool = threads.pool()
    if not pool.is_ready:
        pool.start()
    numbers = prepared.numbers
    table = numbers.__class__.from_buffer_copy(numbers)
    table[_LEFT], table[_RIGHT], table[_RESULT] = address_of(x), address_of(y), address_of(made)
    memory = borrowed(prepared.plan.nbytes)
    try:
        table[_PACKED_LEFT] = memory.address
        table[_PACKED_RIGHT] = memory.address + prepared.plan.right_at
        prepared.run(ctypes.addressof(table))
    finally:
        memory.give_back()
    return made
