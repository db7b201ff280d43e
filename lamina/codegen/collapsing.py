"""Axes that always go together become one, so that loops over the same elements have one shape.

A network reshapes a batch of sequences (12, 64, 512) into rows (768, 512) for a product and back.
Loops over both can only be one if their shapes are: so leading axes are taken together wherever the
steps in memory of all that is read and written allow it. The last axis stays as it is, since rows
are what nests go over; and steps that hand on elements to each other keep common rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeAlias

from lamina.codegen.graph import JOIN, POINTWISE, REDUCTION, Graph, Node, Value, View

_Strides: TypeAlias = tuple[int, ...]


def collapse(graph: Graph) -> None:
    """Take axes of pointwise steps and reductions together where that is allowed."""
    changed = {node.operands[node.changes] for node in graph.nodes if node.changes is not None}
    fixed = {view.value for view in changed if isinstance(view, View)}
    looped = {
        value
        for node in graph.nodes
        if node.kind in (POINTWISE, REDUCTION)
        for value in node.results
    }
    for group in _connected(graph):
        if any(not fixed.isdisjoint(node.results) for node in group):
            continue  # a call writes into it as it is
        for axis in reversed(range(len(_rows_of(graph, group[0])) - 1)):
            joining = [node for node in group if _may_join(graph, node, axis)]
            if len(joining) < len(group) and not _pays(graph, looped, group, joining, axis):
                continue
            for node in joining:
                _join(graph, node, axis)
            group = joining
    for node in graph.nodes:
        if node.kind == JOIN:
            node.operands = tuple(graph.whole(view.value) for view in node.views())


def _rows_of(graph: Graph, node: Node) -> tuple[int, ...]:
    """The shape that the loop of a node goes over, without the last axis."""
    if node.kind == REDUCTION:
        return next(node.views()).shape[:-1]
    return graph.values[node.results[0]].shape[:-1]


def _connected(graph: Graph) -> list[list[Node]]:
    """The nodes with loops, in groups that hand on elements, or numbers for rows, to each other."""
    group_of: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if node.kind not in (POINTWISE, REDUCTION):
            continue
        rows, own = _rows_of(graph, node), [node]
        for view in node.views():
            other = group_of.get(view.value, own)
            if other is not own and view.shape[:-1] == rows == _rows_of(graph, other[0]):
                other += own
                for member in own:
                    group_of.update(dict.fromkeys(member.results, other))
                own = other
        group_of.update(dict.fromkeys(node.results, own))
    return list({id(group): group for group in group_of.values()}.values())


def _pays(
    graph: Graph, looped: set[int], group: list[Node], joining: list[Node], axis: int
) -> bool:
    """Whether it saves memory if some of a group take two axes together, and the rest do not.

    What one part makes and the other reads then goes through memory; but not any more what loops
    outside of the group (the `looped` values), which have the axes as one, hand to the first part.
    """
    joins = {id(node) for node in joining}
    parts = {value: id(node) in joins for node in group for value in node.results}
    gain = 0
    for node in group:
        is_joining = id(node) in joins
        for view in node.views():
            size = prod(view.shape)
            if parts.get(view.value, is_joining) != is_joining:
                gain -= size
            elif is_joining and view.value in looped and view.value not in parts:
                shape, _ = _joined(view.shape, view.strides, axis)
                gain += size * (shape == graph.values[view.value].shape)
    return gain > 0


def _may_join(graph: Graph, node: Node, axis: int) -> bool:
    """Whether an axis and the next one may become one in all that a node reads and writes."""
    if (axis in node.axes) != (axis + 1 in node.axes):
        return False
    views = [(view.shape, view.strides) for view in node.views()]
    return all(
        _is_regular(shape, strides, at)
        for shape, strides, at in [*((*v, axis) for v in views), *_results(graph, node, axis)]
    )


def _results(graph: Graph, node: Node, axis: int) -> Iterator[tuple[_Strides, _Strides, int]]:
    """What a node makes, with the place of the axis there, unless the node takes it away."""
    for value in node.results if axis not in node.axes else ():
        kind = graph.values[value]
        yield kind.shape, kind.strides, axis - sum(gone < axis for gone in node.axes)


def _is_regular(shape: _Strides, strides: _Strides, axis: int) -> bool:
    """Whether steps along two axes follow on each other."""
    if 1 in shape[axis : axis + 2]:
        return True
    return strides[axis] == strides[axis + 1] * shape[axis + 1]


def _joined(shape: _Strides, strides: _Strides, axis: int) -> tuple[_Strides, _Strides]:
    """Shape and steps with two axes as one."""
    first, second = shape[axis : axis + 2]
    step = strides[axis] if second == 1 else strides[axis + 1]
    return (
        (*shape[:axis], first * second, *shape[axis + 2 :]),
        (*strides[:axis], step, *strides[axis + 2 :]),
    )


def _join(graph: Graph, node: Node, axis: int) -> None:
    made = list(_results(graph, node, axis))
    node.operands = tuple(
        _view_joined(operand, axis) if isinstance(operand, View) else operand
        for operand in node.operands
    )
    for value, (shape, strides, at) in zip(node.results if made else (), made, strict=True):
        kind = graph.values[value]
        new_shape, new_strides = _joined(shape, strides, at)
        graph.values[value] = Value(new_shape, kind.dtype, new_strides)
    node.axes = tuple(dict.fromkeys(gone - (gone > axis) for gone in node.axes))


def _view_joined(view: View, axis: int) -> View:
    shape, strides = _joined(view.shape, view.strides, axis)
    return View(view.value, shape, view.dtype, strides, view.offset)
