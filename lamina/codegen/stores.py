"""The arrays of an executable: what is bound to which slot, and the views that its steps read."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from lamina.codegen.graph import Graph, Value, View, settled
from lamina.codegen.memory import ALIGNMENT, Plan

LARGE_ARENA: Final = 1 << 20
"""Bytes of an arena that is not kept between runs, where results are not kept either."""

_AFTER_HEAD: Final = object.__basicsize__
_read: Final = ctypes.c_ssize_t.from_address


def _address_by_field(array: Any) -> int:
    """The address of the elements, read from the array object: 0.15 us instead of 1."""
    found: int = _read(id(array) + _AFTER_HEAD).value
    return found


def _address_by_attribute(array: Any) -> int:
    found: int = array.ctypes.data
    return found


def _field_is_there() -> bool:
    """Whether CPython's and NumPy's objects have the layout that the quick way relies on."""
    if sys.implementation.name != "cpython":
        return False
    for probe in (np.zeros(3), np.zeros((4, 4), np.int8)[1:, 2:], np.array(1.0)):
        if _address_by_field(probe) != _address_by_attribute(probe):
            return False
    return True


address_of: Final = _address_by_field if _field_is_there() else _address_by_attribute


@final
class _Result:
    """One result: where it is bound, and how its memory is made (unless a call gives it)."""

    __slots__ = ("is_as_planned", "is_called", "is_whole", "make", "pooled", "slot", "view")

    def __init__(self, graph: Graph, view: View, slot: int, is_called: bool) -> None:
        self.view = view
        self.slot = slot
        self.is_called = is_called
        kind = graph.values[view.value]
        # Loops may have taken axes of the value together: what is asked for is the view.
        shown = Value(view.shape, view.dtype, view.strides)
        covers = shown.is_dense and shown.nbytes == kind.nbytes and not view.offset
        self.is_whole = covers or graph.is_whole(view)
        self.make = maker_of(shown if covers else kind)
        # Else it lies there transposed, or steps see axes of it taken together.
        lies_so = Value(view.shape, view.dtype, settled(view.shape, view.strides)) == kind
        self.is_as_planned = lies_so or not covers
        self.pooled: Any = None


@final
class Store:
    """Arrays by slot, with their addresses in a table that machine code reads.

    Args:
        outputs: What a run gives.
        called: Values whose arrays calls give; those among the outputs are handed on.
        pooled: Whether the memory of a result serves again once nobody else has it.
        lasting: Slots that are not released.

    Attributes:
        arrays: The array of each slot; slot 0 is the arena.
        address: Where the table is.
    """

    def __init__(
        self, graph: Graph, plan: Plan, outputs: Sequence[View], called: set[int], pooled: bool,
        lasting: set[int],
    ) -> None:  # fmt: skip
        self._graph = graph
        self._plan = plan
        self._is_pooled = pooled
        count = max(plan.slots.values(), default=0) + 1
        self._table = (ctypes.c_int64 * count)()
        self.address = ctypes.addressof(self._table)
        self.arrays: list[Any] = [None] * count
        self._views: dict[View, Any] = {}
        self._views_of: dict[int, list[View]] = {}
        self._results = [
            _Result(graph, view, plan.slots[view.value], view.value in called) for view in outputs
        ]
        kept = lasting | {plan.slots[value] for value in graph.constants}
        if pooled:
            kept |= {result.slot for result in self._results if not result.is_called}
        first = 1 if plan.arena < LARGE_ARENA else 0
        self._passing = [slot for slot in range(first, count) if slot not in kept]
        self._bind_arena()

    def _bind_arena(self) -> None:
        raw = np.empty(self._plan.arena + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        self.bind(0, raw[start : start + self._plan.arena])

    def bind(self, slot: int, array: Any) -> None:
        """Put an array into a slot."""
        self.arrays[slot] = array
        self._table[slot] = address_of(array)
        if slot in self._views_of:
            for view in self._views_of.pop(slot):
                self._views.pop(view, None)

    def release(self) -> None:
        """Forget all arrays but the constants, those that last, and a small arena."""
        self.forget(self._passing)

    def forget(self, slots: Sequence[int]) -> None:
        """Forget the arrays of some slots."""
        for slot in slots:
            self.arrays[slot] = None
            if slot in self._views_of:
                for view in self._views_of.pop(slot):
                    self._views.pop(view, None)

    def results(self) -> list[Any]:
        """Arrays for all results: those of the last run where nobody else has them any more."""
        found: list[Any] = []
        arrays, table, views_of = self.arrays, self._table, self._views_of
        if arrays[0] is None:
            self._bind_arena()
        for result in self._results:
            if result.is_called:
                found.append(None)
                continue
            array = result.pooled
            # Referred to by: the pool, the slot, the local name, and the call.
            if array is None or sys.getrefcount(array) > 4:
                array = result.make()
                if self._is_pooled:
                    result.pooled = array
                slot = result.slot
                if result.is_as_planned and slot not in views_of:
                    arrays[slot] = array  # `bind`, without the call: 0.15 us a result
                    table[slot] = address_of(array)
                elif result.is_as_planned:
                    self.bind(slot, array)
                else:
                    self.bind(slot, _shown(array, 0, self._graph.whole(result.view.value)))
            found.append(array if result.is_whole else self._seen(array, result.view))
        return found

    def fill_in(self, results: list[Any]) -> None:
        """Put what calls gave among the results."""
        for place, result in enumerate(self._results):
            if result.is_called:
                results[place] = self._seen(self.arrays[result.slot], result.view)

    def view(self, view: View) -> Any:
        """The array that a view stands for now."""
        found = self._views.get(view)
        if found is None:
            if view.value in self._graph.inside:
                whole, start = self._graph.inside[view.value]
                place = start + view.offset
                return self.view(View(whole, view.shape, view.dtype, view.strides, place))
            found = self._made(view)
            if found is not self.arrays[self._plan.slots.get(view.value, 0)]:
                self._views[view] = found
        return found

    def _made(self, view: View) -> Any:
        slot = self._plan.slots.get(view.value)
        if slot is None:
            return self._in_arena(view)
        # An array itself is not remembered: nothing would know that nobody else has it.
        self._views_of.setdefault(slot, []).append(view)
        return self._seen(self.arrays[slot], view)

    def _in_arena(self, view: View) -> Any:
        if 0 in view.shape:
            return np.empty(view.shape, view.dtype)
        self._views_of.setdefault(0, []).append(view)
        place = self._plan.offsets[view.value] + self._graph.values[view.value].lead
        return _shown(self.arrays[0], place + view.offset, view)

    def _seen(self, array: Any, view: View) -> Any:
        """An array seen through a view of its value."""
        if self._graph.is_whole(view) and array.shape == view.shape:
            return array
        return _shown(array, view.offset, view)


@final
class _Memory:
    """Memory of an array seen another way, as NumPy's array interface tells it."""

    __slots__ = ("__array_interface__", "keep")

    def __init__(self, keep: Any, address: int, view: View) -> None:
        self.keep = keep
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": view.shape,
            "strides": view.strides,
            "typestr": view.dtype.str,
        }


def _shown(array: Any, offset: int, view: View) -> Any:
    if 0 in view.shape:
        return np.empty(view.shape, view.dtype)
    made = np.asarray(_Memory(array, address_of(array) + offset, view))
    return made if made.dtype == view.dtype else made.view(view.dtype)


def maker_of(value: Value) -> Callable[[], Any]:
    """Makes arrays with memory of their own and the strides of a value."""
    axes = sorted(range(len(value.shape)), key=lambda i: -value.strides[i])
    if axes == sorted(axes):
        return functools.partial(np.empty, value.shape, value.dtype)
    sizes = [value.shape[i] for i in axes]
    back = np.argsort(axes)
    return lambda: np.empty(sizes, value.dtype).transpose(back)
