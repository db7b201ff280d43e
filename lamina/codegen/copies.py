"""Copies: nodes that give values memory of their own."""

from __future__ import annotations

import numpy as np

from lamina.codegen.graph import CALL, POINTWISE, Graph, Node, Number, Operand, View
from lamina.codegen.pointwise_table import is_looped


def copying(operand: Operand, value: int) -> Node:
    """A node that makes a value of an operand; a call where loops cannot do it."""
    if isinstance(operand, Number) or is_looped(operand.dtype):
        return Node(POINTWISE, "copy", (operand,), (value,))
    return Node(CALL, "copy", (operand,), (value,), function=np.copy, args=(operand,))


def copied(graph: Graph, nodes: list[Node], operand: View) -> View:
    """Append a copy of a view, row by row in memory, to some nodes."""
    value = graph.new_value(operand.shape, operand.dtype)
    nodes.append(copying(operand, value))
    return graph.whole(value)
