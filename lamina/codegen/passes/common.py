"""Common subexpressions: what is computed twice from the same is computed once."""

from __future__ import annotations

from typing import Any

from lamina.codegen.graph import CALL, Graph, Node, Number, Operand, View
from lamina.codegen.pointwise_table import COMMUTATIVE


def share_common(graph: Graph) -> None:
    """Replace each step that repeats an earlier one, and each constant that repeats another."""
    same: dict[int, int] = _equal_constants(graph)
    seen: dict[Any, Node] = {}
    kept: list[Node] = []

    def renamed(operand: Operand) -> Operand:
        if isinstance(operand, View) and operand.value in same:
            return View(
                same[operand.value], operand.shape, operand.dtype, operand.strides, operand.offset
            )
        return operand

    for node in graph.nodes:
        if node.kind == CALL:
            kept.append(node)
            continue
        is_part = not graph.inside.keys().isdisjoint(node.results)
        node.operands = tuple(map(renamed, node.operands))
        first = node if is_part else seen.setdefault(_key(graph, node), node)
        if first is node:
            kept.append(node)
        else:
            same.update(zip(node.results, first.results, strict=True))
    graph.nodes = kept
    graph.substitute(renamed)


def _key(graph: Graph, node: Node) -> Any:
    operands = [_operand_key(operand) for operand in node.operands]
    if node.op in COMMUTATIVE:
        operands.sort()
    return node.op, node.axes, tuple(operands), tuple(map(graph.values.__getitem__, node.results))


def _operand_key(operand: Operand) -> str:
    if isinstance(operand, Number):  # by bits: -0.0 and 0.0 differ, and nan is itself
        return f"{operand.value.dtype.char}{operand.value.tobytes().hex()}"
    place = (operand.value, operand.shape, operand.strides, operand.offset)
    return f"%{operand.dtype.char}{place}"


def _equal_constants(graph: Graph) -> dict[int, int]:
    seen: dict[Any, int] = {}
    same: dict[int, int] = {}
    for value, array in list(graph.constants.items()):
        key = (graph.values[value], array.tobytes())
        first = seen.setdefault(key, value)
        if first != value:
            same[value] = first
            del graph.constants[value]
    return same
