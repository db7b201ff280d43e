"""The walk of a recurrent layer through time: a product and the gates of each step, in one task.

Sequences of a batch have nothing to do with each other, so a piece is a few of them, for all of
time: threads meet once, at the end.
"""

from __future__ import annotations

from typing import Final

from lamina.codegen.kernels.tasks.fields import fields, row_at
from lamina.codegen.kernels.tasks.packing import turn
from lamina.codegen.kernels.tasks.recurrence_gates import GATES
from lamina.codegen.kernels.tasks.recurrence_tiles import (
    Shape,
    blocks_of,
    spans,
    tile_functions,
    tile_name,
)
from lamina.codegen.kernels.tasks.routines import Address, Routine, either, least
from lamina.codegen.llvm.ir import Function, Lanes

WALK_FIELDS: Final = (
    "steps", "step_count", "batch", "pieces", "size", "panels", "biases", "biases_of_state",
    "has_biases", "input", "input_row", "input_size", "kept", "kept_row", "keeps", "output",
    "hidden", "cell", "last_hidden", "last_cell", "scratch", "scratch_step", "across",
)  # fmt: skip
"""What the task `walk` finds in its table; sizes of rows are bytes, `size` is hidden units."""

STEP: Final = ("count", "row", "count_before", "row_before", "offset")
"""What is known of a step: how many sequences take part, their first row in arrays of all steps,
the same of the step before; and the offset of its input, or on the way back its gradient."""

LAY_FIELDS: Final = (
    "of_input", "of_input_row", "input_size", "of_state", "of_state_row", "state_size",
    "size", "gates", "panels", "vectors",
)  # fmt: skip
"""What the task `lay` finds: two weights with the sizes of their rows, and how many columns each
has. Its pieces are those of the first weight, then those of the second."""

COPY: Final = "ptr %source, i64 %from, ptr %target, i64 %to, i64 %rows, i64 %bytes"


def walk_functions(name: str, kind: str, width: int) -> list[Function]:
    """The tasks of the way forward for a kind of layer, and what they call."""
    shape = Shape(GATES[name], kind, width)
    return [
        turn(kind, width),
        copy_rows(),
        lay_function(shape),
        *tile_functions(shape, "advance"),
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


def lay_function(shape: Shape) -> Function:
    """Task: panels of the weights, a gate of a block of hidden units a piece: `lay`.

    A panel has a vector for each gate of a block, or (`vectors`) of several blocks; what is left
    over has panels of its own. It holds the columns of the input's weight, then of the state's.
    """
    routine = Routine("lay")
    numbers, places = fields(routine, LAY_FIELDS)
    size, gates, vectors = numbers["size"], numbers["gates"], numbers["vectors"]
    inner = numbers["input_size"] + numbers["state_size"]
    blocks = blocks_of(shape, size)
    with routine.pieces() as piece:
        is_state = piece.compare("sge", blocks * gates)
        number = piece - is_state.where(blocks * gates, 0)
        row = is_state.where(numbers["of_state_row"], numbers["of_input_row"])
        columns = is_state.where(numbers["state_size"], numbers["input_size"])
        weight = either(is_state, places["of_state"], places["of_input"])
        b = number // gates
        gate = number - b * gates
        inside = b.compare("slt", blocks // vectors * vectors)
        first = inside.where(b // vectors * vectors, b)
        across = inside.where(vectors, 1) * gates * shape.vector
        panel = places["panels"] + first * gates * inner * shape.vector
        start = panel + is_state.where(numbers["input_size"], 0) * across
        routine.call(
            "turn", weight + (gate * size + b * shape.width) * row, row,
            least(size - b * shape.width, shape.width), columns,
            start + ((b - first) * gates + gate) * shape.vector, across,
        )  # fmt: skip
    return routine.function


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
    size, start = numbers["size"], routine.number(0)
    for together, begin, end in spans(shape, size, shape.together, start, blocks_of(shape, size)):
        routine.call(
            tile_name("advance", height, together), places["input"], numbers["input_row"],
            numbers["input_size"], places["panels"], size, begin, end, places["biases"],
            places["biases_of_state"], numbers["has_biases"], places["state"], places["next"],
            places["cells"], numbers["across"], places["kept"], numbers["kept_row"],
            places["output"], numbers["keeps"],
        )  # fmt: skip
