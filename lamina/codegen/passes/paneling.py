"""Matrices that many small products multiply by are laid out in panels, for a kernel of our own.

BLAS brings its right factor into an order of its own in each product. With few rows on the left
that is much of its work, and a recurrent network multiplies by the same weights in each time step.
Here that is done once (see `llvm/panels`), and what is added to such a product is added there.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from lamina.codegen.copies import copied
from lamina.codegen.graph import PANELS, POINTWISE, PRODUCT, Graph, Node, Operand, View
from lamina.codegen.passes.laying_out import FEW_ROWS, LEAST_PRODUCTS

DEEPEST: Final = 1024
"""Rows of a panel that stays in the second-level cache while it is used: 128 KB."""


def use_panels(graph: Graph, lanes: int) -> None:
    """Lay out factors that serve several products of few rows, and let these add what is added.

    Args:
        graph: It is changed.
        lanes: How many float32 a vector of the machine holds.
    """
    uses = Counter(node.operands[1] for node in graph.nodes if _may_use_panels(node, lanes))
    laid: dict[Operand, View] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        right = node.operands[1] if _may_use_panels(node, lanes) else None
        if isinstance(right, View) and uses[right] >= LEAST_PRODUCTS:
            if right not in laid:
                laid[right] = copied(graph, nodes, _as_panels(right, lanes))
            node.op, node.operands = PANELS, (node.operands[0], laid[right])
        nodes.append(node)
    graph.nodes = nodes
    _take_in_sums(graph)


def _panel_width(view: View, lanes: int) -> int:
    """Columns of a panel: two vectors of them."""
    return 2 * lanes * 4 // view.dtype.itemsize


def _may_use_panels(node: Node, lanes: int) -> bool:
    if node.kind != PRODUCT or node.changes is not None:
        return False
    left, right = node.views()
    if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[0] > FEW_ROWS:
        return False
    depth, columns = right.shape
    return depth <= DEEPEST and columns % _panel_width(right, lanes) == 0


def _as_panels(right: View, lanes: int) -> View:
    (depth, columns), (down, across) = right.shape, right.strides
    width = _panel_width(right, lanes)
    shape, strides = (columns // width, depth, width), (width * across, down, across)
    return View(right.value, shape, right.dtype, strides, right.offset)


def _take_in_sums(graph: Graph) -> None:
    """Let products with panels add what is only added to them."""
    uses = Counter(view.value for node in graph.nodes for view in node.views())
    uses.update(view.value for view in graph.read_at_end())
    products: dict[int, Node] = {}
    gone: set[int] = set()
    for k, node in enumerate(graph.nodes):
        pair = _sum_of(graph, node, products, uses)
        if pair is not None:
            product, addend = pair
            gone.update(product.results)
            node = Node(PRODUCT, PANELS, (*product.operands, addend), node.results)
            graph.nodes[k] = node
        if node.kind == PRODUCT and node.op == PANELS:
            products[node.results[0]] = node
    graph.nodes = [node for node in graph.nodes if gone.isdisjoint(node.results)]


def _sum_of(
    graph: Graph, node: Node, products: dict[int, Node], uses: Counter[int]
) -> tuple[Node, View] | None:
    """The product that a step adds something to, and what it adds."""
    if node.kind != POINTWISE or node.op != "add":
        return None
    whole = graph.whole(node.results[0])
    for one, other in (node.operands, node.operands[::-1]):
        if not isinstance(one, View) or not isinstance(other, View):
            return None
        product = products.get(one.value)
        if product is None or uses[one.value] != 1 or not graph.is_whole(one):
            continue
        kinds = {(view.shape, view.dtype) for view in (one, other, whole)}
        steps = {other.strides[-1], whole.strides[-1]}
        if len(kinds) == 1 and steps <= {0, one.strides[-1]} and whole.strides[-1]:
            return product, other
    return None
