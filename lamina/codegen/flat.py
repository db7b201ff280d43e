"""Kernels for arrays of any length: chains of pointwise steps that go once through memory.

Such a kernel is compiled once for its dtypes. What updates a parameter in an optimizer is one.
"""

from __future__ import annotations

import ctypes
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
        self._slots = [plan.slots[value] for value in graph.inputs]
        self._count = max(self._slots) + 1
        self._number_dtype = np.dtype(dtypes[0])
        self._numbers = numbers
        function_text = segments.write_flat("flat", loop, graph, plan)
        self._code = machine.Machine(ir.module([function_text]))
        self._task = self._code.address_of("flat")
        self._pool = threads.pool()

    def run(self, arrays: Sequence[Any], numbers: Sequence[float]) -> None:
        """Do it for these arrays, all contiguous and of one size."""
        table = (ctypes.c_int64 * self._count)()
        values = np.array(numbers, self._number_dtype)
        start, step = address_of(values), values.itemsize
        places = [address_of(array) for array in arrays]
        places += [start + k * step for k in range(self._numbers)]
        for slot, place in zip(self._slots, places, strict=True):
            table[slot] = place
        self._pool.run(self._task, ctypes.addressof(table), arrays[0].size, GRAIN)


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
