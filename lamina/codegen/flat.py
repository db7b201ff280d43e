"""Kernels for arrays of any length: chains of pointwise steps that go once through memory.

Such a kernel is compiled once for its dtypes. What updates a parameter in an optimizer is one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, Final, final

import numpy as np

from lamina.codegen.graph import View
from lamina.codegen.llvm import ir, machine, segments, threads
from lamina.codegen.lowering import lower
from lamina.codegen.memory import plan_memory
from lamina.codegen.passes import simplify
from lamina.codegen.schedule import schedule
from lamina.codegen.steps import Cut, Loop, Schedule
from lamina.codegen.stores import address_of
from lamina.devices.traced import Recorder

_NOMINAL: Final = 1 << 20
GRAIN: Final = 1 << 14
"""Elements of a piece: fewer would not be worth another thread."""


class NotFlat(Exception):
    """A function that is no chain of pointwise steps."""


@final
class FlatKernel:
    """A function of arrays of one shape, and of numbers, as one loop.

    Args:
        function: Takes the arrays, then the numbers, and writes into some of the arrays.
        dtypes: Those of the arrays.
        numbers: How many numbers it takes, in the dtype of the first array.

    Raises:
        NotFlat: If it does anything else with them.
    """

    def __init__(
        self, function: Callable[..., Any], dtypes: Sequence[np.dtype[Any]], numbers: int
    ) -> None:
        recorder = Recorder()
        given = [recorder.input(np.empty(_NOMINAL, kind)) for kind in dtypes]
        given += [recorder.input(np.empty((), dtypes[0])) for _ in range(numbers)]
        with recorder, np.errstate(all="ignore"):
            function(*given)
        graph = lower(recorder.program, [])
        if len(recorder.inputs) != len(given) or graph.constants:
            raise NotFlat("it reaches other arrays")
        simplify(graph)
        steps = schedule(graph)
        loop = _only_loop(steps)
        loop.cut = Cut(0, GRAIN, -(-_NOMINAL // GRAIN))
        plan = plan_memory(steps)
        self._number_dtype = np.dtype(dtypes[0])
        self._numbers = numbers
        task, places = segments.write_flat("flat", loop, graph, plan)
        value_of = {slot: value for value, slot in plan.slots.items() if value in graph.inputs}
        order = [graph.inputs.index(value_of[plan.slots[place.value]]) for place in places]
        self._order = order  # of the table: which argument each entry is
        self._code = machine.Machine(ir.module([task]) + _PIECES)
        self._task = self._code.address_of("pieces")
        self._range = self._code.address_of("flat")
        self._pool = threads.pool()

    def run(self, rows: Sequence[Sequence[Any]], numbers: Sequence[float]) -> None:
        """Do it for each row of arrays, all of them contiguous and of one size."""
        self.prepared(rows).run([row[0] for row in rows], numbers)

    def run_one(self, arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
        """Do it for one row of arrays: without the tables for many, which take 15 us."""
        count, start, step = len(arrays), 0, self._number_dtype.itemsize
        if numbers:
            values = np.array(numbers, self._number_dtype)
            start = address_of(values) - count * step
        places = (address_of(arrays[k]) if k < count else start + k * step for k in self._order)
        table = array("q", places)
        self._pool.run(self._range, table.buffer_info()[0], arrays[0].size, GRAIN)

    def prepared(self, rows: Sequence[Sequence[Any]]) -> Prepared:
        """The same for these rows, again and again, with other first arrays and other numbers."""
        values = np.zeros(self._numbers, self._number_dtype)
        return Prepared(rows, values, self._order, self._pool, self._task)


@final
class Prepared:
    """Rows that a loop goes through again and again: their tables of addresses.

    The arrays of the rows must live as long; the first one of each is another in each run.
    """

    def __init__(
        self, rows: Sequence[Sequence[Any]], values: Any, order: Sequence[int],
        pool: threads.Pool, task: int,
    ) -> None:  # fmt: skip
        count, width = len(rows[0]), len(order)
        start, step = address_of(values), values.itemsize
        tables = np.empty((len(rows), width), np.int64)
        for entry, k in enumerate(order):
            is_array = k < count
            number = start + (k - count) * step
            tables[:, entry] = [address_of(row[k]) for row in rows] if is_array else number
        place, bytes_of_row = address_of(tables), width * tables.itemsize
        self._pieces = np.array(
            [
                (place + k * bytes_of_row, begin, min(begin + GRAIN, row[0].size))
                for k, row in enumerate(rows)
                for begin in range(0, row[0].size, GRAIN)
            ],
            np.int64,
        ).reshape(-1, 3)
        total = sum(row[0].size for row in rows)
        self._grain = 1 if total > GRAIN else len(self._pieces)  # little work is not shared
        # Where the first arrays stand: NumPy's assignment to a column takes 2 us more.
        self._firsts = tables.data.cast("B").cast("q")[order.index(0) :: width]
        self._tables, self._values = tables, values
        self._numbers: Sequence[Any] = [None] * len(values)
        self._pool, self._task = pool, task
        self._address = address_of(self._pieces)

    def run(self, firsts: Sequence[Any], numbers: Sequence[float]) -> None:
        """Do it for each row."""
        places = self._firsts
        for row, first in enumerate(firsts):
            places[row] = address_of(first)
        if not all(map(is_, numbers, self._numbers)):
            self._values[:] = numbers
            self._numbers = numbers
        self._pool.run(self._task, self._address, len(self._pieces), self._grain)


_PIECES: Final = f"""
define void @pieces({ir.TASK}) #0 {{
entry:
  br label %next
next:
  %index = phi i64 [ %begin, %entry ], [ %following, %next ]
  %piece = getelementptr [3 x i64], ptr %table, i64 %index
  %first_at = getelementptr i64, ptr %piece, i64 1
  %last_at = getelementptr i64, ptr %piece, i64 2
  %addresses = load ptr, ptr %piece
  %first = load i64, ptr %first_at
  %last = load i64, ptr %last_at
  call void @flat(ptr %addresses, i64 %first, i64 %last, i64 %worker)
  %following = add i64 %index, 1
  %has_more = icmp ult i64 %following, %end
  br i1 %has_more, label %next, label %done
done:
  ret void
}}
"""


def _only_loop(steps: Schedule) -> Loop:
    """The loop that does everything."""
    graph = steps.graph
    if len(steps.steps) != 1 or not isinstance(steps.steps[0], Loop):
        raise NotFlat("it is not one loop")
    loop = steps.steps[0]
    views = [view for node in loop.nodes for view in node.views()]
    is_plain = all(isinstance(view, View) and _is_plain(view) for view in views)
    if loop.shape != (_NOMINAL,) or not is_plain or any(node.axes for node in loop.nodes):
        raise NotFlat("it reads elements elsewhere")
    if any(graph.values[value].shape != loop.shape for value in loop.stored):
        raise NotFlat("it makes an array of another shape")
    return loop


def _is_plain(view: View) -> bool:
    """Whether a view is an element for each element, or one number for all."""
    return not view.offset and view.strides in ((view.dtype.itemsize,), (0,))
