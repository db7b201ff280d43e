"""Matrices that many small products read by columns are laid out by rows once.

BLAS brings its right operand into an order of its own in each product. With few rows on the left
that is much of its work, and more of it where the operand lies transposed: 32 x 128 by 128 x 512
takes 72 us then, and 49 us with an operand that lies by rows. A recurrent network multiplies by the
same weights in each time step.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from lamina.codegen.copies import copied
from lamina.codegen.graph import PRODUCT, Graph, Node, Operand, View

FEW_ROWS: Final = 64
LEAST_PRODUCTS: Final = 4


def lay_out(graph: Graph) -> None:
    """Copy right operands that lie by columns and serve several products of few rows."""
    uses = Counter(
        node.operands[1] for node in graph.nodes if node.kind == PRODUCT and _is_slow(node)
    )
    laid: dict[Operand, View] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        right = node.operands[1] if node.kind == PRODUCT else None
        if isinstance(right, View) and uses[right] >= LEAST_PRODUCTS:
            if right not in laid:
                laid[right] = copied(graph, nodes, right)
            node.operands = (node.operands[0], laid[right], *node.operands[2:])
        nodes.append(node)
    graph.nodes = nodes


def _is_slow(node: Node) -> bool:
    """Whether a product has few rows, and a right operand that lies by columns."""
    left, right, *_ = node.views()
    is_by_columns = right.strides[-2] == right.dtype.itemsize < right.strides[-1]
    return len(right.shape) == 2 and left.shape[-2] <= FEW_ROWS and is_by_columns
