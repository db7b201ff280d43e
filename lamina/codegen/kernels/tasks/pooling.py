"""The tasks of pooling: the largest element or the sum of windows, and what takes gradients back.

Like those of depthwise convolutions they go over strips of positions in a copy of a plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lamina.codegen.kernels.tasks.addresses import BYTES, Address, Routine, Whole
from lamina.codegen.kernels.tasks.depthwise import STRIP
from lamina.codegen.kernels.tasks.fields import copy_image, fields, row_at
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
    wholes, places = fields(routine, POOL_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    function = routine.function
    lane = block.listed("i32", range(width))
    wants_values, wants_indices = (wholes[name].is_("ne", 0) for name in ("result", "indices"))
    step = block.splat("i32", function.give(f"trunc i64 {wholes['index_step'].name} to i32"))
    with (
        routine.loop(routine.whole("begin"), routine.whole("end")) as piece,
        _strips(routine, wholes, places, piece) as (plane, strip, number),
    ):
        best, choice = routine.variable(block.vector(kind)), routine.variable(block.vector("i32"))
        _put(routine, best, block.constant(kind, float("-inf")))
        first = (places["firsts"] + number * (width * 4)).lanes(block, "i32")
        _put(routine, choice, first)
        with routine.loop(0, wholes["count"]) as k:
            found = (plane + strip["offset"] + places["offsets"].whole(k)).lanes(block, kind)
            before = _get(block, best, kind)
            is_better = found.compare("ogt", before) | found.compare("uno", found)
            _put(routine, best, is_better.where(found, before))
            own = function.give(f"trunc i64 {places['steps'].whole(k).name} to i32")
            _put(
                routine,
                choice,
                is_better.where(block.splat("i32", own), _get(block, choice, "i32")),
            )
        mask = routine.mask(block, strip["lanes"])
        at = piece * wholes["result_plane"] + strip["place"]
        with routine.when(wants_values):
            (places["result"] + at).put_some(_get(block, best, kind), mask)
        with routine.when(wants_indices):
            start = function.give(f"trunc i64 {places['starts'].whole(number).name} to i32")
            index = block.splat("i32", start) + _get(block, choice, "i32") + lane * step
            (places["indices"] + at * (8 // item)).put_some(index.convert("sext", "i64"), mask)
    return function


def _mean(kind: str, width: int) -> Function:
    """Task: the sums of windows, divided by a number for each; pieces are planes."""
    routine = Routine("pool_mean")
    wholes, places = fields(routine, POOL_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    with (
        routine.loop(routine.whole("begin"), routine.whole("end")) as piece,
        _strips(routine, wholes, places, piece) as (plane, strip, number),
    ):
        total = routine.variable(block.vector(kind))
        _put(routine, total, block.constant(kind, 0))
        with routine.loop(0, wholes["count"]) as k:
            found = (plane + strip["offset"] + places["offsets"].whole(k)).lanes(block, kind)
            _put(routine, total, _get(block, total, kind) + found)
        divisors = (places["divisors"] + number * (width * item)).lanes(block, kind)
        at = places["result"] + piece * wholes["result_plane"] + strip["place"]
        at.put_some(_get(block, total, kind) / divisors, routine.mask(block, strip["lanes"]))
    return routine.function


def _scatter(kind: str, width: int) -> Function:
    """Task: zero planes with elements added at indices; pieces are planes.

    Indices outside a plane are left out and counted.
    """
    routine = Routine("scatter_planes")
    wholes, places = fields(routine, SCATTER_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    function = routine.function
    area, count = wholes["area"], wholes["count"]
    whole = area // width * width
    with routine.loop(routine.whole("begin"), routine.whole("end")) as piece:
        target = places["result"] + piece * area * item
        with routine.loop(0, whole, width) as at:
            (target + at * item).put(block.constant(kind, 0))
        with routine.loop(whole, area) as at:
            (target + at * item).put_scalar(kind, "0.0")
        with routine.loop(0, count) as i:
            number = piece * count + i
            index = places["indices"].whole(number)
            with routine.when(index.is_("ult", area)):
                home = target + index * item
                value = (places["source"] + number * item).scalar(kind)
                home.put_scalar(kind, function.give(f"fadd {kind} {home.scalar(kind)}, {value}"))
            with routine.when(index.is_("uge", area)):
                function.line(
                    f"store atomic i64 1, ptr {places['outside'].name} monotonic, align 8"
                )
    return function


@contextmanager
def _strips(
    routine: Routine, wholes: dict[str, Whole], places: dict[str, Address], piece: Whole
) -> Iterator[tuple[Address, dict[str, Whole], Whole]]:
    """Copy a plane, and go over its strips: (the copy, the strip, its number)."""
    plane = places["scratch"] + routine.whole("worker") * wholes["scratch_step"]
    image, group = piece // wholes["groups"], piece % wholes["groups"]
    copy_image(routine, wholes, places, image, group, plane, wholes["fill"])
    with routine.loop(0, wholes["strip_count"]) as number:
        yield plane, row_at(places["strips"], number, STRIP), number


def _put(routine: Routine, variable: str, lanes: Lanes) -> None:
    routine.function.line(f"store {lanes.block.vector(lanes.kind)} {lanes.name}, ptr {variable}")


def _get(block: Block, variable: str, kind: str) -> Lanes:
    return block.give(kind, f"load {block.vector(kind)}, ptr {variable}")
