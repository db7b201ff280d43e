"""Nests: neighbouring loops over the same rows go over them together.

A softmax takes the maximum of a row, then the sum of its exponentials, then divides: three loops.
Done row by row, the second and third find the row in the cache, and what only they read never needs
more memory than one row.
"""

from __future__ import annotations

from math import prod
from typing import Final, final

from lamina.codegen.graph import REDUCTION, Graph, Node, Value, View
from lamina.codegen.ordering import small_first
from lamina.codegen.steps import Loop, Nest, Schedule, Step, readers_of

LEAST_SIZE: Final = 1 << 14
"""Smaller loops are in the cache anyway."""

LEAST_ROW: Final = 32


def gather(schedule: Schedule) -> None:
    """Put neighbouring loops of a schedule into nests where that is allowed and pays."""
    schedule.steps = small_first(schedule)
    steps: list[Step] = []
    waiting: _Gathering | None = None
    for step in schedule.steps:
        if isinstance(step, Loop):
            if waiting is not None and waiting.takes(step):
                continue
            _close(waiting, steps)
            waiting = _Gathering(schedule, step)
        else:
            _close(waiting, steps)
            waiting = None
            steps.append(step)
    _close(waiting, steps)
    schedule.steps = steps
    _find_temporaries(schedule)


def _close(waiting: _Gathering | None, steps: list[Step]) -> None:
    if waiting is None:
        return
    if len(waiting.loops) > 1 and waiting.pays():
        steps.append(Nest(waiting.rows, waiting.loops))
    else:
        steps += waiting.loops


@final
class _Gathering:
    """Loops that may become a nest. The first one that has whole rows tells what rows are."""

    def __init__(self, schedule: Schedule, first: Loop) -> None:
        self.graph: Graph = schedule.graph
        self.homes = schedule.homes
        self.loops = [first]
        self.rows: tuple[int, ...] = ()
        self.made: dict[int, Node] = {}
        self.is_open = len(first.shape) > 1 and first.shape[-1] >= LEAST_ROW
        if self.is_open:
            self.rows = first.shape[:-1]
            self.is_open = self._goes_along_rows(first) and self._add(first)

    def pays(self) -> bool:
        """Whether the rows together do not fit into the cache."""
        size = prod(self.loops[0].shape)
        return size >= LEAST_SIZE

    def takes(self, loop: Loop) -> bool:
        """Take one more loop, if it goes over the same rows and reads only its own row."""
        shape, depth = loop.shape, len(self.rows)
        has_rows = shape[:depth] == self.rows and len(shape) <= depth + 1
        if not self.is_open or not has_rows or not self._goes_along_rows(loop):
            return False
        if not all(self._is_own_row(view) for node in loop.nodes for view in node.views()):
            return False
        if not self._writes_after_reading(loop):
            return False
        self.loops.append(loop)
        return self._add(loop)

    def _add(self, loop: Loop) -> bool:
        for node in loop.nodes:
            for value in node.results:
                self.made.update(dict.fromkeys(self.graph.around(value), node))
        return True

    def _goes_along_rows(self, loop: Loop) -> bool:
        """Whether neighbours in a row are neighbours in memory, wherever the loop goes."""
        depth = len(self.rows)
        if len(loop.shape) <= depth or loop.shape[-1] == 1:
            return True
        kinds: list[View | Value] = [view for node in loop.nodes for view in node.views()]
        kinds += [self.graph.values[v] for v in loop.stored if not self._is_reduced(loop, v)]
        return all(
            kind.strides[-1] in (0, kind.dtype.itemsize)
            for kind in kinds
            if len(kind.shape) == depth + 1
        )

    def _is_reduced(self, loop: Loop, value: int) -> bool:
        return any(node.kind == REDUCTION and value in node.results for node in loop.nodes)

    def _is_own_row(self, view: View) -> bool:
        """Whether a view reads, of what the nest makes, only the row that it is at."""
        node = self.made.get(view.value)
        if node is None:
            return True
        depth, value = len(self.rows), self.graph.values[view.value]
        if node.kind == REDUCTION and any(axis < depth for axis in node.axes):
            return False
        if view.offset or view.shape[:depth] != self.rows or value.shape[:depth] != self.rows:
            return False
        rest, own = view.strides[depth:], value.strides[depth:]
        in_row = all(step == 0 for step in rest) or rest == own
        return view.strides[:depth] == value.strides[:depth] and in_row

    def _writes_after_reading(self, loop: Loop) -> bool:
        """Whether inputs that a loop overwrites are read only row by row in the nest."""
        for value in loop.stored & self.homes.keys():
            kind, target = self.graph.values[value], self.homes[value]
            for node in (n for other in (*self.loops, loop) for n in other.nodes):
                for view in node.views():
                    aligned = view.shape == kind.shape and view.strides == kind.strides
                    if view.value == target and (view.offset or not aligned):
                        return False
        return True


def _find_temporaries(schedule: Schedule) -> None:
    """Note the values of nests that nobody else reads."""
    graph = schedule.graph
    wanted = {view.value for view in graph.read_at_end()} | schedule.homes.keys()
    readers = readers_of(schedule.steps)
    for position, step in enumerate(schedule.steps):
        if not isinstance(step, Nest):
            continue
        depth = len(step.rows)
        inside = {v for v in step.stored - wanted if readers.get(v, set()) <= {position}}
        for node in step.nodes:
            crosses = node.kind == REDUCTION and any(axis < depth for axis in node.axes)
            for value in node.results:
                kind = graph.values[value]
                by_rows = kind.strides == Value.by_rows(kind.shape, kind.dtype).strides
                is_part = value in graph.inside
                if value in inside and by_rows and not crosses | is_part:
                    step.temporaries.add(value)
