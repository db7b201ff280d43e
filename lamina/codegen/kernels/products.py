"""Products of matrices by kernels of our own, on threads of our own.

BLAS's threads spin for a while after each product, on the cores that the next operation needs. With
vectors of 64 bytes our tiles are faster than OpenBLAS's, with 32 bytes as fast.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.product_plans import Factors, ProductPlan, has_tiles, plan
from lamina.codegen.kernels.task_library import borrowed, lanes_of
from lamina.codegen.kernels.tasks.products import product_functions
from lamina.codegen.kernels.tasks.stacks import stack_functions
from lamina.codegen.llvm import machine, threads
from lamina.codegen.llvm.ir import KIND_OF, module
from lamina.codegen.stores import address_of
from lamina.devices.thread_count import blas_alone

SHARED_BY_BLAS: Final = 1 << 18
"""Multiplications from which on OpenBLAS wakes its threads."""

LARGE_FOR_BLAS: Final = 1 << 23
"""Multiplications from which on BLAS's threads are worth their spinning (80 us of one core)."""

_WRITERS: Final = {"product": product_functions, "stack": stack_functions}


@functools.cache
def address_of_product(function: str, char: str) -> int:
    """Where a function for a dtype is in memory: it takes the table of a plan."""
    return _machine(function, char).address_of(function)


@functools.cache
def _machine(function: str, char: str) -> machine.Machine:
    threads.pool()  # which the module calls
    return machine.Machine(module(_WRITERS[function](KIND_OF[char], lanes_of(char))))


@final
class _Prepared:
    """A plan, ready to be run for arrays.

    Attributes:
        shape: That of the result.
    """

    __slots__ = ("_free", "_numbers", "nbytes", "run", "shape")

    def __init__(self, plan: ProductPlan, char: str, shape: tuple[int, ...]) -> None:
        self.shape, self.nbytes = shape, plan.nbytes
        self._numbers = plan.numbers
        self._free: list[tuple[Any, int]] = []
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address_of_product(plan.function, char))

    def table(self) -> tuple[Any, int]:
        """A table of the plan's that nobody uses, and its address."""
        try:
            return self._free.pop()
        except IndexError:
            made = (ctypes.c_int64 * len(self._numbers))(*self._numbers)
            return made, ctypes.addressof(made)

    def give_back(self, table: tuple[Any, int]) -> None:
        """Let a table be used again: making one takes longer than filling it."""
        self._free.append(table)


@functools.lru_cache(1024)
def _prepared(
    kind: np.dtype[Any], shape: tuple[int, ...], left: tuple[int, ...], other: tuple[int, ...],
    right: tuple[int, ...],
) -> _Prepared | bool:  # fmt: skip
    """How a product is made; else whether BLAS is to make it on one thread."""
    (rows, depth), columns = shape[-2:], other[-1]
    if not has_tiles(kind.char) or not kind.isnative or depth != other[-2]:
        return False
    try:
        stack = np.broadcast_shapes(shape[:-2], other[:-2])
    except ValueError:
        return False
    steps = [_steps(each, its, len(stack)) for each, its in ((shape, left), (other, right))]
    sizes = rows, columns, depth
    found = plan(Factors(kind.char, stack, sizes, steps[0], steps[1], columns * kind.itemsize))
    if found is not None:
        return _Prepared(found, kind.char, (*stack, rows, columns))
    return SHARED_BY_BLAS <= math.prod(sizes) < LARGE_FOR_BLAS


def _steps(shape: tuple[int, ...], strides: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Strides with so many leading axes; those that are broadcast are never stepped along."""
    steps = [step if size > 1 else 0 for size, step in zip(shape[:-2], strides[:-2], strict=True)]
    return (*[0] * (count - len(steps)), *steps, *strides[-2:])


def multiplied(x: Any, y: Any) -> Any:
    """The product of two matrices, or of two stacks of them: arrays of one dtype.

    Raises:
        ValueError: If their inner dimensions differ, or stacks do not broadcast.
    """
    kind = x.dtype
    prepared = _prepared(kind, x.shape, x.strides, y.shape, y.strides)
    if prepared is False:
        return _by_blas(x, y)
    if prepared is True:
        with blas_alone:
            return _by_blas(x, y)
    made = np.empty(prepared.shape, kind)
    pool = threads.pool()
    if not pool.is_ready:
        pool.start()
    table = prepared.table()
    entries, place = table
    entries[0], entries[1], entries[2] = address_of(x), address_of(y), address_of(made)
    if prepared.nbytes:
        memory = borrowed(prepared.nbytes)
        entries[3] = memory.address
        prepared.run(place)
        memory.give_back()
    else:
        prepared.run(place)
    prepared.give_back(table)
    return made


def _by_blas(x: Any, y: Any) -> Any:
    return x.dot(y) if x.ndim == 2 == y.ndim else np.matmul(x, y)
