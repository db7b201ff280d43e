"""Running sums and products, forwards or from the end.

A line that lies in memory in one piece is gone through vector by vector: within a vector, each lane
takes in the one beside it, then the one two further, and so on; what came before is added to all of
them at once. So one addition has to wait for another only once a vector. Lines that lie side by
side are gone through together, one in each lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.tasks.routines import (
    Address,
    Routine,
    Variable,
    chosen_lanes,
    first_lanes,
)
from lamina.codegen.llvm.ir import KIND_OF, Block, Function, Lanes
from lamina.codegen.llvm.operations import cast

SOURCE, RESULT, LENGTH, BESIDE, START = range(5)
"""The entries of a task's table: the input, the result, the length of a line, how many lines lie
side by side, and the number that changes nothing, in the wide dtype. (Were it a constant, LLVM
would shift lanes with instructions that take four times as long.)
"""

_COMBINE: Final[dict[str, Callable[[Lanes, Lanes], Lanes]]] = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
}
START_OF: Final = {"add": 0, "multiply": 1}
"""What changes nothing."""

VECTORS: Final = 4
"""How many vectors of lines side by side are gone through at a time: that reads whole lines of
memory where neighbours in a line are far apart."""


@final
@dataclass(frozen=True)
class Scan:
    """What is computed.

    Attributes:
        operation: `add` or `multiply`.
        source: The dtype of the input.
        wide: The dtype in which is added up.
        result: The dtype of the result.
        from_end: Whether lines are gone through from their ends.
    """

    operation: str
    source: np.dtype[Any]
    wide: np.dtype[Any]
    result: np.dtype[Any]
    from_end: bool

    def functions(self, lanes: int) -> list[Function]:
        """The tasks `lines` and `beside`, for vectors of so many float32."""
        width = lanes * 4 // self.wide.itemsize
        return [self._write_lines(width), self._write_beside(width)]

    def _start(self, routine: Routine, block: Block) -> Lanes:
        kind = KIND_OF[self.wide.char]
        return block.splat(kind, routine.entry(START, kind).name)

    def _combine(self, x: Lanes, y: Lanes) -> Lanes:
        return _COMBINE[self.operation](x, y)

    def _load(self, base: Address, index: Lanes, bits: Lanes, start: Lanes) -> Lanes:
        """Elements in the wide dtype; where no bit is set, what changes nothing."""
        found = base.load_some(KIND_OF[self.source.char], bits, index)
        return bits.where(cast(found, self.source, self.wide), start)

    def _store(self, lanes: Lanes, base: Address, index: Lanes, bits: Lanes) -> None:
        base.store_some(cast(lanes, self.wide, self.result), bits, index)

    def _base(self, routine: Routine, place: int, first: Lanes) -> Address:
        kind = KIND_OF[(self.source if place == SOURCE else self.result).char]
        return routine.entry_address(place).at(kind, first)

    # --- lines in one piece ----------------------------------------------------------------------

    def _write_lines(self, width: int) -> Function:
        """Go through some lines, one after another."""
        routine = Routine("lines")
        block = Block(routine.function, width)
        start, length = self._start(routine, block), routine.entry(LENGTH)
        whole = length & -width
        with routine.pieces() as line:
            source = self._base(routine, SOURCE, line * length)
            result = self._base(routine, RESULT, line * length)
            before = Variable(start)

            def step(index: Lanes, bits: Lanes) -> None:
                own = self._within(self._load(source, index, bits, start), start)
                total = chosen_lanes(own, [0 if self.from_end else width - 1] * width, own)
                self._store(self._combine(before.get(), own), result, index, bits)
                before.set(self._combine(before.get(), total))

            def rest() -> None:
                with routine.when(whole.compare("ne", length)):
                    step(whole, first_lanes(block, length - whole))

            every = block.constant("i1", True)
            if self.from_end:
                rest()
            with routine.loop(0, whole, width) as index:
                step(whole - index - width if self.from_end else index, every)
            if not self.from_end:
                rest()
        return routine.function

    def _within(self, lanes: Lanes, start: Lanes) -> Lanes:
        """Running sums within a vector."""
        reach, width = 1, lanes.block.width
        while reach < width:
            shift = reach if self.from_end else -reach
            places = [lane + shift for lane in range(width)]
            shifted = chosen_lanes(lanes, [k if 0 <= k < width else width for k in places], start)
            lanes = self._combine(lanes, shifted)
            reach *= 2
        return lanes

    # --- lines side by side ----------------------------------------------------------------------

    def _write_beside(self, width: int) -> Function:
        """Go through some groups of lines that lie side by side, each as many as fit in vectors."""
        routine = Routine("beside")
        block = Block(routine.function, width)
        start, length = self._start(routine, block), routine.entry(LENGTH)
        beside = routine.entry(BESIDE)
        groups = (beside + (VECTORS * width - 1)) // (VECTORS * width)
        with routine.pieces() as piece:
            outer = piece // groups
            column = (piece - outer * groups) * (VECTORS * width)
            first = outer * length * beside + column
            source = self._base(routine, SOURCE, first)
            result = self._base(routine, RESULT, first)
            bits = [first_lanes(block, beside - column - k * width) for k in range(VECTORS)]
            sums = [Variable(start) for _ in range(VECTORS)]
            with routine.loop(0, length) as step:
                row = (length - step - 1 if self.from_end else step) * beside
                for k in range(VECTORS):
                    place = row + k * width
                    lanes = self._load(source, place, bits[k], start)
                    sums[k].set(self._combine(sums[k].get(), lanes))
                    self._store(sums[k].get(), result, place, bits[k])
        return routine.function
