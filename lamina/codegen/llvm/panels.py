"""Products whose right factor lies in panels: summed up in registers, by a kernel of our own.

A panel is two vectors of columns, row after row: what the kernel reads lies in the order in which
it reads it. A recurrent network multiplies by the same weights in each time step, so they are
brought into panels once, where BLAS does so in every call: 32 x 512 by 512 x 128 takes 23 us on two
threads instead of 31. What is added to the product is added on its way to memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from lamina.codegen.graph import Graph, Node, View
from lamina.codegen.kernels.tasks.tiles import heights_of
from lamina.codegen.llvm.ir import KIND_OF, Block, Function, Lanes
from lamina.codegen.llvm.moving import Mover
from lamina.codegen.llvm.products import LEAST_PRODUCTS, Share


@final
class PanelProduct:
    """A product of a matrix and of panels, to which other matrices may be added.

    Args:
        graph: The graph that it is of.
        node: What is multiplied, and what is added.
    """

    addend: Final = None  # none that lies in the result's memory

    def __init__(self, graph: Graph, node: Node) -> None:
        self.left, self.panels, *self._added = node.views()
        self.out = graph.whole(node.results[0])
        self._width = self.panels.shape[-1] // 2
        self._item = self.out.dtype.itemsize
        self._kind = KIND_OF[self.out.dtype.char]

    def share(self, threads: int) -> Share | None:
        """How threads share it; None if it is too small for that."""
        rows, columns = self.out.shape
        count = self.panels.shape[0]
        if threads < 2 or count < 2 or rows * columns * self.left.shape[-1] < LEAST_PRODUCTS:
            return None
        return Share("panels", count, -(-count // threads))

    def places(self, address: Callable[..., str]) -> list[str]:
        """The addresses of left factor, panels, result, and of what is added."""
        views = (self.left, self.panels, self.out, *self._added)
        return [address(view.value, view.offset) for view in views]

    def write(self, function: Function, places: list[str]) -> None:
        """All of it."""
        self._write_panels(function, places, 0, self.panels.shape[0])

    def write_piece(self, function: Function, places: list[str], share: Share) -> None:
        """In a task: the panels between its begin and end."""
        self._write_panels(function, places, "%begin", "%end")

    def _write_panels(
        self, function: Function, places: list[str], start: int | str, stop: int | str
    ) -> None:
        mover, wide = Mover(function), 2 * self._width
        rows, height = self.out.shape[0], self._height()
        with mover.counted(start, stop) as panel:
            left, panels, *others = places
            panels = mover.stepped(panels, panel, self.panels.shape[1] * wide * self._item)
            others = [
                mover.stepped(place, panel, wide * view.strides[-1])
                for place, view in zip(others, (self.out, *self._added), strict=True)
            ]
            with mover.counted(0, rows // height) as tile:
                self._write_tile(
                    mover, self._below([left, panels, *others], mover, tile, height), height
                )
            if rows % height:
                last = str(rows // height)
                self._write_tile(
                    mover, self._below([left, panels, *others], mover, last, height), rows % height
                )

    def _height(self) -> int:
        """Rows of a tile: as even as possible, and few enough for the sums to be in registers."""
        most = heights_of()[0]
        rows = self.out.shape[0]
        return -(-rows // -(-rows // most))

    def _below(self, places: list[str], mover: Mover, tile: str, height: int) -> list[str]:
        """The places some tiles further down."""
        left, panels, *others = places
        return [
            mover.stepped(left, tile, height * self.left.strides[-2]),
            panels,
            *(
                mover.stepped(place, tile, height * view.strides[-2])
                for place, view in zip(others, (self.out, *self._added), strict=True)
            ),
        ]

    def _write_tile(self, mover: Mover, places: list[str], height: int) -> None:
        left, panels, out, *others = places
        function, kind, item = mover.function, self._kind, self._item
        block = Block(function, self._width)
        vector = block.vector(kind)
        sums = [[function.slot(vector) for _ in range(2)] for _ in range(height)]
        for variable in (variable for row in sums for variable in row):
            mover.put(variable, block.constant(kind, 0))
        with mover.counted(0, self.left.shape[-1]) as k:
            factors = mover.stepped(left, k, self.left.strides[-1])
            columns = mover.stepped(panels, k, 2 * self._width * item)
            pair = [self._vector(mover, block, columns, v) for v in range(2)]
            for i, row in enumerate(sums):
                place = mover.at(factors, i * self.left.strides[-2])
                factor = block.splat(kind, function.give(f"load {kind}, ptr {place}, align {item}"))
                for variable, lanes in zip(row, pair, strict=True):
                    total = mover.get(block, variable, kind)
                    mover.put(variable, factor.times_plus(lanes, total))
        for i, row in enumerate(sums):
            for v, variable in enumerate(row):
                lanes = mover.get(block, variable, kind)
                for place, view in zip(others, self._added, strict=True):
                    lanes = lanes + self._addend(mover, block, place, view, i, v)
                place = mover.at(out, i * self.out.strides[-2] + v * self._width * item)
                function.line(f"store {vector} {lanes.name}, ptr {place}, align {item}")

    def _vector(self, mover: Mover, block: Block, place: str, index: int) -> Lanes:
        at = mover.at(place, index * self._width * self._item)
        return block.give(
            self._kind, f"load {block.vector(self._kind)}, ptr {at}, align {self._item}"
        )

    def _addend(
        self, mover: Mover, block: Block, place: str, view: View, row: int, index: int
    ) -> Lanes:
        here = mover.at(place, row * view.strides[-2])
        if view.strides[-1]:
            return self._vector(mover, block, here, index)
        one = mover.function.give(f"load {self._kind}, ptr {here}, align {self._item}")
        return block.splat(self._kind, one)
