"""The arrays of an executable: what is bound to which slot, and the views that its steps read."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, final

import numpy as np

from lamina.codegen.graph import Graph, Value, View
from lamina.codegen.memory import ALIGNMENT, Plan


@final
class Store:
    """Arrays by slot, with their addresses in a table that machine code reads.

    Attributes:
        arrays: The array of each slot; slot 0 is the arena.
        address: Where the table is.
    """

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self._graph = graph
        self._plan = plan
        count = max(plan.slots.values(), default=0) + 1
        self._table = (ctypes.c_int64 * count)()
        self.address = ctypes.addressof(self._table)
        self.arrays: list[Any] = [None] * count
        self._views: dict[View, Any] = {}
        self._views_of: dict[int, list[View]] = {}
        self._results: dict[int, Any] = {}
        raw = np.empty(plan.arena + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        self.bind(0, raw[start : start + plan.arena])

    def bind(self, slot: int, array: Any) -> None:
        """Put an array into a slot."""
        self.arrays[slot] = array
        self._table[slot] = array.ctypes.data
        for view in self._views_of.pop(slot, ()):
            self._views.pop(view, None)

    def release(self) -> None:
        """Forget the arrays that were given or made for a run."""
        kept = {0, *(self._plan.slots[value] for value in self._graph.constants)}
        for slot in range(len(self.arrays)):
            if slot not in kept:
                self.arrays[slot] = None
                for view in self._views_of.pop(slot, ()):
                    self._views.pop(view, None)

    def result(self, view: View, pooled: bool) -> Any:
        """An array for a result: that of the last run if nobody else has it any more."""
        slot = self._plan.slots[view.value]
        array = self._results.get(slot)
        # Referred to by: our two tables, the local name, and the call.
        if array is None or sys.getrefcount(array) > 4:
            array = empty_as(self._graph.values[view.value])
            if pooled:
                self._results[slot] = array
            self.bind(slot, array)
        return array if self._graph.is_whole(view) else self._seen(array, view)

    def view(self, view: View) -> Any:
        """The array that a view stands for now."""
        found = self._views.get(view)
        if found is None:
            found = self._views[view] = self._made(view)
        return found

    def _made(self, view: View) -> Any:
        slot = self._plan.slots.get(view.value)
        if slot is None:
            offset = self._plan.offsets[view.value] + view.offset
            arena = self.arrays[0]
            if not arena.size or 0 in view.shape:
                return np.empty(view.shape, view.dtype)
            start = arena[offset : offset + view.dtype.itemsize].view(view.dtype)
            return np.lib.stride_tricks.as_strided(start, view.shape, view.strides)[...]
        self._views_of.setdefault(slot, []).append(view)
        return self._seen(self.arrays[slot], view)

    def _seen(self, array: Any, view: View) -> Any:
        """An array seen through a view of its value."""
        if self._graph.is_whole(view):
            return array
        if 0 in view.shape:
            return np.empty(view.shape, view.dtype)
        if array.ndim == 0:
            start = array.reshape(1)
        else:
            start = np.lib.stride_tricks.as_strided(array, (1,), (array.itemsize,))
        if view.offset or view.dtype != array.dtype:
            reach = view.offset // array.itemsize + 1
            flat = np.lib.stride_tricks.as_strided(start, (reach,), (array.itemsize,))
            start = flat[-1:].view(view.dtype)[:1]
        shown = np.lib.stride_tricks.as_strided(start, view.shape, view.strides)
        return shown


def empty_as(value: Value) -> Any:
    """An array with memory of its own and the strides of a value."""
    axes = sorted(range(len(value.shape)), key=lambda i: -value.strides[i])
    if axes == sorted(axes):
        return np.empty(value.shape, value.dtype)
    made = np.empty([value.shape[i] for i in axes], value.dtype)
    return made.transpose(np.argsort(axes))
