"""The tiles of a recurrent layer's step: a product, and the gates behind it.

A tile has a few sequences as rows; its vectors are the gates of some hidden units, so that the next
state is made of sums that are still in registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from lamina.codegen.kernels.tasks.recurrence_gates import Gates
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    first_lanes,
    largest,
    least,
)
from lamina.codegen.kernels.tasks.tiles import summed
from lamina.codegen.llvm.ir import Block, Function, Lanes
from lamina.codegen.llvm.machine import register_count

_GIVEN: Final = "ptr %input, i64 %input_row, i64 %input_size, ptr %panels, i64 %size, "
_SPAN: Final = "i64 %begin, i64 %end, ptr %biases, ptr %biases_of_state, i64 %has_biases, "
_STEP: Final = (
    "ptr %state, ptr %next, ptr %cells, i64 %across, ptr %kept, i64 %row, ptr %output, i64 %keeps"
)
PARAMETERS: Final = {
    "advance": _GIVEN + _SPAN + _STEP,
    "project": _GIVEN + _SPAN + "ptr %shares, i64 %shares_row",
    "go_on": _GIVEN + _SPAN + _STEP + ", ptr %shares, i64 %shares_row",
}
"""What tiles do: a whole step; what the input gives to the gates, which goes to `shares`; the rest
of a step from there (`go_on`)."""

GROUP: Final = 4
"""Blocks of hidden units that a tile has where each has one vector."""


def most_rows() -> int:
    """Sequences of a tile at most: with four vectors, 24 sums, or 8 where registers are few."""
    return 6 if register_count() == 32 else 2


@final
@dataclass(frozen=True)
class Shape:
    """What a walk's functions are written for: the layer's kind, and numbers on lanes."""

    gates: Gates
    kind: str
    width: int

    @property
    def item(self) -> int:
        """Bytes of a number."""
        return BYTES[self.kind]

    @property
    def vector(self) -> int:
        """Bytes of a vector."""
        return self.width * self.item

    @property
    def together(self) -> int:
        """How many blocks of hidden units a tile of the way forward has."""
        return GROUP if self.gates.form.gates == 1 else 1

    @property
    def heights(self) -> range:
        """How many sequences a tile may have."""
        return range(1, most_rows() + 1)


@final
class Tile:
    """Writes what a tile does for the blocks of hidden units from `begin` to `end`.

    Args:
        shape: What it is for.
        rows: How many sequences.
        blocks: How many blocks of hidden units a tile has.
        what: One of `PARAMETERS`.
    """

    def __init__(self, shape: Shape, rows: int, blocks: int, what: str = "advance") -> None:
        self._shape, self._rows, self._blocks, self._what = shape, rows, blocks, what
        self._routine = routine = Routine(tile_name(what, rows, blocks), PARAMETERS[what])
        routine.function.is_internal = True
        self._block = Block(routine.function, shape.width)
        self._size, self._across = routine.parameter("size"), routine.parameter("across")

    def write(self) -> Function:
        """All of it."""
        routine, vector, count = self._routine, self._shape.vector, self._shape.gates.form.gates
        ends = routine.parameter("begin"), routine.parameter("end")
        input_size = routine.parameter("input_size")
        with routine.loop(*ends, self._blocks) as first:
            panel = routine.address("panels") + first * count * vector * (input_size + self._size)
            if self._what == "go_on":
                sums = [
                    [at.lanes(self._shape.kind, self._block) for at in row]
                    for row in self._shares(first)
                ]
            else:
                sums = self._of_input(first, panel)
            if self._what == "project":
                for row, places in zip(sums, self._shares(first), strict=True):
                    for lanes, at in zip(row, places, strict=True):
                        at.store(lanes)
            else:
                self._of_state(first, panel + input_size * (count * self._blocks * vector), sums)
        return routine.function

    def _of_input(self, first: Lanes, panel: Address) -> list[list[Lanes]]:
        """What biases and input give to the gates; to one that is apart, the input's alone."""
        routine, gates = self._routine, self._shape.gates
        whole = gates.form.gates - gates.is_apart
        bias = []
        for j in range(self._blocks):
            bias += [self._bias(first + j, gate) for gate in range(whole)]
            bias += [self._bias(first + j, whole, ("biases",))] * gates.is_apart
        return self._summed(
            [bias] * self._rows, panel, routine.parameter("input_size"), routine.address("input"),
            routine.parameter("input_row"),
        )  # fmt: skip

    def _of_state(self, first: Lanes, panel: Address, sums: list[list[Lanes]]) -> None:
        """The rest of the sums, and the next state."""
        count, is_apart = self._shape.gates.form.gates, self._shape.gates.is_apart
        apart = [row[count - 1 :: count] for row in sums]
        if is_apart:
            for j in range(self._blocks):
                of_state = self._bias(first + j, count - 1, ("biases_of_state",))
                for row in sums:
                    row[(j + 1) * count - 1] = of_state
        state = self._routine.address("state")
        sums = self._summed(sums, panel, self._size, state, self._across)
        for i, j in itertools.product(range(self._rows), range(self._blocks)):
            own = sums[i][j * count : (j + 1) * count]
            self._finish(first + j, i, own, apart[i][j] if is_apart else None)

    def _shares(self, first: Lanes) -> list[list[Address]]:
        """Where what the input gives to the gates is kept."""
        routine, vector, count = self._routine, self._shape.vector, self._shape.gates.form.gates
        row, start = routine.parameter("shares_row"), routine.address("shares")
        start = start + first * (count * vector)
        vectors = range(self._blocks * count)
        return [[start + row * i + v * vector for v in vectors] for i in range(self._rows)]

    def _bias(
        self, b: Lanes, gate: int, of: tuple[str, ...] = ("biases", "biases_of_state")
    ) -> Lanes:
        """What is added to a gate of a block of hidden units."""
        routine, shape = self._routine, self._shape
        has_biases = routine.parameter("has_biases").compare("ne", 0)
        inside = has_biases.where(self._size - b * shape.width, 0)
        mask = first_lanes(self._block, inside)
        far = (self._size * gate + b * shape.width) * shape.item
        total, *others = ((routine.address(name) + far).load_some(shape.kind, mask) for name in of)
        return sum(others, total)

    def _summed(
        self, starts: list[list[Lanes]], panel: Address, count: Lanes, left: Address, row: Lanes
    ) -> list[list[Lanes]]:
        shape, vectors = self._shape, len(starts[0])
        return summed(
            self._routine, starts, count,
            lambda k, i: (left + row * i + k * shape.item).spread(shape.kind, self._block),
            lambda k, v: (panel + (k * vectors + v) * shape.vector).lanes(shape.kind, self._block),
        )  # fmt: skip

    def _finish(self, b: Lanes, i: int, sums: list[Lanes], apart: Lanes | None) -> None:
        """The next state of a block of hidden units of a sequence, from the sums of its gates."""
        routine, shape = self._routine, self._shape
        far, inside = self._across * i + b * shape.vector, b * shape.vector
        cells = routine.address("cells") + far
        before = cells if shape.gates.has_cell else routine.address("state") + far
        made = shape.gates.forward(sums, apart, before.lanes(shape.kind, self._block))
        mask = first_lanes(self._block, self._size - b * shape.width)
        slot = self._size * shape.item
        with routine.when(routine.parameter("keeps").compare("ne", 0)):
            kept = routine.address("kept") + routine.parameter("row") * i + inside
            for s, lanes in enumerate(made.kept):
                (kept + slot * s).store_some(lanes, mask)
        if made.cell is not None:
            cells.store(made.cell)
        (routine.address("next") + far).store(made.hidden)
        (routine.address("output") + slot * i + inside).store_some(made.hidden, mask)


def tile_name(what: str, rows: int, blocks: int) -> str:
    """The function of a tile of so many sequences, and so many blocks at a time."""
    return f"{what}_{rows}_{blocks}"


def tile_functions(shape: Shape, *whats: str) -> list[Function]:
    """The functions of all tiles."""
    return [
        Tile(shape, rows, blocks, what).write()
        for what in whats
        for rows in shape.heights
        for blocks in sorted({shape.together, 1})
    ]


def each_tile(
    routine: Routine, shape: Shape, rows: Lanes, write: Callable[[Lanes, int], None]
) -> None:
    """Write what is done for all rows, a tile at a time, from its first row and its height."""
    most = shape.heights[-1]
    full = rows // most * most
    with routine.loop(0, full, most) as first:
        write(first, most)
    for height in shape.heights[:-1]:
        with routine.when((rows - full).compare("eq", height)):
            write(full, height)


def blocks_of(shape: Shape, size: Lanes) -> Lanes:
    """How many vectors of hidden units there are; the last one may have fewer."""
    return (size + (shape.width - 1)) // shape.width


def spans(
    shape: Shape, size: Lanes, together: int, begin: Lanes, end: Lanes
) -> list[tuple[int, Lanes, Lanes]]:
    """How blocks from `begin` (whole groups) to `end` are gone over: so many at a time, then one.

    Each has the number of blocks of a tile, the first block, and the last.
    """
    if together == 1:
        return [(1, begin, end)]
    grouped = blocks_of(shape, size) // together * together
    return [(together, begin, least(end, grouped)), (1, largest(begin, grouped), end)]
