"""Writes at index arrays that loops can do: one chosen column of each row."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina.codegen.graph import CALL, POINTWISE, Node, Number, Operand, View
from lamina.codegen.lowering_rules import converted, operand_of, spread
from lamina.devices.dispatched import get_item
from lamina.devices.recording import Ref

if TYPE_CHECKING:
    from lamina.codegen.lowering import Lowering


def chosen_columns(work: Lowering, target: Ref, index: Any, value: Any) -> Operand | None:
    """What `target[arange(rows), columns] = value` makes of a matrix that is one number everywhere.

    For each element: whether it is in the chosen column. It takes the place of the write only
    where the same columns were read from another matrix of that shape before, which has checked
    that they exist.
    """
    before, kind = work.current[work.root[target.id]], work.type_of(target)
    if not isinstance(before, Number) or not work.covers(target.id) or len(kind.shape) != 2:
        return None
    if not (
        isinstance(index, tuple) and len(index) == 2 and all(isinstance(i, Ref) for i in index)
    ):
        return None
    rows, columns = (operand_of(work, part) for part in index)
    if (
        not isinstance(columns, View)
        or columns.dtype != np.int64
        or columns.shape != kind.shape[:1]
    ):
        return None
    if not _counts_rows(work, rows, kind.shape[0]) or not _was_checked(work, columns, kind.shape):
        return None
    found = value if isinstance(value, int | float) else operand_of(work, value)
    found = converted(work, found, kind.dtype, kind.shape[:1])
    if found is None:
        return None
    return _one_of_each_row(work, kind, columns, found, before)


def _counts_rows(work: Lowering, rows: Any, count: int) -> bool:
    """Whether an index is known to be 0, 1, 2, ..."""
    if not isinstance(rows, View) or rows.value not in work.graph.constants:
        return False
    return np.array_equal(work.graph.constants[rows.value], np.arange(count))


def _was_checked(work: Lowering, columns: View, shape: tuple[int, ...]) -> bool:
    """Whether a call has read these columns from a matrix of the same shape."""
    maker = {value: node for node in work.graph.nodes for value in node.results}
    for node in work.graph.nodes:
        if node.kind == CALL and node.function is get_item and isinstance(node.args[1], tuple):
            array, index = node.args
            if len(index) == 2 and array.shape == shape and _same(maker, index[1], columns):
                return True
    return False


def _same(maker: dict[int, Node], x: Any, y: Any) -> bool:
    """Whether two operands were computed from the same in the same way."""
    if x == y:
        return True
    if not (isinstance(x, View) and isinstance(y, View)):
        return False
    if (x.shape, x.dtype, x.strides, x.offset) != (y.shape, y.dtype, y.strides, y.offset):
        return False
    first, second = maker.get(x.value), maker.get(y.value)
    if first is None or second is None or first.kind != POINTWISE or second.kind != POINTWISE:
        return False
    alike = first.op == second.op and len(first.operands) == len(second.operands)
    return alike and all(map(partial(_same, maker), first.operands, second.operands))


def _one_of_each_row(
    work: Lowering, kind: Any, columns: View, value: Operand, other: Number
) -> Operand | None:
    count = kind.shape[1]
    zero, size = Number(np.int64(0)), Number(np.int64(count))
    shape = kind.shape[:1]
    is_negative = work.add(Node(POINTWISE, "less", (columns, zero), ()), shape, bool)
    from_end = work.add(Node(POINTWISE, "add", (columns, size), ()), shape, np.int64)
    chosen = Node(POINTWISE, "where", (is_negative, from_end, columns), ())
    wanted = _down(work.add(chosen, shape, np.int64), kind.shape)
    numbers = work.graph.new_value((count,), np.int64)
    work.graph.constants[numbers] = np.arange(count)
    here = spread(work.graph.whole(numbers), kind.shape)
    assert here is not None
    is_here = work.add(Node(POINTWISE, "equal", (here, wanted), ()), kind.shape, bool)
    down = value if isinstance(value, Number) else _down(value, kind.shape)
    return work.add(Node(POINTWISE, "where", (is_here, down, other), ()), kind.shape, kind.dtype)


def _down(view: View, shape: tuple[int, ...]) -> View:
    """A column, the same for each element of a row."""
    return View(view.value, shape, view.dtype, (view.strides[0], 0), view.offset)
