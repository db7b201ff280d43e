"""The walk through a large layer, or of few sequences: threads share its hidden units.

Such a walk is as fast as the weights come from memory, so no thread reads those of another's units,
and each reads those of a few units once for all sequences. They meet at each step, whose states
all need (`turns`). What the input gives to the gates is computed for all steps before.
"""

from __future__ import annotations

from typing import Final

from lamina.codegen.kernels.tasks.fields import fields, row_at
from lamina.codegen.kernels.tasks.packing import turn
from lamina.codegen.kernels.tasks.recurrence import STEP, lay_function
from lamina.codegen.kernels.tasks.recurrence_backward import (
    call_through,
    gather_before,
    part_functions,
)
from lamina.codegen.kernels.tasks.recurrence_gates import GATES
from lamina.codegen.kernels.tasks.recurrence_tiles import (
    GROUP,
    Shape,
    blocks_of,
    each_tile,
    spans,
    tile_functions,
    tile_name,
)
from lamina.codegen.kernels.tasks.routines import Address, Routine, least
from lamina.codegen.kernels.tasks.turns import in_turns
from lamina.codegen.llvm.ir import Function, Lanes

PROJECT_FIELDS: Final = (
    "input", "input_row", "input_size", "rows", "size", "panels", "biases", "biases_of_state",
    "has_biases", "shares", "shares_row",
)  # fmt: skip
"""What the task `project` finds: rows of the input of all steps, and where their shares go."""

UNITS_FIELDS: Final = (
    "steps", "step_count", "batch", "size", "panels", "biases_of_state", "has_biases", "shares",
    "shares_row", "input_size", "kept", "kept_row", "keeps", "output", "states", "cells", "across",
    "parts", "counters",
)  # fmt: skip
"""What the task `walk_units` finds. `states` are those before even steps, then before odd ones;
`input_size` is how many columns of each panel belong to the input's weight."""

RETURN_UNITS_FIELDS: Final = (
    "steps", "step_count", "batch", "size", "panels", "kept", "kept_row", "gradient",
    "gradient_row", "of_gates", "of_gates_row", "totals", "before", "states", "cells", "gathered",
    "across", "parts", "counters",
)  # fmt: skip
"""What the task `return_units` finds: as `return`; states and cells are gradients."""


def units_functions(name: str, kind: str, width: int) -> list[Function]:
    """The tasks for a kind of layer, and all that they call."""
    shape = Shape(GATES[name], kind, width)
    return [
        turn(kind, width),
        lay_function(shape),
        *tile_functions(shape, "project", "go_on"),
        _project(shape),
        _walk_units(shape),
        *part_functions(shape),
        _return_units(shape),
    ]


def _project(shape: Shape) -> Function:
    """Task: what the input gives to the gates at all steps, some blocks of units a piece."""
    routine = Routine("project")
    numbers, places = fields(routine, PROJECT_FIELDS)
    with routine.pieces() as piece:
        begin = piece * GROUP
        end = least(begin + GROUP, blocks_of(shape, numbers["size"]))

        def some(first: Lanes, height: int) -> None:
            size = numbers["size"]
            for together, start, stop in spans(shape, size, shape.together, begin, end):
                routine.call(
                    tile_name("project", height, together),
                    places["input"] + first * numbers["input_row"], numbers["input_row"],
                    numbers["input_size"], places["panels"], size, start, stop,
                    places["biases"], places["biases_of_state"], numbers["has_biases"],
                    places["shares"] + first * numbers["shares_row"], numbers["shares_row"],
                )  # fmt: skip

        each_tile(routine, shape, numbers["rows"], some)
    return routine.function


def _part(shape: Shape, numbers: dict[str, Lanes], part: Lanes) -> tuple[Lanes, Lanes]:
    """The blocks of hidden units of a part: groups belong together."""
    blocks, parts = blocks_of(shape, numbers["size"]), numbers["parts"]
    groups = (blocks + (GROUP - 1)) // GROUP
    begin, end = (groups * number // parts * GROUP for number in (part, part + 1))
    return begin, least(end, blocks)


def _walk_units(shape: Shape) -> Function:
    """Task: all steps of a few sequences, whose hidden units threads share: `walk_units`."""
    routine = Routine("walk_units")
    numbers, places = fields(routine, UNITS_FIELDS)
    across, size = numbers["across"], numbers["size"]
    room = across * numbers["batch"]

    def write(step: Lanes, part: Lanes) -> None:
        begin, end = _part(shape, numbers, part)
        known = row_at(places["steps"], step, STEP)
        active = known["count"]
        state = places["states"] + step % 2 * room
        following = places["states"] + (step + 1) % 2 * room

        def tile(first: Lanes, height: int) -> None:
            row, far = known["row"] + first, first * across
            for together, *span in spans(shape, size, shape.together, group, group_end):
                routine.call(
                    tile_name("go_on", height, together), places["shares"], 0,
                    numbers["input_size"], places["panels"], size, *span,
                    places["biases_of_state"], places["biases_of_state"], numbers["has_biases"],
                    state + far, following + far, places["cells"] + far, across,
                    places["kept"] + row * numbers["kept_row"], numbers["kept_row"],
                    places["output"] + row * size * shape.item, numbers["keeps"],
                    places["shares"] + row * numbers["shares_row"], numbers["shares_row"],
                )  # fmt: skip

        with routine.loop(begin, end, GROUP) as group:
            group_end = least(group + GROUP, end)
            each_tile(routine, shape, active, tile)
        first, length = begin * shape.vector, (end - begin) * shape.vector
        with routine.loop(active, numbers["batch"]) as i:
            at = across * i + first
            (state + at).copy_to(following + at, length)

    in_turns(routine, places["counters"], numbers["parts"], numbers["step_count"], write)
    return routine.function


def _return_units(shape: Shape) -> Function:
    """Task: the way back of `walk_units`: `return_units`.

    A part takes the gradients of the gates at the step behind through the weights of its own units,
    then undoes them at this step. The first has no step behind, the last one none to undo.
    """
    routine = Routine("return_units")
    numbers, places = fields(routine, RETURN_UNITS_FIELDS)
    size, count = numbers["size"], numbers["step_count"]

    def gates_at(known: dict[str, Lanes]) -> Address:
        return places["of_gates"] + known["row"] * numbers["of_gates_row"]

    def write(done: Lanes, part: Lanes) -> None:
        begin, end = _part(shape, numbers, part)
        with routine.when(done.compare("sgt", 0)):
            behind = row_at(places["steps"], count - done, STEP)
            with routine.loop(begin, end, GROUP) as group:
                call_through(
                    routine, shape, numbers, places, behind["count"], gates_at(behind),
                    places["states"], (group, least(group + GROUP, end)),
                )  # fmt: skip
        with routine.when(done.compare("slt", count)):
            known = row_at(places["steps"], count - 1 - done, STEP)
            bytes_of = begin * shape.vector, least(end * shape.vector, size * shape.item)
            if shape.gates.before is not None:
                gather_before(
                    routine, shape, numbers, places, known, (routine.number(0), known["count"]),
                    places["gathered"], bytes_of,
                )  # fmt: skip
            routine.call(
                "undo", places["states"], places["cells"], places["gathered"], numbers["across"],
                known["count"], size, begin * shape.width, least(end * shape.width, size),
                places["kept"] + known["row"] * numbers["kept_row"], numbers["kept_row"],
                places["gradient"] + known["offset"], numbers["gradient_row"],
                gates_at(known), numbers["of_gates_row"], places["totals"],
            )  # fmt: skip

    in_turns(routine, places["counters"], numbers["parts"], count + 1, write)
    return routine.function
