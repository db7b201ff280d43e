"""Running maxima and minima, and the places where they are.

A number takes over from the extreme so far if it is none (NaN), or as large, or larger: of equal
numbers the last one counts. As with running sums, a line in one piece is gone through vector by
vector, and lines that lie side by side together.
"""

from __future__ import annotations

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

SOURCE, VALUES, PLACES, LENGTH, BESIDE = range(5)
"""The entries of a task's table: the input, the results, the length of a line, and how many lines
lie side by side."""

_COMPARE: Final = {("f", True): "oge", ("f", False): "ole", ("i", True): "sge", ("i", False): "sle"}


@final
@dataclass(frozen=True)
class Extremes:
    """What is looked for.

    Attributes:
        dtype: Of the numbers: floating-point or signed.
        is_maximum: Whether the largest, else the smallest.
    """

    dtype: np.dtype[Any]
    is_maximum: bool

    def functions(self, lanes: int) -> list[Function]:
        """The tasks `lines` and `beside`, for vectors of so many float32."""
        width = lanes * 4 // self.dtype.itemsize
        return [self._write_lines(width), self._write_beside(width)]

    @property
    def _kind(self) -> str:
        return KIND_OF[self.dtype.char]

    @property
    def _place_kind(self) -> str:
        """Places are as wide as numbers on the way, and 64 bits wide in memory."""
        return f"i{8 * self.dtype.itemsize}"

    def _worst(self, block: Block) -> Lanes:
        """What every number takes over from."""
        if self.dtype.kind == "f":
            return block.constant(self._kind, -np.inf if self.is_maximum else np.inf)
        limits = np.iinfo(self.dtype)
        return block.constant(self._kind, limits.min if self.is_maximum else limits.max)

    def _later(
        self, earlier: tuple[Lanes, Lanes], later: tuple[Lanes, Lanes]
    ) -> tuple[Lanes, Lanes]:
        """Which of two numbers counts, with its place."""
        wins = later[0].compare(_COMPARE[self.dtype.kind, self.is_maximum], earlier[0])
        if self.dtype.kind == "f":
            wins = wins | later[0].compare("uno", later[0])
        return wins.where(later[0], earlier[0]), wins.where(later[1], earlier[1])

    def _bases(self, routine: Routine, first: Lanes) -> list[Address]:
        kinds = {SOURCE: self._kind, VALUES: self._kind, PLACES: "i64"}
        return [routine.entry_address(k).at(kind, first) for k, kind in kinds.items()]

    def _take(
        self, bases: list[Address], index: Lanes, bits: Lanes, places: Lanes
    ) -> tuple[Lanes, Lanes]:
        worst = self._worst(bits.block)
        return bases[SOURCE].load_some(self._kind, bits, index, worst), places

    def _put(
        self, bases: list[Address], index: Lanes, bits: Lanes,
        found: tuple[Lanes, Lanes],
    ) -> None:  # fmt: skip
        values, places = found
        places = places if places.kind == "i64" else places.convert("sext", "i64")
        bases[VALUES].store_some(values, bits, index)
        bases[PLACES].store_some(places, bits, index)

    # --- lines in one piece ----------------------------------------------------------------------

    def _write_lines(self, width: int) -> Function:
        routine = Routine("lines")
        block = Block(routine.function, width)
        kind = self._place_kind
        length = routine.entry(LENGTH)
        whole = length & -width
        start = self._worst(block), block.constant(kind, 0)
        with routine.pieces() as line:
            bases = self._bases(routine, line * length)
            before = [Variable(lanes) for lanes in start]

            def step(index: Lanes, bits: Lanes) -> None:
                first = index if kind == "i64" else index.convert("trunc", kind)
                places = block.splat(kind, first.name) + block.listed(kind, range(width))
                found = self._take(bases, index, bits, places)
                found = self._within(found, start)
                found = self._later((before[0].get(), before[1].get()), found)
                self._put(bases, index, bits, found)
                for variable, lanes in zip(before, found, strict=True):
                    variable.set(chosen_lanes(lanes, [width - 1] * width, lanes))

            with routine.loop(0, whole, width) as index:
                step(index, block.constant("i1", True))
            with routine.when(whole.compare("ne", length)):
                step(whole, first_lanes(block, length - whole))
        return routine.function

    def _within(
        self, found: tuple[Lanes, Lanes], start: tuple[Lanes, Lanes]
    ) -> tuple[Lanes, Lanes]:
        """Running extremes within a vector."""
        reach, width = 1, found[0].block.width
        while reach < width:
            places = [lane - reach if lane >= reach else width for lane in range(width)]
            values, at = (
                chosen_lanes(lanes, places, fill) for lanes, fill in zip(found, start, strict=True)
            )
            found = self._later((values, at), found)
            reach *= 2
        return found

    # --- lines side by side ----------------------------------------------------------------------

    def _write_beside(self, width: int) -> Function:
        routine = Routine("beside")
        block = Block(routine.function, width)
        kind = self._place_kind
        length, beside = routine.entry(LENGTH), routine.entry(BESIDE)
        groups = (beside + (width - 1)) // width
        with routine.pieces() as piece:
            outer = piece // groups
            column = (piece - outer * groups) * width
            bases = self._bases(routine, outer * length * beside + column)
            bits = first_lanes(block, beside - column)
            before = [Variable(self._worst(block)), Variable(block.constant(kind, 0))]
            with routine.loop(0, length) as row:
                number = row if kind == "i64" else row.convert("trunc", kind)
                places = block.splat(kind, number.name)
                found = self._take(bases, row * beside, bits, places)
                found = self._later((before[0].get(), before[1].get()), found)
                self._put(bases, row * beside, bits, found)
                for variable, lanes in zip(before, found, strict=True):
                    variable.set(lanes)
        return routine.function
