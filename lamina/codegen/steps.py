"""The steps of a schedule: loops, nests of loops, and nodes that stand alone.

A loop goes once over a shape and does all its nodes for each element, so a value that is read only
there never goes through memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, final

from lamina.codegen.graph import Graph, Node

SMALL_LOOP: Final = 4096
"""Loops of at most so many elements take in nodes that share nothing with them."""

MOST_NODES: Final = 96
"""Nodes in a loop: more would not find registers."""


@final
class Cut(NamedTuple):
    """How several threads share a loop (see `splitting`).

    Attributes:
        axis: Along which axis it is cut.
        grain: How many steps along it make a piece.
        pieces: How many pieces there are.
    """

    axis: int
    grain: int
    pieces: int

    def sets_of(self, reduction: Node) -> int:
        """How many sets of accumulators a reduction needs: one for each piece if it crosses."""
        return self.pieces if self.axis in reduction.axes else 1


@final
@dataclass(slots=True)
class Loop:
    """Nodes that are done together for each element of a shape.

    Attributes:
        shape: What is gone over; for reductions that of their operand.
        nodes: The nodes, in order.
        stored: The values that others read, and that therefore go to memory.
        cut: How several threads share it.
    """

    shape: tuple[int, ...]
    nodes: list[Node] = field(default_factory=list)
    stored: set[int] = field(default_factory=set)
    touched: set[int] = field(default_factory=set)
    cut: Cut | None = None


@final
@dataclass(slots=True)
class Nest:
    """Loops that go over the same rows together, so that each row stays in the cache.

    Attributes:
        rows: The sizes of the leading axes.
        loops: What is done for each row, in order.
        temporaries: Values that only the nest reads: of them the rows that are done together are
            enough (for each thread).
        cut: How several threads share it.
        together: How many rows are done together (see `together`).
    """

    rows: tuple[int, ...]
    loops: list[Loop]
    temporaries: set[int] = field(default_factory=set)
    cut: Cut | None = None
    together: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the leading axes."""
        return self.rows

    @property
    def nodes(self) -> list[Node]:
        """The nodes of all loops."""
        return [node for loop in self.loops for node in loop.nodes]

    @property
    def stored(self) -> set[int]:
        """The values of all loops that go to memory."""
        return set().union(*(loop.stored for loop in self.loops))


Step: TypeAlias = Loop | Nest | Node


@final
@dataclass
class Schedule:
    """A graph's work in order.

    Attributes:
        graph: The graph; scheduling adds copies to it.
        steps: Loops, and nodes that stand alone: products and calls.
        homes: Values that are made in the memory of an input.
    """

    graph: Graph
    steps: list[Step]
    homes: dict[int, int]

    def __str__(self) -> str:
        lines: list[str] = []
        for step in self.steps:
            if isinstance(step, Nest):
                lines.append(f"for rows [{','.join(map(str, step.rows))}]:")
                for loop in step.loops:
                    lines += ["    " + line for line in self._lines(loop, step.temporaries)]
            elif isinstance(step, Loop):
                lines += self._lines(step, set())
            else:
                lines.append(self.graph.line(step))
        if self.graph.outputs:
            lines.append(f"return {', '.join(map(self.graph.text, self.graph.outputs))}")
        return "\n".join(lines)

    def _lines(self, loop: Loop, temporaries: set[int]) -> list[str]:
        lines = [f"for [{','.join(map(str, loop.shape))}]:"]
        for node in loop.nodes:
            text = self.graph.line(node)
            for value in node.results:
                if value in self.graph.inside:
                    text += f"  -> part of %{self.graph.inside[value][0]}"
                elif value in self.homes:
                    text += f"  -> %{self.homes[value]}"
                elif value in loop.stored:
                    text += "  -> row" if value in temporaries else "  -> memory"
            lines.append("    " + text)
        return lines


def readers_of(steps: list[Step]) -> dict[int, set[int]]:
    """For each value that is read the positions of the steps that do."""
    readers: dict[int, set[int]] = {}
    for position, step in enumerate(steps):
        for node in nodes_of(step):
            for view in node.views():
                readers.setdefault(view.value, set()).add(position)
    return readers


def nodes_of(step: Step) -> Iterator[Node]:
    """The nodes of a step."""
    yield from (step,) if isinstance(step, Node) else step.nodes


def temporaries_of(schedule: Schedule) -> dict[int, Nest]:
    """The values of which only rows are in memory, each with its nest."""
    nests = [step for step in schedule.steps if isinstance(step, Nest)]
    return {value: nest for nest in nests for value in nest.temporaries}
