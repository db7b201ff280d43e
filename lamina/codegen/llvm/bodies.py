"""What a loop does at one place: all its nodes, on a vector in each of some rows and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lamina.codegen.graph import REDUCTION, Graph, Node, Number, Operand, View
from lamina.codegen.llvm.ir import KIND_OF, Block, Lanes
from lamina.codegen.llvm.moving import Access, Mover
from lamina.codegen.llvm.operations import OPERATIONS, cast
from lamina.codegen.llvm.sums import Spot, Sum


@final
@dataclass(slots=True)
class Body:
    """The nodes of a loop, with what they read and write.

    Attributes:
        mover: Writes loads and stores.
        graph: The graph that the nodes are of.
        nodes: The nodes, in order.
        loads, stores: The memory of what is read and written.
        sums: The reductions.
        ahead: So many rows further is what will be read next; 0 where the processor knows.
    """

    mover: Mover
    graph: Graph
    nodes: Sequence[Node]
    loads: dict[View, Access]
    stores: dict[int, Access]
    sums: Sequence[Sum]
    ahead: int = 0

    def write(self, block: Block, spots: Sequence[Spot]) -> None:
        """All nodes at some places: neighbouring vectors of a row, in one row or several.

        Several rows at once are short runs of memory far from each other, which the processor does
        not see coming: so the next ones are asked for.
        """
        rows = 1 + max(spot.row for spot in spots)
        self.ahead = rows if rows > 1 and spots[0].count == block.width else 0
        loaded: dict[Any, Lanes] = {}
        addends: dict[tuple[int, str, int], list[Lanes]] = {}
        for spot in spots:
            known = self._at(block, spot, loaded)
            for k, entry in enumerate(self.sums):
                row = entry.row_of(spot.row)
                place = (k, "", row) if entry.is_along else (k, spot.index, row)
                lanes = self._operand(block, entry.node.operands[0], spot, known, loaded)
                addends.setdefault(place, []).append(lanes)
        for (k, index, row), group in addends.items():
            self.sums[k].add(block, Spot(index or spots[0].index, spots[0].count, row), group)

    def _at(self, block: Block, spot: Spot, loaded: dict[Any, Lanes]) -> dict[int, Lanes]:
        """What the nodes give at one place, by value; it is stored where others read it."""
        known: dict[int, Lanes] = {}
        for node in self.nodes:
            if node.kind == REDUCTION:
                continue
            operands = [
                self._operand(block, operand, spot, known, loaded) for operand in node.operands
            ]
            known[node.results[0]] = self._apply(node, operands)
        for value, access in self.stores.items():
            self.mover.store(block, access, spot.index, spot.count, known[value], spot.row)
        return known

    def _apply(self, node: Node, operands: list[Lanes]) -> Lanes:
        kind = _dtype(node.operands[-1])
        if node.op == "cast":
            return cast(operands[0], kind, self.graph.values[node.results[0]].dtype)
        return OPERATIONS[node.op](*operands, kind.kind == "i")

    def _operand(
        self, block: Block, operand: Operand, spot: Spot, known: dict[int, Lanes],
        loaded: dict[Any, Lanes],
    ) -> Lanes:  # fmt: skip
        if isinstance(operand, Number):
            return block.constant(KIND_OF[operand.value.dtype.char], operand.value)
        access = self.loads.get(operand)
        if access is None:
            return known[operand.value]
        row = spot.row if access.apart else 0
        if access.hoisted is not None:
            return access.hoisted[row]
        key = operand, spot.index, row  # what all rows read alike is read once
        if key not in loaded:
            loaded[key] = self.mover.load(block, access, spot.index, spot.count, row)
            if self.ahead and access.apart and not access.kept:
                self.mover.prefetch(access, spot.index, row + self.ahead)
        return loaded[key]


def _dtype(operand: Operand) -> np.dtype[Any]:
    return operand.value.dtype if isinstance(operand, Number) else operand.dtype
