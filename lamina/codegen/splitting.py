"""Where a loop is cut, so that several threads can share it.

A loop is cut along one axis into pieces. Sums that go across that axis are collected for each piece
apart, and brought together when all are done, in order: so a result is the same for every number of
threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final

from lamina.codegen.graph import REDUCTION, Graph, Node, Number, Value, View
from lamina.codegen.pointwise_table import COSTLY
from lamina.codegen.steps import Cut, Loop, Nest, Schedule

LEAST_CYCLES: Final = 30_000
"""Less work than this (about 10 microseconds) is not worth waking a thread for."""

SHARE: Final = 8
"""Bringing sums of pieces together may be so many times less work than the loop."""

MOST_PIECES: Final = 16
_ENOUGH: Final = 8  # an outer axis of so many steps is long enough to be cut
_UNIT: Final = 64  # elements along a row that are never cut apart


def cut_all(schedule: Schedule) -> None:
    """Cut all loops of a schedule that are large enough."""
    for step in schedule.steps:
        if not isinstance(step, Node):
            step.cut = cut(schedule.graph, step)


def cut(graph: Graph, step: Loop | Nest) -> Cut | None:
    """Where a loop is cut; None if it is too small, or cannot be."""
    if cycles(step) < LEAST_CYCLES:
        return None
    sizes = step.shape
    order = axis_order(graph, step) if isinstance(step, Loop) else []
    for axis in _axes(sizes):
        found = _along(sizes, axis, is_row=order[-1:] == [axis])
        if found.pieces > 1 and _is_light(graph, step, found):
            return found
    return None


def axis_order(graph: Graph, loop: Loop, depth: int = 0) -> list[int]:
    """The axes from `depth` on in which a loop goes through memory, those of one step left out.

    What is read or written along most axes decides, then what covers most memory.
    """
    kinds: list[View | Value] = [view for node in loop.nodes for view in node.views()]
    kinds += [graph.values[value] for value in loop.stored]
    kinds = [kind for kind in kinds if len(kind.shape) == len(loop.shape)]
    lead = max((kind.strides for kind in kinds), key=_reach, default=(0,) * len(loop.shape))
    axes = [axis for axis, size in enumerate(loop.shape) if size > 1 and axis >= depth]
    return sorted(axes, key=lambda axis: -abs(lead[axis]))


def _reach(strides: tuple[int, ...]) -> tuple[int, int]:
    return sum(step != 0 for step in strides), sum(map(abs, strides))


def crossing(step: Loop | Nest, axis: int) -> list[Node]:
    """The reductions that go across an axis."""
    return [node for node in step.nodes if node.kind == REDUCTION and axis in node.axes]


def cycles(step: Loop | Nest) -> float:
    """About how long a loop takes, in cycles of one core."""
    loops = [step] if isinstance(step, Loop) else step.loops
    return sum(prod(loop.shape) * _cycles_of_one(loop.nodes) for loop in loops)


def _cycles_of_one(nodes: Iterable[Node]) -> float:
    """For one element: about a quarter for what is read, more for functions of a dozen steps."""
    return sum(
        (1.0 if node.op in COSTLY else 0.1)
        + 0.25 * sum(not isinstance(operand, Number) for operand in node.operands)
        for node in nodes
    )


def _axes(sizes: tuple[int, ...]) -> list[int]:
    """The axes, in the order in which they come into question: long outer ones first."""
    return sorted(range(len(sizes)), key=lambda k: (sizes[k] < _ENOUGH, -min(sizes[k], _ENOUGH), k))


def _along(sizes: tuple[int, ...], axis: int, is_row: bool) -> Cut:
    size, unit = sizes[axis], _UNIT if is_row else 1
    grain = -(-size // MOST_PIECES)
    grain = -(-grain // unit) * unit
    return Cut(axis, grain, -(-size // grain) if grain else 0)


def _is_light(graph: Graph, step: Loop | Nest, found: Cut) -> bool:
    """Whether bringing the pieces' sums together is little work beside the loop's."""
    extra = sum(graph.values[node.results[0]].size for node in crossing(step, found.axis))
    return extra * found.pieces * SHARE <= cycles(step)
