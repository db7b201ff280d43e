"""Loops that have nothing to do with each other, shared out among threads all at once.

An optimizer's step is a loop for each parameter. Waking threads for each of them, and waiting for
the last one, takes as long as the loop of a small parameter itself. (Adam on 100 x 10,000 numbers:
0.5 ms instead of 1.4.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

from lamina.codegen.graph import POINTWISE, Graph
from lamina.codegen.llvm.ir import TASK, Block, Function
from lamina.codegen.llvm.moving import Mover
from lamina.codegen.memory import Plan
from lamina.codegen.splitting import LEAST_CYCLES, cycles
from lamina.codegen.steps import Loop, Step

TURNS: Final = 64
"""About how often threads come for more pieces: often enough that all end at the same time."""


@final
class Piece(NamedTuple):
    """A range of a task, with the place of the task's table among the tables of all."""

    task: str
    table: int
    begin: int
    end: int


def side_by_side(steps: Sequence[Step], graph: Graph, plan: Plan) -> Iterator[Step | list[Loop]]:
    """The steps; neighbouring loops that can be done in any order, and pay for it, as a list."""
    group: list[Loop] = []
    read: set[int] = set()
    written: set[int] = set()
    for step in steps:
        found = _memory_of(step, graph, plan)
        if found is None or found[1] & (read | written) or found[0] & written:
            yield from _worth(group)
            group, read, written = [], set(), set()
        if found is None or not isinstance(step, Loop):
            yield step
            continue
        group.append(step)
        read, written = read | found[0], written | found[1]
    yield from _worth(group)


def _worth(group: list[Loop]) -> Iterator[Step | list[Loop]]:
    """A group, or its loops one by one where there is too little work."""
    if len(group) > 1 and sum(map(cycles, group)) >= LEAST_CYCLES:
        yield group
    else:
        yield from group


def ranges_of(loop: Loop, share: float) -> Iterator[tuple[int, int]]:
    """The pieces of a loop that is such a share of all work: few where there are many loops."""
    if loop.cut is None:
        yield 0, 1
        return
    size, wanted = loop.shape[loop.cut.axis], max(round(TURNS * share), 1)
    grain = loop.cut.grain * -(-loop.cut.pieces // wanted)
    for begin in range(0, size, grain):
        yield begin, min(begin + grain, size)


def _memory_of(step: Step, graph: Graph, plan: Plan) -> tuple[set[int], set[int]] | None:
    """What a loop reads and writes, by value or slot; None for what must keep its turn.

    That is all but loops over elements that write arrays alone: in the arena others may have been
    given the same place.
    """
    if not isinstance(step, Loop) or any(node.kind != POINTWISE for node in step.nodes):
        return None
    stored = [graph.home_of(value)[0] for value in step.stored]
    if any(value not in plan.slots for value in stored):
        return None
    read = {graph.home_of(view.value)[0] for node in step.nodes for view in node.views()}
    made = {value for node in step.nodes for value in node.results}
    return (
        {plan.slots.get(value, -value - 1) for value in read - made},
        {plan.slots[value] for value in stored},
    )


# --- their code ----------------------------------------------------------------------------------

_PIECE: Final = "{ ptr, i64, i64, i64 }"


def list_of(function: Function, pieces: Sequence[Piece]) -> str:
    """The name of a constant that lists pieces, beside a function."""
    name = f"@{function.name}_pieces{len(function.constants)}"
    entries = ", ".join(
        f"{_PIECE} {{ ptr @{piece.task}, i64 {piece.table}, i64 {piece.begin}, i64 {piece.end} }}"
        for piece in pieces
    )
    kind = f"[{len(pieces)} x {_PIECE}]"
    function.constants.append(f"{name} = private constant {kind} [{entries}]")
    return name


def write_runner() -> Function:
    """The task that does pieces of a list. Its table has the list first, then all tables."""
    function = Function("pieces", TASK)
    mover, numbers = Mover(function), Block(function, 0)
    listed = function.give("load ptr, ptr %table")
    with mover.counted("%begin", "%end") as index:
        piece = function.give(f"getelementptr {_PIECE}, ptr {listed}, i64 {index}")
        parts = []
        for k, kind in enumerate(("ptr", "i64", "i64", "i64")):
            at = function.give(f"getelementptr {_PIECE}, ptr {piece}, i64 0, i32 {k}")
            parts.append(numbers.give(kind, f"load {kind}, ptr {at}").name)
        task, place, begin, end = parts
        table = function.give(f"getelementptr ptr, ptr %table, i64 {place}")
        function.line(f"call void {task}(ptr {table}, i64 {begin}, i64 {end}, i64 %worker)")
    return function
