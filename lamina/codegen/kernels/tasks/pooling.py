"""The tasks of pooling: the largest element or the sum of windows, and what takes gradients back.

Like those of depthwise convolutions they go over strips of positions in a copy of a plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lamina.codegen.kernels.tasks.depthwise import STRIP
from lamina.codegen.kernels.tasks.fields import copy_image, fields, row_at
from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, Variable, first_lanes
from lamina.codegen.llvm.ir import Block, Function, Lanes

POOL_FIELDS: Final = (
    "source", "groups", "source_batch", "source_group", "source_channel", "source_step",
    "channels", "entries", "entry_count", "plane", "fill", "scratch", "scratch_step",
    "offsets", "count", "strips", "strip_count", "result_plane",
    "result", "indices", "steps", "starts", "firsts", "index_step", "divisors",
)  # fmt: skip
"""What the tasks `pool_largest` and `pool_mean` find in their table."""

SCATTER_FIELDS: Final = ("source", "indices", "result", "count", "area", "outside")
"""What the task `scatter_planes` finds in its table."""


def pooling_functions(kind: str, width: int) -> list[Function]:
    """The tasks of pooling for a kind of number."""
    return [_largest(kind, width), _mean(kind, width), _scatter(kind, width)]


def _largest(kind: str, width: int) -> Function:
    """Task: the largest element of windows, or where it is, or both; pieces are planes.

    As in PyTorch, the first of equal elements counts, and the last one that is not a number.
    """
    routine = Routine("pool_largest")
    numbers, places = fields(routine, POOL_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    lane = block.listed("i32", range(width))
    wants_values, wants_indices = (numbers[name].compare("ne", 0) for name in ("result", "indices"))
    step = _narrow(block, numbers["index_step"])
    with (
        routine.pieces() as piece,
        _strips(routine, numbers, places, piece) as (plane, strip, number),
    ):
        best = Variable(block.constant(kind, float("-inf")))
        choice = Variable((places["firsts"] + number * (width * 4)).lanes("i32", block))
        with routine.loop(0, numbers["count"]) as k:
            found = (plane + strip["offset"] + places["offsets"].load("i64", k)).lanes(kind, block)
            is_better = found.compare("ogt", best.get()) | found.compare("uno", found)
            best.set(is_better.where(found, best.get()))
            own = _narrow(block, places["steps"].load("i64", k))
            choice.set(is_better.where(own, choice.get()))
        mask = first_lanes(block, strip["lanes"])
        at = piece * numbers["result_plane"] + strip["place"]
        with routine.when(wants_values):
            (places["result"] + at).store_some(best.get(), mask)
        with routine.when(wants_indices):
            start = _narrow(block, places["starts"].load("i64", number))
            index = start + choice.get() + lane * step
            (places["indices"] + at * (8 // item)).store_some(index.convert("sext", "i64"), mask)
    return routine.function


def _mean(kind: str, width: int) -> Function:
    """Task: the sums of windows, divided by a number for each; pieces are planes."""
    routine = Routine("pool_mean")
    numbers, places = fields(routine, POOL_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    with (
        routine.pieces() as piece,
        _strips(routine, numbers, places, piece) as (plane, strip, number),
    ):
        total = Variable(block.constant(kind, 0))
        with routine.loop(0, numbers["count"]) as k:
            found = (plane + strip["offset"] + places["offsets"].load("i64", k)).lanes(kind, block)
            total.set(total.get() + found)
        divisors = (places["divisors"] + number * (width * item)).lanes(kind, block)
        at = places["result"] + piece * numbers["result_plane"] + strip["place"]
        at.store_some(total.get() / divisors, first_lanes(block, strip["lanes"]))
    return routine.function


def _scatter(kind: str, width: int) -> Function:
    """Task: zero planes with elements added at indices; pieces are planes.

    Indices outside a plane are left out and counted.
    """
    routine = Routine("scatter_planes")
    numbers, places = fields(routine, SCATTER_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    function = routine.function
    area, count = numbers["area"], numbers["count"]
    whole = area // width * width
    with routine.pieces() as piece:
        target = places["result"] + piece * area * item
        with routine.loop(0, whole, width) as at:
            (target + at * item).store(block.constant(kind, 0))
        with routine.loop(whole, area) as at:
            (target + at * item).store(routine.number(0, kind))
        with routine.loop(0, count) as i:
            number = piece * count + i
            index = places["indices"].load("i64", number)
            with routine.when(index.compare("ult", area)):
                home = target + index * item
                value = (places["source"] + number * item).load(kind)
                home.store(home.load(kind) + value)
            with routine.when(index.compare("uge", area)):
                function.line(
                    f"store atomic i64 1, ptr {places['outside'].name} monotonic, align 8"
                )
    return function


@contextmanager
def _strips(
    routine: Routine, numbers: dict[str, Lanes], places: dict[str, Address], piece: Lanes
) -> Iterator[tuple[Address, dict[str, Lanes], Lanes]]:
    """Copy a plane, and go over its strips: (the copy, the strip, its number)."""
    plane = places["scratch"] + routine.parameter("worker") * numbers["scratch_step"]
    image, group = piece // numbers["groups"], piece % numbers["groups"]
    copy_image(routine, numbers, places, image, group, plane, numbers["fill"])
    with routine.loop(0, numbers["strip_count"]) as number:
        yield plane, row_at(places["strips"], number, STRIP), number


def _narrow(block: Block, number: Lanes) -> Lanes:
    """A number in all lanes, with 32 bits."""
    return block.splat("i32", number.convert("trunc", "i32").name)
