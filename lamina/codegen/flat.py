"""Kernels for arrays of any length: chains of pointwise steps that go once through memory.

Such a kernel is compiled once for its dtypes. What updates a parameter in an optimizer is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        self._pool = threads.pool()

    def run(self, rows: Sequence[Sequence[Any]], numbers: Sequence[float]) -> None:
        """Do it for each row of arrays, all of them contiguous and of one size."""
        tables = np.empty((len(rows), len(self._order)), np.int64)
        values = np.array(numbers, self._number_dtype)
        start, step = address_of(values), values.itemsize
        count = len(rows[0])
        for entry, k in enumerate(self._order):
            is_array = k < count
            number = start + (k - count) * step
            tables[:, entry] = [address_of(row[k]) for row in rows] if is_array else number
        place, width = address_of(tables), tables.shape[1] * tables.itemsize
        pieces = np.array(
            [
                (place + k * width, begin, min(begin + GRAIN, row[0].size))
                for k, row in enumerate(rows)
                for begin in range(0, row[0].size, GRAIN)
            ],
            np.int64,
        )
        total = sum(row[0].size for row in rows)
        grain = 1 if total > GRAIN else len(pieces)  # little work is not shared
        self._pool.run(self._task, address_of(pieces), len(pieces), grain)


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
