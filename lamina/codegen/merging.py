"""Neighbouring loops become one where they share what they read.

Placing puts a node into the first loop that touches what it reads, so a chain that begins with
arrays of its own starts a loop of its own, although a later node may bring the two together.
"""

from __future__ import annotations

from math import prod

from lamina.codegen.graph import REDUCTION, Graph, View
from lamina.codegen.steps import MOST_NODES, SMALL_LOOP, Loop, Step


def merge_loops(graph: Graph, steps: list[Step], homes: dict[int, int]) -> list[Step]:
    """The steps, with each loop in the one before it where that is allowed and saves memory."""
    while True:
        merged: list[Step] = []
        for step in steps:
            last = merged[-1] if merged else None
            if isinstance(step, Loop) and isinstance(last, Loop) and _go(graph, last, step, homes):
                last.nodes += step.nodes
                last.touched |= step.touched
            else:
                merged.append(step)
        if len(merged) == len(steps):
            return merged
        steps = merged  # a loop that has grown may share something with the one before it


def _go(graph: Graph, first: Loop, second: Loop, homes: dict[int, int]) -> bool:
    """Whether two loops can be one, and gain by it."""
    if first.shape != second.shape or len(first.nodes) + len(second.nodes) > MOST_NODES:
        return False
    size = prod(first.shape)
    if size > SMALL_LOOP and not first.touched & second.touched:
        return False
    made = {value: node for node in first.nodes for value in node.results}
    joined = {around for value in made for around in graph.around(value)} - made.keys()
    for node in second.nodes:
        for view in node.views():
            maker = made.get(view.value)
            if view.value in joined:
                return False
            if maker is not None and (maker.kind == REDUCTION or not graph.is_whole(view)):
                return False
    return all(
        _is_aligned(graph, view, value)
        for node in second.nodes
        for value in node.results
        if value in homes
        for other in first.nodes
        for view in other.views()
        if view.value == homes[value]
    )


def _is_aligned(graph: Graph, view: View, value: int) -> bool:
    """Whether a view reads each element where a value is written into the same memory."""
    kind = graph.values[value]
    return not view.offset and view.shape == kind.shape and view.strides == kind.strides
