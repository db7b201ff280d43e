"""Values that are only copied into a joined array are made there."""

from __future__ import annotations

from lamina.codegen.graph import JOIN, POINTWISE, PRODUCT, Graph, Node, Value, View, settled


def make_in_place(graph: Graph) -> None:
    """Give values that are parts of a joined array, as they are, their place in its memory.

    A recurrent network's states are such parts, and so are their gradients: a time step makes them,
    the next one reads them, and in the end they are stacked.
    """
    wanted = {view.value for view in graph.read_at_end()}
    makers = {value: node for node in graph.nodes for value in node.results}
    moved: dict[int, int] = {}
    for node in graph.nodes:
        source = _source(graph, node, makers)
        if source is None or source in wanted or source in graph.inside:
            continue
        (part,) = node.results
        graph.inside[source] = graph.inside.pop(part)
        moved[part] = source
    graph.nodes = [node for node in graph.nodes if moved.keys().isdisjoint(node.results)]
    for node in graph.nodes:
        if node.kind == JOIN:
            parts = (moved.get(view.value, view.value) for view in node.views())
            node.operands = tuple(map(graph.whole, parts))


def _source(graph: Graph, node: Node, makers: dict[int, Node]) -> int | None:
    """What a node copies into a joined array, if both lie row by row in memory without gaps."""
    if node.kind != POINTWISE or node.op != "copy" or node.results[0] not in graph.inside:
        return None
    (operand,) = node.operands
    if not isinstance(operand, View) or operand.offset:
        return None
    maker = makers.get(operand.value)
    if maker is None or maker.kind not in (JOIN, POINTWISE, PRODUCT) or maker.changes is not None:
        return None
    made, part = graph.values[operand.value], graph.values[node.results[0]]
    has_same_size = made.dtype == operand.dtype and made.size == part.size
    steps = settled(operand.shape, operand.strides)
    are_by_rows = all(
        each.strides == Value.by_rows(each.shape, each.dtype).strides
        for each in (made, part, Value(operand.shape, operand.dtype, steps))
    )
    return operand.value if has_same_size and are_by_rows else None
