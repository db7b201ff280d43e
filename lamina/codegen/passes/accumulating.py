"""Sums of products: a product that is only added to another one is added while it is made."""

from __future__ import annotations

from collections import Counter

from lamina.codegen.graph import POINTWISE, PRODUCT, Graph, Node, View


def accumulate(graph: Graph) -> None:
    """Let products take their addend along, where that is a product that nobody else reads.

    The sum is then made in the memory of the addend: gradients of a weight that is used several
    times are such sums.
    """
    uses = Counter(view.value for node in graph.nodes for view in node.views())
    uses.update(view.value for view in graph.read_at_end())
    products: dict[int, Node] = {}
    absorbed: set[int] = set()
    kept: list[Node] = []
    for node in graph.nodes:
        if node.kind == PRODUCT:
            products[node.results[0]] = node  # in order: the later one comes last
        pair = _pair(graph, node, products, uses)
        if pair is not None:
            addend, product = pair
            absorbed.add(product.results[0])
            operands = (*product.operands, addend)
            node = Node(PRODUCT, product.op, operands, node.results, changes=2)
            products[node.results[0]] = node
        kept.append(node)
    graph.nodes = [n for n in kept if n.kind != PRODUCT or absorbed.isdisjoint(n.results)]


def _pair(
    graph: Graph, node: Node, products: dict[int, Node], uses: Counter[int]
) -> tuple[View, Node] | None:
    """What is added, and the product (the later one) that it is added to."""
    if node.kind != POINTWISE or node.op != "add":
        return None
    found: list[View] = []
    for operand in node.operands:
        if not isinstance(operand, View) or not graph.is_whole(operand):
            return None
        if operand.value not in products or uses[operand.value] != 1:
            return None
        if graph.values[operand.value] != graph.values[node.results[0]]:
            return None
        found.append(operand)
    order = list(products)
    addend, last = sorted(found, key=lambda view: order.index(view.value))
    product = products[last.value]
    return (addend, product) if product.changes is None else None
