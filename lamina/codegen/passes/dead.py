"""Dead code: steps whose results nobody reads are left out."""

from __future__ import annotations

from lamina.codegen.graph import Graph, Node


def drop_dead(graph: Graph) -> None:
    """Leave out pure steps without readers, and constants without readers.

    Steps that are no function of their operands (such as drawing random numbers) stay.
    """
    needed = {view.value for view in graph.read_at_end()}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.is_pure and needed.isdisjoint(node.results):
            continue
        kept.append(node)
        needed.update(view.value for view in node.views())
    graph.nodes = kept[::-1]
    graph.constants = {v: array for v, array in graph.constants.items() if v in needed}
