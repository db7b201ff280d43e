"""The walk of a recurrent layer through time: a product and the gates of each step, in one task.

Sequences of a batch have nothing to do with each other, so a piece is a few of them, for all of
time: threads meet once, at the end. A tile of a step has those sequences as rows; its vectors are
the gates of some hidden units, so that the next state is made of sums that are still in registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from lamina.codegen.kernels.tasks.fields import fields, row_at
from lamina.codegen.kernels.tasks.packing import turn
from lamina.codegen.kernels.tasks.recurrence_gates import GATES, Gates
from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, first_lanes, least
from lamina.codegen.kernels.tasks.tiles import summed
from lamina.codegen.llvm.ir import Block, Function, Lanes
from lamina.codegen.llvm.machine import register_count

WALK_FIELDS: Final = (
    "steps", "step_count", "batch", "pieces", "size", "panels", "biases", "input", "input_row",
    "input_size", "kept", "kept_row", "output", "hidden", "cell", "last_hidden", "last_cell",
    "scratch", "scratch_step", "across", "keeps",
)  # fmt: skip
"""What the task `walk` finds in its table; sizes of rows are bytes, `size` is hidden units."""

STEP: Final = ("count", "row", "count_before", "row_before", "offset")
"""What is known of a step: how many sequences take part, their first row in arrays of all steps,
the same of the step before; and the offset of its input, or on the way back its gradient."""

LAY_FIELDS: Final = (
    "weight",
    "weight_row",
    "size",
    "inner",
    "inner_size",
    "offset",
    "gates",
    "panels",
    "vectors",
)
"""What the task `lay` finds: `inner` is how many columns the weight has, `inner_size` how many it
has together with the other weight, `offset` how many come before it."""

ADVANCE: Final = (
    "ptr %input, i64 %input_row, i64 %input_size, ptr %state, ptr %next, ptr %cells, i64 %across, "
    "ptr %panels, i64 %size, i64 %begin, i64 %end, ptr %biases, ptr %kept, i64 %row, ptr %output, "
    "i64 %keeps"
)
COPY: Final = "ptr %source, i64 %from, ptr %target, i64 %to, i64 %rows, i64 %bytes"


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
    def heights(self) -> range:
        """How many sequences a tile may have."""
        return range(1, most_rows() + 1)


def walk_functions(name: str, kind: str, width: int) -> list[Function]:
    """The tasks of the way forward for a kind of layer, and what they call."""
    shape = Shape(GATES[name], kind, width)
    widths = (GROUP, 1) if shape.gates.form.gates == 1 else (1,)
    return [
        turn(kind, width),
        copy_rows(),
        _lay(shape),
        *(_Advance(shape, rows, blocks).write() for rows in shape.heights for blocks in widths),
        _walk(shape),
    ]


def copy_rows() -> Function:
    """Copy the first bytes of some rows: `copy_rows`."""
    routine = Routine("copy_rows", COPY)
    source, target = routine.address("source"), routine.address("target")
    with routine.loop(0, routine.parameter("rows")) as row:
        start = source + row * routine.parameter("from")
        start.copy_to(target + row * routine.parameter("to"), routine.parameter("bytes"))
    return routine.function


def _lay(shape: Shape) -> Function:
    """Task: panels of a weight, a gate of a block of hidden units a piece: `lay`.

    A panel has a vector for each gate of a block, or (`vectors`) of several blocks; what is left
    over has panels of its own. It holds the columns of the input's weight, then of the state's.
    """
    routine = Routine("lay")
    numbers, places = fields(routine, LAY_FIELDS)
    size, gates, vectors = numbers["size"], numbers["gates"], numbers["vectors"]
    row = numbers["weight_row"]
    blocks = (size + (shape.width - 1)) // shape.width
    with routine.pieces() as piece:
        b = piece // gates
        gate = piece - b * gates
        inside = b.compare("slt", blocks // vectors * vectors)
        first = inside.where(b // vectors * vectors, b)
        across = inside.where(vectors, 1) * gates * shape.vector
        panel = places["panels"] + first * gates * numbers["inner_size"] * shape.vector
        target = panel + numbers["offset"] * across + ((b - first) * gates + gate) * shape.vector
        routine.call(
            "turn", places["weight"] + (gate * size + b * shape.width) * row, row,
            least(size - b * shape.width, shape.width), numbers["inner"], target, across,
        )  # fmt: skip
    return routine.function


@final
class _Advance:
    """Writes one step of some sequences, for the blocks of hidden units from `begin` to `end`.

    Args:
        shape: What it is for.
        rows: How many sequences.
        blocks: How many blocks of hidden units a tile has.
    """

    def __init__(self, shape: Shape, rows: int, blocks: int) -> None:
        self._shape, self._rows, self._blocks = shape, rows, blocks
        self._routine = routine = Routine(advance_name(rows, blocks), ADVANCE)
        routine.function.is_internal = True
        self._block = Block(routine.function, shape.width)
        self._size, self._across = routine.parameter("size"), routine.parameter("across")

    def write(self) -> Function:
        """All of it."""
        routine, vector, gates = self._routine, self._shape.vector, self._shape.gates
        count, input_size = gates.form.gates, routine.parameter("input_size")
        ends = routine.parameter("begin"), routine.parameter("end")
        with routine.loop(*ends, self._blocks) as first:
            panel = routine.address("panels") + first * count * vector * (input_size + self._size)
            bias = routine.address("biases") + first * gates.biases * vector
            starts = [
                self._biases(bias, range(count - gates.is_apart), gates.is_apart)
            ] * self._rows
            given = routine.address("input"), routine.parameter("input_row")
            sums = self._summed(starts, panel, input_size, *given)
            apart = [[row[(j + 1) * count - 1] for j in range(self._blocks)] for row in sums]
            if gates.is_apart:
                bias_of_state = self._biases(bias, range(count), False)
                for row in sums:
                    row[count - 1 :: count] = bias_of_state[count - 1 :: count]
            panel = panel + input_size * (count * self._blocks * vector)
            sums = self._summed(sums, panel, self._size, routine.address("state"), self._across)
            for i in range(self._rows):
                for j in range(self._blocks):
                    own = sums[i][j * count : (j + 1) * count]
                    self._finish(first + j, i, own, apart[i][j] if gates.is_apart else None)
        return routine.function

    def _biases(self, bias: Address, gates: range, is_apart: bool) -> list[Lanes]:
        """Vectors that are added: of these gates, and of what the input gives to the last one."""
        count, kind, vector = self._shape.gates.biases, self._shape.kind, self._shape.vector
        which = [*gates, *[count - 1] * is_apart]
        return [
            (bias + (j * count + gate) * vector).lanes(kind, self._block)
            for j in range(self._blocks)
            for gate in which
        ]

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


def advance_name(rows: int, blocks: int) -> str:
    """The function that does a step of so many sequences, for so many blocks at a time."""
    return f"advance_{rows}_{blocks}"


def rows_of_piece(routine: Routine, numbers: dict[str, Lanes], piece: Lanes) -> tuple[Lanes, Lanes]:
    """The first sequence of a piece, and how many it has."""
    batch, pieces = numbers["batch"], numbers["pieces"]
    first = batch * piece // pieces
    return first, batch * (piece + 1) // pieces - first


def _walk(shape: Shape) -> Function:
    """Task: all steps of the sequences of a piece: `walk`."""
    routine = Routine("walk")
    numbers, places = fields(routine, WALK_FIELDS)
    across, slot = numbers["across"], numbers["size"] * shape.item
    room = across * shape.heights[-1]
    with routine.pieces() as piece:
        first, rows = rows_of_piece(routine, numbers, piece)
        state = places["scratch"] + piece * numbers["scratch_step"]
        following, cells = state + room, state + room * 2
        ends = [("hidden", state)] + [("cell", cells)] * shape.gates.has_cell
        for name, target in ends:
            routine.call("copy_rows", places[name] + first * slot, slot, target, across, rows, slot)
        with routine.loop(0, numbers["step_count"]) as step:
            known = row_at(places["steps"], step, STEP)
            active, row = least(known["count"] - first, rows), known["row"] + first
            moving = {
                "input": places["input"] + known["offset"] + first * numbers["input_row"],
                "state": state, "next": following, "cells": cells,
                "kept": places["kept"] + row * numbers["kept_row"],
                "output": places["output"] + row * slot,
            }  # fmt: skip
            for height in shape.heights:
                with routine.when(active.compare("eq", height)):
                    _call_advance(routine, shape, height, numbers, places | moving)
                    routine.call("copy_rows", following, across, state, across, height, slot)
        for name, source in ends:
            target = places[f"last_{name}"] + first * slot
            routine.call("copy_rows", source, across, target, slot, rows, slot)
    return routine.function


def _call_advance(
    routine: Routine, shape: Shape, height: int, numbers: dict[str, Lanes],
    places: dict[str, Address],
) -> None:  # fmt: skip
    blocks = (numbers["size"] + (shape.width - 1)) // shape.width
    start = routine.number(0)
    spans = [(1, start, blocks)]
    if shape.gates.form.gates == 1:
        grouped = blocks // GROUP * GROUP
        spans = [(GROUP, start, grouped), (1, grouped, blocks)]
    for together, begin, end in spans:
        routine.call(
            advance_name(height, together), places["input"], numbers["input_row"],
            numbers["input_size"], places["state"], places["next"], places["cells"],
            numbers["across"], places["panels"], numbers["size"], begin, end, places["biases"],
            places["kept"], numbers["kept_row"], places["output"], numbers["keeps"],
        )  # fmt: skip
