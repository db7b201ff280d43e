"""Products of matrices by kernels of our own, on threads of our own.

BLAS's threads spin for a while after each product, on the cores that the next operation needs. With
vectors of 64 bytes our tiles are faster than OpenBLAS's, with 32 bytes as fast.
"""

from __future__ import annotations

import ctypes
import functools
import math
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.task_library import borrowed, lanes_of, rounded
from lamina.codegen.kernels.tasks import products as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of
from lamina.codegen.llvm import machine, threads
from lamina.codegen.llvm.ir import KIND_OF, module
from lamina.codegen.stores import address_of
from lamina.devices.thread_count import blas_alone

LEAST_PRODUCTS: Final = 600_000
"""Multiplications from which on our kernels are faster than BLAS on one thread."""

LEAST_LANES: Final = 8
"""Lanes of float32 in a vector: with 4, as on ARM, nothing was measured, and BLAS has its way."""

LEAST_ROWS: Final = 4
LEAST_COLUMNS: Final = 24
"""With fewer, packing is too much of the work, or too much of a tile is empty."""

MOST_PACKED: Final = 48 << 20
"""Bytes of packed factors: larger ones are left to BLAS, which needs less memory."""

STRETCH: Final = 512
"""Steps that are summed up in registers at a time: a panel of rows stays in the first cache."""

SHARED_BY_BLAS: Final = 1 << 18
"""Multiplications from which on OpenBLAS wakes its threads."""

LARGE_FOR_BLAS: Final = 1 << 23
"""Multiplications from which on BLAS's threads are worth their spinning (80 us of one core)."""

MOST_TOGETHER: Final = 4
LEAST_PIECES: Final = 16
"""Panels of a piece, unless there would be too few pieces for threads to finish together."""

_LEFT, _RIGHT, _RESULT, _SHARED, _OWN = (
    tasks.FIELDS.index(name) for name in ("left", "right", "result", "shared", "own")
)


@final
@dataclass(frozen=True)
class ProductPlan:
    """All that a product needs but addresses.

    Attributes:
        numbers: The table of the tasks, with zeros for addresses.
        own_at: Where in the scratch memory that of each thread begins.
        nbytes: How much scratch memory there must be.
    """

    numbers: tuple[int, ...]
    own_at: int
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
    height, across = heights_of()[0], 2 * width
    stretch = -(-depth // -(-depth // STRETCH))
    sides = (-(-rows // height), height), (-(-columns // across), across)
    (shared_count, shared_lines), (own_count, own_lines) = sorted(sides, key=math.prod)
    shared_panel = rounded((depth * shared_lines + width) * item)
    own_panel = rounded((stretch * own_lines + width) * item)
    together = max(min(own_count // LEAST_PIECES, MOST_TOGETHER), 1)
    own_step = own_panel * together
    own_at = shared_count * shared_panel
    nbytes = own_at + threads.capacity() * own_step + 64
    if nbytes > MOST_PACKED:
        return None
    table = {
        "left_row": left[0], "left_column": left[1], "right_row": right[0],
        "right_column": right[1], "result_row": result_row, "rows": rows, "columns": columns,
        "depth": depth, "adds": int(adds), "stretch": stretch, "shared_panel": shared_panel,
        "own_panel": own_panel, "own_step": own_step, "is_left_own": int(own_lines == height),
        "together": together,
    }  # fmt: skip
    return ProductPlan(tuple(table.get(name, 0) for name in tasks.FIELDS), own_at, nbytes)


@functools.cache
def has_tiles(char: str) -> bool:
    """Whether this machine has vectors for which our tiles are made."""
    if char not in "fd" or not machine.is_available():
        return False
    return machine.lane_count() >= LEAST_LANES


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
        table[_SHARED] = memory.address
        table[_OWN] = memory.address + prepared.plan.own_at
        prepared.run(ctypes.addressof(table))
    finally:
        memory.give_back()
    return made
