"""Products of matrices, made from machine code: by kernels of our own, or by NumPy's BLAS.

Our kernels (`kernels/products`) make the large ones. What they do not do is BLAS's: there threads
of our own share products too, each calling BLAS for its part, since BLAS's threads would spin for a
while after each product, on the cores that the next loop needs.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, final

from lamina.codegen.graph import Graph, Node, View
from lamina.codegen.kernels import product_plans as plans
from lamina.codegen.kernels.products import SHARED_BY_BLAS, address_of_product
from lamina.codegen.kernels.tasks.products import PLACES
from lamina.codegen.llvm import machine
from lamina.codegen.llvm.ir import KIND_OF, Function, literal
from lamina.codegen.llvm.moving import Mover
from lamina.devices.thread_count import blas_function

_ROW_MAJOR, _AS_IS, _TRANSPOSED = 101, 111, 112
_NAMES: Final = {"f": "cblas_sgemm", "d": "cblas_dgemm"}
LEAST_PRODUCTS: Final = 400_000
"""Multiplications (about 8 microseconds of them) that are worth another thread."""

_UNIT: Final = 16  # rows or columns that are never cut apart


def address_of_gemm(char: str) -> int | None:
    """Where the matrix product for a dtype is in memory; None if NumPy's BLAS is another one."""
    function = blas_function(_NAMES[char])
    return ctypes.cast(function, ctypes.c_void_p).value if function is not None else None


class Share(NamedTuple):
    """How several threads share a product: along an axis of the result, in pieces of `grain`.

    The axis is "stack" (all leading axes as one), "rows" or "columns".
    """

    axis: str
    size: int
    grain: int


@final
class Product:
    """A product of matrices, or a stack of them.

    Args:
        graph: The graph that it is of.
        node: What is multiplied, and what that is added to, if anything.

    Attributes:
        plan: How our kernels make it; None if BLAS does.
    """

    def __init__(self, graph: Graph, node: Node) -> None:
        self.left, self.right, *addend = node.views()
        self.out = graph.whole(node.results[0])
        self.addend = addend[0] if addend else None
        self.nbytes = graph.values[self.out.value].nbytes
        self._stack = self.out.shape[:-2]
        count = len(self._stack)
        self._steps = [_stack_strides(view, count) for view in (self.left, self.right, self.out)]
        self.plan = self._own_plan()

    @property
    def wakes_blas(self) -> bool:
        """Whether BLAS would use threads of its own, unless it is told not to."""
        one = math.prod(self.out.shape[-2:]) * self.left.shape[-1]
        return self.plan is None and one >= SHARED_BY_BLAS

    def _own_plan(self) -> plans.ProductPlan | None:
        kind, (rows, columns) = self.out.dtype, self.out.shape[-2:]
        left, right, _ = (
            (*steps, *view.strides[-2:])
            for steps, view in zip(self._steps, (self.left, self.right, self.out), strict=True)
        )
        sizes, adds = (rows, columns, self.left.shape[-1]), self.addend is not None
        result_row = columns * kind.itemsize
        return plans.plan(
            plans.Factors(kind.char, self._stack, sizes, left, right, result_row, adds)
        )

    def share(self, threads: int) -> Share | None:
        """How threads share calls of BLAS; None if it is too small for that."""
        rows, columns = self.out.shape[-2:]
        one = rows * columns * self.left.shape[-1]
        count = math.prod(self._stack)
        if threads < 2 or one * count < LEAST_PRODUCTS:
            return None
        if count >= threads:
            return Share("stack", count, -(-count // (threads * 4)))
        # Each piece packs the other operand again: as few pieces as threads, along the longer axis.
        axis, size = max(("rows", rows), ("columns", columns), key=lambda entry: entry[1])
        grain = -(-size // (threads * _UNIT)) * _UNIT
        return Share(axis, size, grain) if grain < size else None

    def places(self, address: Callable[..., str]) -> list[str]:
        """The addresses of left and right operand and of the result."""
        return [address(view.value, view.offset) for view in (self.left, self.right, self.out)]

    def write_start(self, function: Function, address: Callable[..., str]) -> None:
        """Copy what the product is added to into the result's memory."""
        assert self.addend is not None
        source, target = address(self.addend.value), address(self.out.value)
        function.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        given = f"ptr {target}, ptr {source}, i64 {self.nbytes}, i1 false"
        function.line(f"call void @llvm.memcpy.p0.p0.i64({given})")

    def write_own(self, function: Function, address: Callable[..., str], scratch: str) -> None:
        """All of it, by our kernels; what they pack of the factors goes to `scratch`."""
        assert self.plan is not None
        places = dict(zip(PLACES, (*self.places(address), scratch), strict=True))
        names = self.plan.names
        table = function.slot(f"[{len(names)} x i64]")
        for k, (name, number) in enumerate(zip(names, self.plan.numbers, strict=True)):
            at = function.give(f"getelementptr i64, ptr {table}, i64 {k}")
            entry = f"ptr {places[name]}" if name in places else f"i64 {number}"
            function.line(f"store {entry}, ptr {at}")
        symbol = _symbol_of_product(self.plan.function, self.out.dtype.char)
        function.declare(f"void @{symbol}(ptr)")
        function.line(f"call void @{symbol}(ptr {table})")

    def write(self, function: Function, places: list[str]) -> None:
        """All of it."""
        count = math.prod(self._stack)
        if count == 1:
            self._gemm(function, places)
        else:
            self._write_stack(function, places, 0, count)

    def write_piece(self, function: Function, places: list[str], share: Share) -> None:
        """In a task: what lies between its begin and end."""
        if share.axis == "stack":
            self._write_stack(function, places, "%begin", "%end")
            return
        length = function.give("sub i64 %end, %begin")
        mover, size = Mover(function), self.out.dtype.itemsize
        left, right, out = places
        if share.axis == "rows":
            left = mover.stepped(left, "%begin", self.left.strides[-2])
            out = mover.stepped(out, "%begin", self.out.shape[-1] * size)
            self._gemm(function, [left, right, out], rows=length)
        else:
            right = mover.stepped(right, "%begin", self.right.strides[-1])
            out = mover.stepped(out, "%begin", size)
            self._gemm(function, [left, right, out], columns=length)

    def _write_stack(
        self, function: Function, places: list[str], start: int | str, stop: int | str
    ) -> None:
        mover = Mover(function)
        with mover.counted(start, stop) as index:
            inner = list(places)
            rest = index
            for axis in reversed(range(len(self._stack))):
                size = self._stack[axis]
                at = function.give(f"urem i64 {rest}, {size}") if axis else rest
                rest = function.give(f"udiv i64 {rest}, {size}") if axis else rest
                inner = [
                    mover.stepped(place, at, steps[axis])
                    for place, steps in zip(inner, self._steps, strict=True)
                ]
            self._gemm(function, inner)

    def _gemm(
        self, function: Function, places: list[str],
        rows: int | str | None = None, columns: int | str | None = None,
    ) -> None:  # fmt: skip
        char = self.out.dtype.char
        kind = KIND_OF[char]
        (how_left, step_left), (how_right, step_right) = _lies(self.left), _lies(self.right)
        one, kept = literal(kind, 1), literal(kind, 0 if self.addend is None else 1)
        width = self.out.shape[-1]
        rows = self.left.shape[-2] if rows is None else rows
        columns = width if columns is None else columns
        arguments = [
            f"i32 {_ROW_MAJOR}", f"i32 {how_left}", f"i32 {how_right}",
            f"i64 {rows}", f"i64 {columns}", f"i64 {self.left.shape[-1]}", f"{kind} {one}",
            f"ptr {places[0]}", f"i64 {step_left}", f"ptr {places[1]}", f"i64 {step_right}",
            f"{kind} {kept}", f"ptr {places[2]}", f"i64 {width}",
        ]  # fmt: skip
        name = _symbol_of_gemm(char)
        function.declare(f"void @{name}({', '.join(a.partition(' ')[0] for a in arguments)})")
        function.line(f"call void @{name}({', '.join(arguments)})")


def _stack_strides(view: View, count: int) -> tuple[int, ...]:
    steps = view.strides[:-2]
    return (0,) * (count - len(steps)) + steps


def _lies(view: View) -> tuple[int, int]:
    """Whether BLAS must take a matrix as transposed, and the distance of its rows (or columns)."""
    (rows, columns), (down, across) = view.shape[-2:], view.strides[-2:]
    size = view.dtype.itemsize
    is_by_rows = (across == size or columns == 1) and (rows == 1 or down >= columns * size)
    if is_by_rows:
        return _AS_IS, max(down // size if rows > 1 else columns, columns, 1)
    return _TRANSPOSED, max(across // size if columns > 1 else rows, rows, 1)


@functools.cache
def _symbol_of_gemm(char: str) -> str:
    """The name by which machine code calls the matrix product for a dtype."""
    address = address_of_gemm(char)
    assert address is not None  # `can_write` was asked
    machine.add_symbol(f"lamina_gemm_{char}", address)
    return f"lamina_gemm_{char}"


@functools.cache
def _symbol_of_product(function: str, char: str) -> str:
    """The name by which machine code calls one of our products for a dtype."""
    machine.add_symbol(f"lamina_{function}_{char}", address_of_product(function, char))
    return f"lamina_{function}_{char}"


def can_write(node: Node) -> bool:
    """Whether a product can be made from machine code here."""
    operand: Any = node.operands[0]
    return address_of_gemm(operand.dtype.char) is not None
