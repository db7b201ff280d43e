"""Folding: what is known beforehand is computed beforehand, and what changes nothing is left out.

Only what holds for every float, the infinities and nan and both zeros included: `x * 1` is `x`,
but `x + 0` is not (-0 + 0 is 0), nor is `x * 0` zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.codegen.graph import POINTWISE, Graph, Node, Number, Operand, View
from lamina.codegen.pointwise_table import computing

SMALL = 64
"""Constant arrays of at most so many elements are looked into for being one number."""


def fold(graph: Graph) -> None:
    """Replace what is known or unchanged; the steps left without readers are for `drop_dead`."""
    known: dict[int, Operand] = {
        value: Number(array.reshape(-1)[0])
        for value, array in graph.constants.items()
        if 0 < array.size <= SMALL and _is_uniform(array)
    }

    def found(operand: Operand) -> Operand:
        if not isinstance(operand, View) or operand.value not in known:
            return operand
        other = known[operand.value]
        if isinstance(other, Number):
            return other if other.value.dtype == operand.dtype else operand
        return View(other.value, operand.shape, operand.dtype, operand.strides, operand.offset)

    for node in graph.nodes:
        if node.kind != POINTWISE:
            continue
        is_part = node.results[0] in graph.inside  # it is wanted just there
        node.operands = tuple(map(found, node.operands))
        _respell(node)
        result = None if is_part else _folded(graph, node)
        if result is not None:
            known[node.results[0]] = result
    _substitute(graph, found)


def _substitute(graph: Graph, found: Any) -> None:
    """Replace operands, but no array by a number where an array is wanted: in calls, as outputs."""
    calls = {id(node): node for node in graph.nodes if node.kind != POINTWISE}

    def in_calls(operand: Operand) -> Operand:
        other = found(operand)
        return operand if isinstance(other, Number) else other

    nodes = graph.nodes
    graph.nodes = list(calls.values())
    writes, graph.writes = graph.writes, []
    graph.substitute(in_calls)
    graph.nodes = [node for node in nodes if node.kind == POINTWISE]
    outputs, graph.outputs, graph.writes = graph.outputs, [], writes
    graph.substitute(found)
    graph.nodes, graph.outputs = nodes, outputs


def _is_uniform(array: Any) -> bool:
    flat = array.reshape(-1)
    return all(item.tobytes() == flat[0].tobytes() for item in flat)


def _respell(node: Node) -> None:
    """Cheaper operations that give the same."""
    last = node.operands[-1]
    if node.op == "power" and isinstance(last, Number) and last.value == 2:
        node.op, node.operands = "square", node.operands[:1]
    elif node.op == "cast" and isinstance(node.operands[0], Number):
        return


def _folded(graph: Graph, node: Node) -> Operand | None:
    """What the result of a pointwise step is, if that is known without computing it."""
    result = graph.values[node.results[0]]
    if all(isinstance(operand, Number) for operand in node.operands):
        out = np.empty((), result.dtype)
        numbers = [operand.value for operand in node.operands if isinstance(operand, Number)]
        with np.errstate(all="ignore"):
            computing(node.op)(*numbers, out=out)
        number: Any = out[()]
        return Number(number)
    unchanged = _unchanged(node)
    if isinstance(unchanged, View) and graph.is_whole(unchanged):
        source = graph.values[unchanged.value]
        return unchanged if source == result else None
    return None


def _unchanged(node: Node) -> Operand | None:
    """The operand that an operation gives back as it is, if it does."""
    if node.op == "copy":
        return node.operands[0]
    if len(node.operands) != 2:
        return None
    first, second = node.operands
    if node.op == "multiply":
        return second if _is(first, 1) else first if _is(second, 1) else None
    if node.op == "divide" and _is(second, 1):
        return first
    if node.op == "subtract" and _is(second, 0) and not _is_minus_zero(second):
        return first
    if node.op == "add" and first != second:
        return second if _is_minus_zero(first) else first if _is_minus_zero(second) else None
    return None


def _is(operand: Operand, number: float) -> bool:
    return isinstance(operand, Number) and bool(operand.value == number)


def _is_minus_zero(operand: Operand) -> bool:
    if not isinstance(operand, Number) or operand.value.dtype.kind != "f":
        return False
    return _is(operand, 0) and bool(np.signbit(operand.value))
