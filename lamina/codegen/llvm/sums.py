"""Reductions as machine code: accumulators in registers or memory, and how they come together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from lamina.codegen.graph import Node
from lamina.codegen.llvm.ir import KIND_OF, Block, Function, Lanes
from lamina.codegen.llvm.moving import Access, Mover
from lamina.codegen.llvm.operations import OPERATIONS, cast

_IDENTITY: Final[dict[str, Callable[[Any], Any]]] = {
    "sum": lambda kind: 0,
    "max": lambda kind: -np.inf if kind.kind == "f" else _least(kind),
    "min": lambda kind: np.inf if kind.kind == "f" else _greatest(kind),
}
_COMBINE: Final = {"sum": "add", "max": "maximum", "min": "minimum"}


def _least(kind: Any) -> Any:
    return False if kind.kind == "b" else np.iinfo(kind).min


def _greatest(kind: Any) -> Any:
    return True if kind.kind == "b" else np.iinfo(kind).max


def accumulator_dtype(op: str, kind: np.dtype[Any]) -> np.dtype[Any]:
    """In which dtype a reduction adds up: sums of floats in float64."""
    return np.dtype(np.float64) if op == "sum" and kind.kind == "f" else kind


@final
@dataclass(frozen=True, slots=True)
class Spot:
    """The place of a vector: `count` elements from `index` on, in a row of those done together."""

    index: str
    count: int | str
    row: int = 0


@final
@dataclass(slots=True)
class Sum:
    """A reduction of a loop.

    Attributes:
        function: Where its code is written.
        width: How many lanes a vector has.
        node: What it takes together.
        memory: The accumulators, one for each element of the result.
        result: Where the result goes.
        dtype: That of the accumulators.
        size: How many elements the result has.
        pieces: How many sets of accumulators there are, one after another: the loop's pieces, if it
            is cut along an axis that is taken away.
        is_along: Whether the innermost axis is taken away: then lanes add up in registers.
        is_direct: Whether the whole sum is known after one run of the innermost axis.
    """

    function: Function
    width: int
    node: Node
    memory: Access
    result: Access
    dtype: np.dtype[Any]
    size: int
    pieces: int = 1
    is_along: bool = False
    is_direct: bool = False
    variables: list[str] = field(default_factory=list)  # for each row of those done together

    # --- inside the loop -------------------------------------------------------------------------

    def row_of(self, row: int) -> int:
        """Which of the sums a row goes into, of the rows that are done together."""
        return row if self.memory.apart else 0

    def open(self, block: Block, rows: int) -> None:
        """Start the lanes along the innermost axis."""
        if not self.is_along:
            return
        kind = f"<{self.width} x {KIND_OF[self.dtype.char]}>"
        self.variables = [self.function.slot(kind) for _ in range(self.row_of(rows - 1) + 1)]
        for variable in self.variables:
            Mover(self.function).put(variable, self._identity(block))

    def add(self, block: Block, spot: Spot, lanes: Sequence[Lanes]) -> None:
        """Take in lanes that belong to one place; floats are added in pairs before they are wide.

        So most additions work on whole vectors of float32, and rounding errors stay as small.
        """
        mover, row = Mover(self.function), self.row_of(spot.row)
        while len(lanes) > 1:
            rest = lanes[len(lanes) // 2 * 2 :]
            lanes = [*map(self._combine, lanes[:-1:2], lanes[1::2]), *rest]
        wide = cast(lanes[0], self.result.dtype, self.dtype)
        if not self.is_along:
            old = mover.load(block, self.memory, spot.index, spot.count, row)
            mover.store(block, self.memory, spot.index, spot.count, self._combine(old, wide), row)
            return
        if isinstance(spot.count, str) or spot.count < block.width:
            wide = mover.mask(block, spot.count).where(wide, self._start)
        old = mover.get(block, self.variables[row], wide.kind)
        mover.put(self.variables[row], self._combine(wide, old))

    def close(self, block: Block) -> None:
        """Bring the lanes together, and add that to memory."""
        for row, variable in enumerate(self.variables):
            self._close(block, variable, row)

    def _close(self, block: Block, variable: str, row: int) -> None:
        mover, width = Mover(self.function), block.width
        lanes = mover.get(block, variable, KIND_OF[self.dtype.char])
        while width > 1:
            half = width // 2
            parts = [self._part(lanes, width, half, start) for start in (0, half)]
            lanes = self._combine(*parts)
            width = half
        if self.is_direct:
            mover.store(lanes.block, self.result, "0", 1, self._narrowed(lanes), row)
            return
        old = mover.load(lanes.block, self.memory, "0", 1, row)
        mover.store(lanes.block, self.memory, "0", 1, self._combine(old, lanes), row)

    def _part(self, lanes: Lanes, width: int, half: int, start: int) -> Lanes:
        block = Block(self.function, half)
        kind = f"<{width} x {lanes.kind}>"
        which = ", ".join(f"i32 {start + i}" for i in range(half))
        return block.give(
            lanes.kind,
            f"shufflevector {kind} {lanes.name}, {kind} poison, <{half} x i32> <{which}>",
        )

    # --- before and after it ---------------------------------------------------------------------

    def fill(self) -> None:
        """Start the accumulators in memory."""
        memory = self._flat(self.memory.base, self.dtype)

        def body(block: Block, index: str, count: int) -> None:
            Mover(self.function).store(block, memory, index, count, self._identity(block))

        self._run(body)

    def finish(self) -> None:
        """Bring the accumulators of all pieces together, in order, and into the result."""
        if self.memory.base == self.result.base:
            return
        mover = Mover(self.function)
        result = self._flat(self.result.base, self.result.dtype)
        step = self.size * self.dtype.itemsize
        pieces = [
            self._flat(mover.at(self.memory.base, k * step), self.dtype) for k in range(self.pieces)
        ]

        def body(block: Block, index: str, count: int) -> None:
            lanes, *others = (mover.load(block, piece, index, count) for piece in pieces)
            for other in others:
                lanes = self._combine(lanes, other)
            mover.store(block, result, index, count, self._narrowed(lanes))

        self._run(body)

    def _flat(self, base: str, dtype: np.dtype[Any]) -> Access:
        """One run of memory."""
        return Access(base, dtype, (dtype.itemsize,), base)

    def _run(self, body: Callable[[Block, str, int], None]) -> None:
        block = Block(self.function, self.width)
        whole, rest = self.size // self.width * self.width, self.size % self.width
        if whole:
            with Mover(self.function).counted(0, whole, self.width) as index:
                body(block, index, self.width)
        if rest:
            body(block, str(whole), rest)

    # --- arithmetic ------------------------------------------------------------------------------

    @property
    def _start(self) -> Any:
        return _IDENTITY[self.node.op](self.dtype)

    def _identity(self, block: Block) -> Lanes:
        return block.constant(KIND_OF[self.dtype.char], self._start)

    def _combine(self, x: Lanes, y: Lanes) -> Lanes:
        return OPERATIONS[_COMBINE[self.node.op]](x, y, self.dtype.kind == "i")

    def _narrowed(self, lanes: Lanes) -> Lanes:
        return cast(lanes, self.dtype, self.result.dtype)
