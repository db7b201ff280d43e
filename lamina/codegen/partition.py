"""Splitting a graph in two: what is computed now, and what later, when gradients are asked for.

What the later part reads of the earlier one must be kept between them. A pointwise value is rather
computed again if all that it takes is kept anyway: arithmetic is cheaper than memory.
"""

from __future__ import annotations

from dataclasses import replace as changed
from typing import NamedTuple, final

from lamina.codegen.graph import POINTWISE, Graph, Node, Operand, View


@final
class Split(NamedTuple):
    """The two parts of a graph.

    Attributes:
        now: The first part. After its own outputs it gives the values in `kept`.
        later: The second part. Its inputs are `kept`, then `inputs` of the first, then those that
            only it has.
        kept: What the first part gives to the second.
        inputs: Which inputs of the first part the second one reads as well.
    """

    now: Graph
    later: Graph
    kept: tuple[int, ...]
    inputs: tuple[int, ...]


def split(graph: Graph, outputs_now: int, inputs_later: set[int]) -> Split | None:
    """Split a graph whose first `outputs_now` outputs, and whose writes, are wanted first.

    Args:
        inputs_later: Inputs that exist only when the second part runs.

    Returns:
        None where the second part would read an input that the first one overwrites.
    """
    maker = {value: node for node in graph.nodes for value in node.results}
    now_ends = [*graph.outputs[:outputs_now], *(source for _, source in graph.writes)]
    first = _needed(graph, maker, now_ends)
    first |= {id(node) for node in graph.nodes if not node.is_pure}
    second = _needed(graph, maker, graph.outputs[outputs_now:]) - first
    crossing = _crossing(graph, maker, first, second, outputs_now)
    kept, again = _kept(graph, maker, first, crossing)
    second |= again
    nodes_later = [_copy(node) for node in graph.nodes if id(node) in second]
    read = {view.value for node in nodes_later for view in node.views()}
    read |= {o.value for o in graph.outputs[outputs_now:] if isinstance(o, View)}
    shared = [value for value in graph.inputs if value in read and value not in inputs_later]
    if set(shared) & {target for target, _ in graph.writes}:
        return None
    made_later = {value for node in nodes_later for value in node.results}
    kept = [value for value in kept if value in read - made_later]
    now = changed(
        graph,
        values=list(graph.values),
        nodes=[node for node in graph.nodes if id(node) in first],
        inputs=[value for value in graph.inputs if value not in inputs_later],
        constants=dict(graph.constants),
        outputs=[*graph.outputs[:outputs_now], *map(graph.whole, kept)],
    )
    later = changed(
        graph,
        values=list(graph.values),
        nodes=nodes_later,
        inputs=[*kept, *shared, *(v for v in graph.inputs if v in inputs_later)],
        constants={v: a for v, a in graph.constants.items() if v in read},
        outputs=graph.outputs[outputs_now:],
        writes=[],
    )
    return Split(now, later, tuple(kept), tuple(shared))


def _copy(node: Node) -> Node:
    return changed(node)


def _needed(graph: Graph, maker: dict[int, Node], ends: list[Operand]) -> set[int]:
    """The nodes (by id) that lead to some operands."""
    found: set[int] = set()
    stack = [operand.value for operand in ends if isinstance(operand, View)]
    while stack:
        node = maker.get(stack.pop())
        if node is not None and id(node) not in found:
            found.add(id(node))
            stack += [view.value for view in node.views()]
    return found


def _crossing(
    graph: Graph, maker: dict[int, Node], first: set[int], second: set[int], outputs_now: int
) -> list[int]:
    """The values made by the first nodes that the second ones (or their outputs) read, in order."""
    read = {v.value for node in graph.nodes if id(node) in second for v in node.views()}
    read |= {o.value for o in graph.outputs[outputs_now:] if isinstance(o, View)}
    return [
        value
        for node in graph.nodes
        if id(node) in first
        for value in node.results
        if value in read
    ]


def _kept(
    graph: Graph, maker: dict[int, Node], first: set[int], crossing: list[int]
) -> tuple[list[int], set[int]]:
    """Which values are kept, and which nodes are done again instead."""
    kept = {value for value in crossing if maker[value].kind != POINTWISE}
    again: set[int] = set()
    for value in crossing:
        if value in kept:
            continue
        leaves, nodes = _leaves(maker, value, kept)
        extra = sum(graph.values[leaf].nbytes for leaf in leaves if leaf in maker)
        if extra < graph.values[value].nbytes:
            kept |= {leaf for leaf in leaves if leaf in maker}
            again |= nodes
        else:
            kept.add(value)
    order = [value for node in graph.nodes for value in node.results]
    return [value for value in order if value in kept], again


def _leaves(maker: dict[int, Node], value: int, kept: set[int]) -> tuple[set[int], set[int]]:
    """What a value takes, back to kept values, inputs and what is no pointwise result.

    Returns those values, and the ids of the pointwise nodes between.
    """
    leaves: set[int] = set()
    nodes: set[int] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        node = maker.get(current)
        if node is None or node.kind != POINTWISE or current in kept:
            leaves.add(current)
        elif id(node) not in nodes:
            nodes.add(id(node))
            stack += [view.value for view in node.views()]
    return leaves, nodes
