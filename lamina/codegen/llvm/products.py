"""Products of matrices: calls of the BLAS that NumPy brings along, made from machine code."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, Final

from lamina.codegen.graph import Graph, Node, View
from lamina.codegen.llvm import machine
from lamina.codegen.llvm.ir import Function, literal
from lamina.devices.thread_count import blas_function

_ROW_MAJOR, _AS_IS, _TRANSPOSED = 101, 111, 112
_NAMES: Final = {"f": "cblas_sgemm", "d": "cblas_dgemm"}
_KINDS: Final = {"f": "float", "d": "double"}


def address_of_gemm(char: str) -> int | None:
    """Where the matrix product for a dtype is in memory; None if NumPy's BLAS is another one."""
    function = blas_function(_NAMES[char])
    return ctypes.cast(function, ctypes.c_void_p).value if function is not None else None


def write_product(
    function: Function, graph: Graph, node: Node, address: Callable[[int], str], is_in_place: bool
) -> None:
    """Write one product, or a stack of them.

    Where it is added to something, that lies in the result's memory already, or is copied there.
    """
    left, right, *addend = (operand for operand in node.operands if isinstance(operand, View))
    out = graph.whole(node.results[0])
    count = len(out.shape) - 2
    batches = [_batch_strides(view, count) for view in (left, right, out)]
    places = [_at(function, address(view.value), view.offset) for view in (left, right, out)]
    if addend and not is_in_place:
        source = address(addend[0].value)
        function.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        size = graph.values[out.value].nbytes
        function.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {places[2]}, ptr {source}, i64 {size}, i1 false)"
        )
    _stacked(
        function,
        out.shape[:-2],
        batches,
        places,
        functools.partial(_gemm, function, left, right, out, bool(addend)),
    )


def _batch_strides(view: View, count: int) -> tuple[int, ...]:
    steps = view.strides[:-2]
    return (0,) * (count - len(steps)) + steps


def _stacked(
    function: Function, sizes: tuple[int, ...], strides: list[tuple[int, ...]],
    places: list[str], body: Callable[[list[str]], None],
) -> None:  # fmt: skip
    """Loops over the leading axes; written out, since they are few."""
    if not sizes:
        body(places)
        return
    variable, head, done = function.slot("i64"), function.fresh("loop"), function.fresh("done")
    function.line(f"store i64 0, ptr {variable}")
    function.line(f"br label %{head}")
    function.label(head)
    index = function.give(f"load i64, ptr {variable}")
    inner = []
    for place, steps in zip(places, strides, strict=True):
        far = function.give(f"mul nsw i64 {index}, {steps[0]}")
        inner.append(function.give(f"getelementptr i8, ptr {place}, i64 {far}"))
    _stacked(function, sizes[1:], [steps[1:] for steps in strides], inner, body)
    following = function.give(f"add nuw nsw i64 {index}, 1")
    function.line(f"store i64 {following}, ptr {variable}")
    more = function.give(f"icmp ult i64 {following}, {sizes[0]}")
    function.line(f"br i1 {more}, label %{head}, label %{done}")
    function.label(done)


def _at(function: Function, base: str, offset: int) -> str:
    return function.give(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base


def _lies(view: View) -> tuple[int, int]:
    """Whether BLAS must take a matrix as transposed, and the distance of its rows (or columns)."""
    (rows, columns), (down, across) = view.shape[-2:], view.strides[-2:]
    size = view.dtype.itemsize
    is_by_rows = (across == size or columns == 1) and (rows == 1 or down >= columns * size)
    if is_by_rows:
        return _AS_IS, max(down // size if rows > 1 else columns, columns, 1)
    return _TRANSPOSED, max(across // size if columns > 1 else rows, rows, 1)


def _gemm(
    function: Function, left: View, right: View, out: View, is_added: bool, places: list[str]
) -> None:
    char = out.dtype.char
    kind = _KINDS[char]
    (rows, inner), columns = left.shape[-2:], right.shape[-1]
    (how_left, step_left), (how_right, step_right) = _lies(left), _lies(right)
    one, kept = literal(kind, 1), literal(kind, 1 if is_added else 0)
    arguments = [
        f"i32 {_ROW_MAJOR}", f"i32 {how_left}", f"i32 {how_right}",
        f"i64 {rows}", f"i64 {columns}", f"i64 {inner}", f"{kind} {one}",
        f"ptr {places[0]}", f"i64 {step_left}", f"ptr {places[1]}", f"i64 {step_right}",
        f"{kind} {kept}", f"ptr {places[2]}", f"i64 {columns}",
    ]  # fmt: skip
    name = _symbol_of_gemm(char)
    function.declare(f"void @{name}({', '.join(a.partition(' ')[0] for a in arguments)})")
    function.line(f"call void @{name}({', '.join(arguments)})")


@functools.cache
def _symbol_of_gemm(char: str) -> str:
    """The name by which machine code calls the matrix product for a dtype."""
    address = address_of_gemm(char)
    assert address is not None  # `can_write` was asked
    machine.add_symbol(f"lamina_gemm_{char}", address)
    return f"lamina_gemm_{char}"


def can_write(node: Node) -> bool:
    """Whether a product can be made from machine code here."""
    operand: Any = node.operands[0]
    return address_of_gemm(operand.dtype.char) is not None
