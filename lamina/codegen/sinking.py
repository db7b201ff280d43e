"""Nodes go to the loop that needs what they make, where that keeps less in memory in between.

Placing puts a node into the first loop where it can be done. For derivatives that is often the
forward loop: of `y = tanh(x)` it would keep `1 - y * y` for the backward pass beside `y`, which is
kept in any case. What can be made of values that are in memory anyway is made where it is read, or
shortly before: a time step of an LSTM then keeps six matrices instead of eleven.
"""

from __future__ import annotations

from typing import Final, final

from lamina.codegen.graph import POINTWISE, Graph, Node
from lamina.codegen.steps import MOST_NODES, Loop, Step, readers_of

LONGEST: Final = 8
MOST_READ: Final = 2
"""Values that a loop may read instead of the one that was kept for it."""


def sink(graph: Graph, steps: list[Step], homes: dict[int, int]) -> list[Step]:
    """The steps, with nodes moved to later loops over the same shape."""
    sinking = _Sinking(graph, steps, homes)
    for position in reversed(range(len(steps))):
        sinking.empty(position)
    return [step for step in steps if not isinstance(step, Loop) or step.nodes]


@final
class _Sinking:
    def __init__(self, graph: Graph, steps: list[Step], homes: dict[int, int]) -> None:
        self._graph = graph
        self._steps = steps
        self._readers = readers_of(steps)
        self._wanted = {view.value for view in graph.read_at_end()} | homes.keys()
        self._overwritten = set(homes.values())

    def empty(self, position: int) -> None:
        """Move what can be moved out of a loop."""
        loop = self._steps[position]
        if not isinstance(loop, Loop):
            return
        makers = {value: node for node in loop.nodes for value in node.results}
        for node in reversed(makers.copy().values()):
            target = self._target(node, position) if node.results[0] in makers else None
            if target is None:
                continue
            chain = self._chain(node, position, makers)
            if chain is not None and self._pays(chain, target):
                self._move(chain, position, target)
                for member in chain:
                    del makers[member.results[0]]

    def _target(self, node: Node, position: int) -> int | None:
        """The later loop over the same shape where a node's result is wanted."""
        (value,) = node.results
        around = set(self._graph.around(value))
        readers = set().union(*(self._readers.get(each, set()) for each in around))
        if node.kind != POINTWISE or around & self._wanted or len(readers) != 1:
            return None
        (reader,) = readers
        if value not in self._graph.inside and self._reads_aligned(reader, value):
            return reader if reader > position else None
        # It is read in memory anyway: it can be made in the last loop before.
        shape = self._graph.values[value].shape
        for target in range(reader - 1, position, -1):
            loop = self._steps[target]
            if isinstance(loop, Loop) and loop.shape == shape:
                return target
        return None

    def _reads_aligned(self, reader: int, value: int) -> bool:
        """Whether a step is a loop that reads a value element by element."""
        loop = self._steps[reader]
        if not isinstance(loop, Loop) or loop.shape != self._graph.values[value].shape:
            return False
        views = (view for node in loop.nodes for view in node.views())
        return all(self._graph.is_whole(view) for view in views if view.value == value)

    def _chain(self, node: Node, position: int, makers: dict[int, Node]) -> list[Node] | None:
        """The node with those before it in its loop that must go along; None if some cannot."""
        chain = [node]
        while len(chain) <= LONGEST:
            read = {view.value for member in chain for view in member.views()}
            if not read.isdisjoint(self._overwritten):
                return None
            made = {value for member in chain for value in member.results}
            missing = [v for v in read - made if v in makers and not self._is_kept(v, position)]
            if not missing:
                return [maker for maker in makers.values() if any(maker is m for m in chain)]
            maker = makers[missing[0]]
            if maker.kind != POINTWISE or not self._is_read_only_by(missing[0], chain, position):
                return None
            chain.append(maker)
        return None

    def _is_kept(self, value: int, position: int) -> bool:
        """Whether a value of a loop goes to memory whether or not it is read later."""
        is_wanted = value in self._wanted or value in self._graph.inside
        return is_wanted or bool(self._readers.get(value, set()) - {position})

    def _is_read_only_by(self, value: int, chain: list[Node], position: int) -> bool:
        loop = self._steps[position]
        assert isinstance(loop, Loop)
        readers = [n for n in loop.nodes if any(v.value == value for v in n.views())]
        return all(any(reader is member for member in chain) for reader in readers)

    def _pays(self, chain: list[Node], target: int) -> bool:
        loop = self._steps[target]
        assert isinstance(loop, Loop)
        made = {value for member in chain for value in member.results}
        read = {view.value for member in chain for view in member.views()} - made
        there = {view.value for node in loop.nodes for view in node.views()}
        has_room = len(loop.nodes) + len(chain) <= MOST_NODES
        return has_room and len(read - there) <= MOST_READ

    def _move(self, chain: list[Node], position: int, target: int) -> None:
        source, loop = self._steps[position], self._steps[target]
        assert isinstance(source, Loop)
        assert isinstance(loop, Loop)
        moved = set(map(id, chain))
        source.nodes = [node for node in source.nodes if id(node) not in moved]
        loop.nodes[:0] = chain
        for member in chain:
            loop.touched.update(member.results, (view.value for view in member.views()))
            for view in member.views():
                self._readers[view.value].add(target)
        rest = {view.value for node in source.nodes for view in node.views()}
        for member in chain:
            for value in {view.value for view in member.views()} - rest:
                self._readers[value].discard(position)
