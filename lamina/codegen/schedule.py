"""The order of work: pointwise operations and reductions gather in loops, the rest stands alone.

A loop goes once over a shape and does all its nodes for each element, so a value that is read only
there never goes through memory. Each step has a position; a node goes into the first loop of its
shape from the position on where all that it reads is there.
"""

from __future__ import annotations

from math import prod
from typing import final

from lamina.codegen.collapsing import collapse
from lamina.codegen.copies import copied, copying
from lamina.codegen.graph import (
    CALL,
    JOIN,
    PANELS,
    PRODUCT,
    REDUCTION,
    Graph,
    Node,
    Number,
    View,
)
from lamina.codegen.merging import merge_loops
from lamina.codegen.sinking import sink
from lamina.codegen.steps import MOST_NODES, SMALL_LOOP, Loop, Schedule, Step, readers_of


def schedule(graph: Graph, fuse: bool = True) -> Schedule:
    """Put the nodes of a graph into loops and an order; without `fuse` each into its own."""
    homes = _with_copies(graph)
    if fuse:
        collapse(graph)
    steps = _Placing(graph, homes, fuse).run()
    if fuse:
        steps = sink(graph, merge_loops(graph, steps, homes), homes)
    _find_stored(graph, steps)
    return Schedule(graph, steps, homes)


# --- copies that must be made --------------------------------------------------------------------


def _with_copies(graph: Graph) -> dict[int, int]:
    """Give outputs, written inputs and operands of products memory that suits them.

    Returns the values to be made in the memory of an input.
    """
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.kind == PRODUCT and node.op != PANELS:  # whose kernel reads everything
            node.operands = tuple(
                operand if is_matrix(operand) else copied(graph, nodes, operand)
                for operand in node.operands
                if isinstance(operand, View)
            )
        nodes.append(node)
    made = {value for node in nodes for value in node.results}
    taken: set[int] = set()
    for k, output in enumerate(graph.outputs):
        assert isinstance(output, View)
        home = output
        if home.value not in made - taken or not graph.values[home.value].is_dense:
            home = graph.outputs[k] = copied(graph, nodes, output)
        taken.add(home.value)
    targets = {target for target, _ in graph.writes}
    for k, (target, source) in enumerate(graph.writes):
        if isinstance(source, View) and source.value in targets:  # as in x, y = y, x
            graph.writes[k] = target, copied(graph, nodes, source)
    homes: dict[int, int] = {}
    for target, source in graph.writes:
        kind = graph.values[target]
        value = graph.new_value(kind.shape, kind.dtype, kind.strides)
        nodes.append(copying(source, value))
        homes[value] = target
    graph.nodes, graph.writes = nodes, []
    return homes


def is_matrix(operand: View | Number) -> bool:
    """Whether BLAS can read (each matrix of) a view: one axis has no gaps, the other no overlap."""
    if not isinstance(operand, View):
        return False
    (rows, columns), (down, across) = operand.shape[-2:], operand.strides[-2:]
    item = operand.dtype.itemsize

    def lies(size: int, step: int, other_size: int, other: int) -> bool:
        long_enough = other_size == 1 or (other >= size * item and other % item == 0)
        return (step == item or size == 1) and long_enough

    return lies(columns, across, rows, down) or lies(rows, down, columns, across)


# --- placing -------------------------------------------------------------------------------------


@final
class _Placing:
    """Puts nodes into steps, one after another."""

    def __init__(self, graph: Graph, homes: dict[int, int], fuse: bool) -> None:
        self.graph = graph
        self.most_nodes = MOST_NODES if fuse else 1
        self.homes = homes
        self.steps: list[Step] = []
        self.made_at: dict[int, int] = {}
        self.is_in_memory: set[int] = set()  # what no register of its loop holds
        self.readers: dict[int, list[tuple[int, View]]] = {}

    def run(self) -> list[Step]:
        for node in self.graph.nodes:
            position = self._place(node)
            for value in node.results:
                self.made_at[value] = position
                if node.kind in (REDUCTION, JOIN):
                    self.is_in_memory.add(value)
            for view in node.views():
                self.readers.setdefault(view.value, []).append((position, view))
        return self.steps

    def _place(self, node: Node) -> int:
        if node.kind == JOIN:  # nothing to do: it is there when all its parts are
            return max(self.made_at[view.value] for view in node.views())
        if node.kind in (PRODUCT, CALL):
            self.steps.append(node)
            return len(self.steps) - 1
        shape = self._shape(node)
        first = max((self._after(view) for view in node.views()), default=0)
        for value in node.results:
            if value in self.homes:
                first = max(first, self._after_readers(self.homes[value], value))
        for position in range(first, len(self.steps)):
            step = self.steps[position]
            if isinstance(step, Loop) and step.shape == shape and self._joins(node, step):
                break
        else:
            position = len(self.steps)
            step = Loop(shape)
            self.steps.append(step)
        assert isinstance(step, Loop)
        step.nodes.append(node)
        step.touched.update(node.results, (view.value for view in node.views()))
        return position

    def _shape(self, node: Node) -> tuple[int, ...]:
        if node.kind == REDUCTION:
            (operand,) = node.operands
            assert isinstance(operand, View)
            return operand.shape
        return self.graph.values[node.results[0]].shape

    def _after(self, view: View) -> int:
        """The first position at which a view can be read."""
        made = self.made_at.get(view.value)
        if made is None:
            return 0
        step = self.steps[made]
        is_in_register = (
            isinstance(step, Loop)
            and view.value not in self.is_in_memory
            and self.graph.is_whole(view)
        )
        return made if is_in_register else made + 1

    def _after_readers(self, target: int, value: int) -> int:
        """The first position at which an input may be overwritten: after all who read it.

        A loop that reads each element where it is written may do both.
        """
        kind = self.graph.values[value]
        first = 0
        for position, view in self.readers.get(target, ()):
            together = (
                isinstance(self.steps[position], Loop)
                and view.offset == 0
                and view.shape == kind.shape
                and view.strides == kind.strides
            )
            first = max(first, position if together else position + 1)
        return first

    def _joins(self, node: Node, loop: Loop) -> bool:
        """Whether a node gains by going into a loop."""
        if len(loop.nodes) >= self.most_nodes:
            return False
        size = prod(loop.shape)
        touches = any(view.value in loop.touched for view in node.views())
        return size <= SMALL_LOOP or touches or not any(True for _ in node.views())


def _find_stored(graph: Graph, steps: list[Step]) -> None:
    """Note which values of each loop are read elsewhere, or asked for."""
    wanted = {view.value for view in graph.read_at_end()}
    readers = readers_of(steps)
    for position, step in enumerate(steps):
        if not isinstance(step, Loop):
            continue
        for node in step.nodes:
            for value in node.results:
                elsewhere = readers.get(value, set()) - {position}
                if value in wanted or elsewhere or not readers.get(value) or value in graph.inside:
                    step.stored.add(value)
