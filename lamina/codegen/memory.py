"""Where values live: in the memory of inputs and results, or in an arena planned ahead.

Two values that are not needed at the same time share memory of the arena.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

import numpy as np

from lamina.codegen.graph import CALL, Graph, Node, Value, View
from lamina.codegen.steps import Nest, Schedule, nodes_of, temporaries_of

ALIGNMENT: Final = 64


@final
@dataclass(slots=True)
class Plan:
    """Where each value lives.

    Attributes:
        slots: For values with an array of their own (inputs, constants, results, what calls give):
            their number in the table of addresses. Slot 0 is the arena.
        offsets: For values in the arena: where they begin.
        arena: The size of the arena in bytes.
        without_reuse: What it would be if nothing were shared.
        in_place: Calls whose result takes over the memory of what they change.
        row_bytes: For values of which each thread has a row, or some: how far these are apart.
    """

    slots: dict[int, int] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    arena: int = 0
    without_reuse: int = 0
    in_place: set[int] = field(default_factory=set)
    row_bytes: dict[int, int] = field(default_factory=dict)


@final
@dataclass(slots=True)
class _Block:
    """Memory of the arena that is in use from one step to another."""

    values: list[int]
    nbytes: int
    first: int
    last: int
    offset: int = 0


def plan_memory(schedule: Schedule, threads: int = 1) -> Plan:
    """Find a place for every value that goes to memory, when so many threads may share a loop."""
    graph, plan = schedule.graph, Plan()
    for value in (*graph.inputs, *graph.constants):
        plan.slots[value] = len(plan.slots) + 1
    for value, target in schedule.homes.items():
        plan.slots[value] = plan.slots[target]
    for view in graph.read_at_end():
        if view.value not in plan.slots:
            plan.slots[view.value] = max(plan.slots.values(), default=0) + 1
    blocks = _blocks(schedule, plan, threads)
    plan.without_reuse = sum(block.nbytes for block in blocks)
    plan.arena = _arrange(blocks)
    for block in blocks:
        plan.offsets.update(dict.fromkeys(block.values, block.offset))
    return plan


def _blocks(schedule: Schedule, plan: Plan, threads: int) -> list[_Block]:
    """The blocks that the arena must hold."""
    graph, last, nests = schedule.graph, _last_uses(schedule), temporaries_of(schedule)
    of_value: dict[int, _Block] = {}
    blocks: list[_Block] = []
    for position, step in enumerate(schedule.steps):
        for node in nodes_of(step):
            for value in node.results:
                value, _ = graph.home_of(value)
                if value in plan.slots or value in of_value:
                    continue
                if not isinstance(step, Node) and not step.stored.intersection(node.results):
                    continue
                if node.kind == CALL and node.changes is None:
                    plan.slots[value] = max(plan.slots.values(), default=0) + 1
                    continue
                end = last.get(value, position)
                old = _taken_over(graph, node, of_value, position)
                if old is not None:
                    old.values.append(value)
                    old.last = end
                    of_value[value] = old
                    plan.in_place.add(value)
                    continue
                size = -(-_bytes_of(graph, value, nests) // ALIGNMENT) * ALIGNMENT
                if value in nests:
                    plan.row_bytes[value] = size
                    size *= threads
                of_value[value] = _Block([value], size, position, end)
                blocks.append(of_value[value])
    return blocks


def _bytes_of(graph: Graph, value: int, nests: dict[int, Nest]) -> int:
    """The memory that a value needs: the rows that are done together, if only a nest reads it."""
    kind = graph.values[value]
    nest = nests.get(value)
    if nest is None:
        return kind.nbytes
    return Value.by_rows(kind.shape[len(nest.rows) :], kind.dtype).nbytes * nest.together


def _taken_over(
    graph: Graph, node: Node, of_value: dict[int, _Block], position: int
) -> _Block | None:
    """The block whose value a call changes, if nobody wants the old value any more."""
    if node.changes is None:
        return None
    old = node.operands[node.changes]
    assert isinstance(old, View)
    block = of_value.get(old.value)
    same = graph.values[old.value] == graph.values[node.results[0]]
    return block if block is not None and block.last == position and same else None


def _last_uses(schedule: Schedule) -> dict[int, int]:
    last: dict[int, int] = {}
    for position, step in enumerate(schedule.steps):
        for node in nodes_of(step):
            for view in node.views():
                last[schedule.graph.home_of(view.value)[0]] = position
    return last


def _arrange(blocks: list[_Block]) -> int:
    """Give each block an offset, large ones first, each as low as it goes; the size of it all."""
    placed = sorted(blocks, key=lambda b: -b.nbytes)
    # NumPy finds out whose times overlap: pair by pair it took 15 ms for a thousand blocks.
    firsts = np.array([block.first for block in placed])
    lasts = np.array([block.last for block in placed])
    for k, block in enumerate(placed):
        together = (firsts[:k] <= block.last) & (block.first <= lasts[:k])
        others = [placed[i] for i in np.flatnonzero(together)]
        for other in sorted(others, key=lambda b: b.offset):
            if block.offset + block.nbytes <= other.offset:
                break
            block.offset = max(block.offset, other.offset + other.nbytes)
    return max((block.offset + block.nbytes for block in blocks), default=0)
