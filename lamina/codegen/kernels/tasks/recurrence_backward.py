"""The walk of a recurrent layer back through time: the gradients of its gates, in one task.

A piece is a few sequences, as on the way forward. The gradients of all gates are written, since the
gradients of the weights are products over all steps, which BLAS does at once.
"""

from __future__ import annotations

from typing import Final

from lamina.codegen.kernels.tasks.fields import fields, row_at
from lamina.codegen.kernels.tasks.recurrence import STEP, rows_of_piece
from lamina.codegen.kernels.tasks.recurrence_gates import GATES
from lamina.codegen.kernels.tasks.recurrence_tiles import (
    GROUP,
    Shape,
    blocks_of,
    each_tile,
    spans,
)
from lamina.codegen.kernels.tasks.routines import (
    Address,
    Routine,
    either,
    first_lanes,
    largest,
    least,
)
from lamina.codegen.kernels.tasks.tiles import summed
from lamina.codegen.llvm.ir import Block, Function, Lanes

RETURN_FIELDS: Final = (
    "steps", "step_count", "batch", "pieces", "size", "panels", "kept", "kept_row",
    "gradient", "gradient_row", "of_gates", "of_gates_row", "totals", "before",
    "of_last_hidden", "of_last_cell", "of_hidden", "of_cell", "scratch", "scratch_step", "across",
)  # fmt: skip
"""What the task `return` finds in its table; `before` is the first cell (or state). `totals` has a
row like `of_gates` for each sequence, at first of zeros."""

LAY_BACK_FIELDS: Final = ("weight", "weight_row", "rows", "size", "panels")
"""What the task `lay_back` finds in its table."""

LINE: Final = 64
"""Bytes of a line of memory."""

UNDO: Final = (
    "ptr %state, ptr %cells, ptr %before, i64 %across, i64 %rows, i64 %size, i64 %begin, i64 %end, "
    "ptr %kept, i64 %row, "
    "ptr %gradient, i64 %gradient_row, ptr %of_gates, i64 %of_gates_row, ptr %totals"
)
THROUGH: Final = (
    "ptr %left, i64 %row, ptr %panels, i64 %count, ptr %state, i64 %across, i64 %begin, i64 %end"
)


def return_functions(name: str, kind: str, width: int) -> list[Function]:
    """The task of the way back for a kind of layer, and what it calls but `copy_rows`."""
    shape = Shape(GATES[name], kind, width)
    return [*part_functions(shape), _return(shape)]


def part_functions(shape: Shape) -> list[Function]:
    """What the way back consists of."""
    return [
        _lay_back(shape),
        _undo(shape),
        *(_through(shape, rows, blocks) for rows in shape.heights for blocks in (GROUP, 1)),
    ]


def _lay_back(shape: Shape) -> Function:
    """Task: panels of the state's weight as it lies, a block of hidden units a piece: `lay_back`.

    A panel has vectors of several blocks; what is left over has panels of its own.
    """
    routine = Routine("lay_back")
    numbers, places = fields(routine, LAY_BACK_FIELDS)
    size, rows, block = numbers["size"], numbers["rows"], Block(routine.function, shape.width)
    blocks = blocks_of(shape, size)
    with routine.pieces() as b:
        inside = b.compare("slt", blocks // GROUP * GROUP)
        first = inside.where(b // GROUP * GROUP, b)
        across = inside.where(routine.number(GROUP), 1) * shape.vector
        source = places["weight"] + b * shape.vector
        target = places["panels"] + first * rows * shape.vector + (b - first) * shape.vector
        mask = first_lanes(block, size - b * shape.width)
        with routine.loop(0, rows) as k:
            lanes = (source + k * numbers["weight_row"]).load_some(shape.kind, mask)
            (target + k * across).store(lanes)
    return routine.function


def _undo(shape: Shape) -> Function:
    """The gradients of the gates of one step, from those of state and cell: `undo`.

    It does so for the hidden units from `begin` to `end`.
    """
    routine = Routine("undo", UNDO)
    routine.function.is_internal = True
    gates, kind, block = shape.gates, shape.kind, Block(routine.function, shape.width)
    across, size = routine.parameter("across"), routine.parameter("size")
    slot = size * shape.item
    with (
        routine.loop(0, routine.parameter("rows")) as i,
        routine.loop(routine.parameter("begin"), routine.parameter("end"), shape.width) as unit,
    ):
        mask = first_lanes(block, size - unit)
        far, inside = across * i + unit * shape.item, unit * shape.item
        state, cells = routine.address("state") + far, routine.address("cells") + far
        kept = routine.address("kept") + routine.parameter("row") * i + inside
        given = routine.address("gradient") + routine.parameter("gradient_row") * i + inside
        before = None
        if gates.before is not None:
            before = (routine.address("before") + far).lanes(kind, block)
        undone = gates.backward(
            [(kept + slot * s).load_some(kind, mask) for s in range(gates.form.kept)], before,
            state.lanes(kind, block) + given.load_some(kind, mask),
            cells.lanes(kind, block) if gates.has_cell else None,
        )  # fmt: skip
        row = routine.parameter("of_gates_row") * i + inside
        of_gates, totals = routine.address("of_gates") + row, routine.address("totals") + row
        for s, lanes in enumerate(undone.gates):
            (of_gates + slot * s).store_some(lanes, mask)
            total = totals + slot * s
            total.store_some(total.load_some(kind, mask) + lanes, mask)
        if undone.hidden is not None:
            state.store(undone.hidden)
        if undone.cell is not None:
            cells.store(undone.cell)
    return routine.function


def _through_name(rows: int, blocks: int) -> str:
    return f"through_{rows}_{blocks}"


def _through(shape: Shape, rows: int, blocks: int) -> Function:
    """The gradient of the state before: that of the gates through the weight.

    Args:
        shape: What it is for.
        rows: How many sequences.
        blocks: How many vectors of hidden units a tile has.
    """
    routine = Routine(_through_name(rows, blocks), THROUGH)
    routine.function.is_internal = True
    block, kind, vector = Block(routine.function, shape.width), shape.kind, shape.vector
    count, row, across = (routine.parameter(name) for name in ("count", "row", "across"))
    left = routine.address("left")
    with routine.loop(routine.parameter("begin"), routine.parameter("end"), blocks) as first:
        panel = routine.address("panels") + first * count * vector
        state = routine.address("state") + first * vector

        def start(i: int, v: int, state: Address = state) -> Lanes:
            if shape.gates.has_own_way:
                return (state + across * i + v * vector).lanes(kind, block)
            return block.constant(kind, 0)

        sums = summed(
            routine, [[start(i, v) for v in range(blocks)] for i in range(rows)], count,
            lambda k, i: (left + row * i + k * shape.item).spread(kind, block),
            lambda k, v: (panel + k * (blocks * vector) + v * vector).lanes(kind, block),
        )  # fmt: skip
        for i, of_row in enumerate(sums):
            for v, lanes in enumerate(of_row):
                (state + across * i + v * vector).store(lanes)
    return routine.function


def _return(shape: Shape) -> Function:
    """Task: all steps of the sequences of a piece, from the last one on: `return`."""
    routine = Routine("return")
    numbers, places = fields(routine, RETURN_FIELDS)
    size, across, row = numbers["size"], numbers["across"], numbers["kept_row"]
    slot, gates = size * shape.item, shape.gates
    room = across * shape.heights[-1]
    with routine.pieces() as piece:
        first, rows = rows_of_piece(routine, numbers, piece)
        state = places["scratch"] + piece * numbers["scratch_step"]
        before, cells = state + room, state + room * 2
        ends = [("hidden", state)] + [("cell", cells)] * gates.has_cell
        for name, target in ends:
            source = places[f"of_last_{name}"] + first * slot
            routine.call("copy_rows", source, slot, target, across, rows, slot)
        with routine.loop(0, numbers["step_count"]) as done:
            known = row_at(places["steps"], numbers["step_count"] - 1 - done, STEP)
            active = largest(least(known["count"] - first, rows), routine.number(0))
            if gates.before is not None:
                gather_before(
                    routine, shape, numbers, places, known, (first, active), before,
                    (routine.number(0), slot),
                )  # fmt: skip
            of_gates = places["of_gates"] + (known["row"] + first) * numbers["of_gates_row"]
            routine.call(
                "undo", state, cells, before, across, active, size, 0, size,
                places["kept"] + (known["row"] + first) * row, row,
                places["gradient"] + known["offset"] + first * numbers["gradient_row"],
                numbers["gradient_row"], of_gates, numbers["of_gates_row"],
                places["totals"] + first * numbers["of_gates_row"],
            )  # fmt: skip
            # What is kept of a step does not lie behind that of the next one, so no machine guesses
            # it: it is fetched while the product is computed.
            coming = places["kept"] + (known["row_before"] + first) * row
            with routine.loop(0, active * row, LINE) as at:
                (coming + at).prefetch()
            every = routine.number(0), blocks_of(shape, size)
            call_through(routine, shape, numbers, places, active, of_gates, state, every)
        for name, source in ends:
            target = places[f"of_{name}"] + first * slot
            routine.call("copy_rows", source, across, target, slot, rows, slot)
    return routine.function


def gather_before(
    routine: Routine, shape: Shape, numbers: dict[str, Lanes], places: dict[str, Address],
    known: dict[str, Lanes], part: tuple[Lanes, Lanes], target: Address, ends: tuple[Lanes, Lanes],
) -> None:  # fmt: skip
    """Copy the cells (or states) before a step; sequences that begin with it have the first one.

    `part` says which sequences, `ends` which bytes of each.
    """
    first, active = part
    begin, end = ends
    slot = numbers["size"] * shape.item
    with routine.loop(0, active) as i:
        row = first + i
        earlier = places["kept"] + (known["row_before"] + row) * numbers["kept_row"]
        goes_on = row.compare("slt", known["count_before"])
        source = either(goes_on, earlier + slot * shape.gates.before, places["before"] + row * slot)
        (source + begin).copy_to(target + i * numbers["across"] + begin, end - begin)


def call_through(
    routine: Routine, shape: Shape, numbers: dict[str, Lanes], places: dict[str, Address],
    active: Lanes, of_gates: Address, state: Address, ends: tuple[Lanes, Lanes],
) -> None:  # fmt: skip
    """Take the gradients of a step's gates to the states before; `ends` says of which blocks."""
    form, size = shape.gates.form, numbers["size"]
    left, row = (
        of_gates + size * (shape.item * (form.written - form.gates)),
        numbers["of_gates_row"],
    )

    def tile(first: Lanes, height: int) -> None:
        for together, begin, end in spans(shape, size, GROUP, *ends):
            routine.call(
                _through_name(height, together), left + first * row, row, places["panels"],
                size * form.gates, state + first * numbers["across"], numbers["across"], begin, end,
            )  # fmt: skip

    each_tile(routine, shape, active, tile)
