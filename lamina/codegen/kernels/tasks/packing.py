"""Moving factors of products to where the micro-kernels read them in order."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    chosen_lanes,
    first_lanes,
    least,
)
from lamina.codegen.llvm.ir import Block, Function, Lanes

STRETCH: Final = 64
"""Steps that a panel is packed for at a time: they stay in the first-level cache meanwhile."""

PANEL: Final = "ptr %source, ptr %rows, ptr %runs, i64 %count, i64 %steps, ptr %target"
LINES: Final = "ptr %source, i64 %row, i64 %column, i64 %rows, i64 %count, ptr %target"
TURNED: Final = "ptr %source, i64 %step, i64 %rows, i64 %count, ptr %target, i64 %width"
PLANES: Final = (
    "ptr %source, i64 %channel, i64 %channels, ptr %entries, i64 %entry_count, i64 %step, "
    "ptr %target, i64 %plane, i64 %fill"
)

AHEAD: Final = 32
LINES_AHEAD: Final = 8
"""Steps, or lines of memory, after which something is wanted when it is asked for."""


def packing_functions(kind: str, width: int) -> list[Function]:
    """All packing functions for a kind of number."""
    return [
        _pack_panel(kind, width),
        turn(kind, width),
        copy_planes(kind, width),
        _pack_rows(kind),
    ]


def transposed(rows: list[Lanes]) -> list[Lanes]:
    """The columns of a square of lanes: halves change places, then quarters, and so on."""
    width = len(rows)
    half = width // 2
    while half:
        made = list(rows)
        for i in range(width):
            if not i & half:
                upper = [lane if not lane & half else width + lane - half for lane in range(width)]
                lower = [lane + half if not lane & half else width + lane for lane in range(width)]
                for target, which in ((i, upper), (i + half, lower)):
                    made[target] = chosen_lanes(rows[i], which, rows[i + half])
        rows = made
        half //= 2
    return rows


def _pack_panel(kind: str, width: int) -> Function:
    """A tile's columns of a right factor, for `steps` rows: `pack_panel`.

    They come in runs, in order: row k of one is at `source + rows[k] + offset`, and goes to `lane`
    of the panel's two vectors. A whole vector is moved where it fits; what is behind a run is
    overwritten by the next one.
    """
    routine = Routine("pack_panel", PANEL)
    block, item = Block(routine.function, width), BYTES[kind]
    source, rows = routine.address("source"), routine.address("rows")
    runs, target = routine.address("runs"), routine.address("target")
    step = 2 * width * item
    steps = routine.parameter("steps")
    with (
        routine.loop(0, steps, STRETCH) as first,
        routine.loop(0, routine.parameter("count")) as run,
    ):
        last = least(first + STRETCH, steps)
        offset, lane, lanes = (runs.load("i64", run * 3 + k) for k in range(3))
        start, home = source + offset, target + lane * item
        with routine.when(lanes.compare("eq", 0)), routine.loop(first, last) as k:
            (home + k * step).store((start + rows.load("i64", k)).lanes(kind, block))
        with routine.when(lanes.compare("ne", 0)):
            mask = first_lanes(block, lanes)
            with routine.loop(first, last) as k:
                moved = (start + rows.load("i64", k)).load_some(kind, mask)
                (home + k * step).store_some(moved, mask)
    return routine.function


def turn(kind: str, width: int) -> Function:
    """The transpose of `rows` (at most a vector's width) rows of `count` elements: `turn`.

    Rows are `step` bytes apart, those of the result `width` bytes. Lanes of rows that are not
    there are zero.
    """
    routine = Routine("turn", TURNED)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    step, rows, count = (routine.parameter(name) for name in ("step", "rows", "count"))
    across = routine.parameter("width")
    whole = rows.compare("sge", width).where(count, 0) // width * width
    with routine.loop(0, whole, width) as at:
        lanes = [(source + step * i + at * item).lanes(kind, block) for i in range(width)]
        for i, column in enumerate(transposed(lanes)):
            (target + (at + i) * across).store(column)
    with routine.loop(whole, count, width) as at:
        mask = first_lanes(block, count - at)
        lanes = []
        for i in range(width):
            inside = block.splat("i1", rows.compare("sgt", i).name) & mask
            lanes.append((source + step * i + at * item).load_some(kind, inside))
        for i, column in enumerate(transposed(lanes)):
            with routine.when((at + i).compare("slt", count)):
                (target + (at + i) * across).store(column)
    return routine.function


def copy_planes(kind: str, width: int) -> Function:
    """Channels copied into planes with room around, which has the bits `fill`: `copy_planes`.

    Entries are (source offset, target offset, count) for each stretch of a channel; `step` is the
    distance of a stretch's elements in the source.
    """
    routine = Routine("copy_planes", PLANES)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    entries, plane = routine.address("entries"), routine.parameter("plane")
    channels, step = routine.parameter("channels"), routine.parameter("step")
    bits = routine.room("i64", 1)
    bits.store(routine.parameter("fill"))
    around = bits.spread(kind, block)
    with routine.loop(0, plane * channels, width * item) as at:
        (target + at).store(around)
    is_dense, is_double = step.compare("eq", item), step.compare("eq", 2 * item)
    is_apart = step.compare("sgt", 2 * item)
    with routine.loop(0, channels) as c:
        origin, home = source + routine.parameter("channel") * c, target + plane * c
        with routine.loop(0, routine.parameter("entry_count")) as e:
            far, apart, count = (entries.load("i64", e * 3 + k) for k in range(3))
            start, place = origin + far, home + apart
            with routine.when(is_dense):
                _copy_run(routine, block, kind, start, place, count)
            with routine.when(is_double):
                _copy_every_second(routine, block, kind, start, place, count)
            with routine.when(is_apart), routine.loop(0, count) as i:
                (place + i * item).store((start + step * i).load(kind))
    return routine.function


def _copy_run(
    routine: Routine, block: Block, kind: str, start: Address, place: Address, count: Lanes
) -> None:
    item, width = BYTES[kind], block.width
    whole = count // width * width
    with routine.loop(0, whole, width) as i:
        (place + i * item).store((start + i * item).lanes(kind, block))
    with routine.when(whole.compare("ne", count)):
        mask = first_lanes(block, count - whole)
        lanes = (start + whole * item).load_some(kind, mask)
        (place + whole * item).store_some(lanes, mask)


def _copy_every_second(
    routine: Routine, block: Block, kind: str, start: Address, place: Address, count: Lanes
) -> None:
    """Every second element: from two vectors, of which nothing behind the last one is read."""
    item, width = BYTES[kind], block.width
    evens = range(0, 2 * width, 2)
    with routine.loop(0, count, width) as i:
        left = (count - i) * 2 - 1
        at = start + i * (2 * item)
        first = at.load_some(kind, first_lanes(block, left))
        second = (at + width * item).load_some(kind, first_lanes(block, left - width))
        chosen = chosen_lanes(first, evens, second)
        (place + i * item).store_some(chosen, first_lanes(block, count - i))


def _pack_rows(kind: str) -> Function:
    """Rows of a left factor, `height` numbers for each step: `pack_rows`.

    Element (row, k) is read at `source + rows[row] + columns[k]`; rows from `present` on are zero.
    """
    routine = Routine(
        "pack_rows",
        "ptr %source, ptr %rows, ptr %columns, i64 %present, i64 %height, i64 %count, ptr %target",
    )
    item = BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    rows, columns = routine.address("rows"), routine.address("columns")
    present, height = routine.parameter("present"), routine.parameter("height")
    count = routine.parameter("count")
    with routine.loop(0, count, STRETCH) as first:
        last = least(first + STRETCH, count)
        with routine.loop(0, present) as i:
            start, place = source + rows.load("i64", i), target + i * item
            with routine.loop(first, last) as k:
                value = (start + columns.load("i64", k)).load(kind)
                (place + k * height * item).store(value)
        with routine.loop(present, height) as i, routine.loop(first, last) as k:
            (target + i * item + k * height * item).store(routine.number(0, kind))
    return routine.function


def pack_lines(kind: str, width: int, across: int, name: str) -> Function:
    """A panel of lines (rows of a left factor, columns of a right one) that lie side by side.

    Line k of `rows` is at `source + k * item`, and steps on by `column` bytes. Lines that are not
    there become zeros; behind the panel, up to a vector is overwritten.
    """
    routine = Routine(f"pack_{name}_lines", LINES)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    parts = range(0, across, width)
    size = least(routine.parameter("rows"), across)
    masks = [first_lanes(block, size - first) for first in parts]
    with routine.loop(0, routine.parameter("count")) as k:
        here, there = source + k * routine.parameter("column"), target + k * (across * item)
        far = here + routine.parameter("column") * AHEAD
        for first, mask in zip(parts, masks, strict=True):
            (far + first * item).prefetch()
            (there + first * item).store((here + first * item).load_some(kind, mask))
    return routine.function


def pack_turned(kind: str, width: int, across: int, name: str) -> Function:
    """The same for lines that are `row` bytes apart, each without gaps: squares are transposed."""
    routine = Routine(f"pack_{name}_turned", LINES)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    row, rows, count = (routine.parameter(each) for each in ("row", "rows", "count"))

    def turned(first: Lanes, start: int, is_whole: bool) -> list[Lanes]:
        mask = first_lanes(block, count - first)
        lanes = [block.constant(kind, 0)] * width
        for i in range(min(width, across - start)):
            at = source + row * (start + i) + first * item
            inside = block.splat("i1", rows.compare("sgt", start + i).name) & mask
            lanes[i] = at.lanes(kind, block) if is_whole else at.load_some(kind, inside)
            if is_whole:
                (at + LINES_AHEAD * 64).prefetch()
        return transposed(lanes)

    def squares(first: Lanes, is_whole: bool) -> None:
        found = [turned(first, start, is_whole) for start in range(0, across, width)]
        for k, parts in enumerate(zip(*found, strict=True)):
            home = target + (first + k) * (across * item)
            with ExitStack() as stack:
                if not is_whole:
                    stack.enter_context(routine.when((first + k).compare("slt", count)))
                for number, lanes in enumerate(parts):
                    (home + number * width * item).store(lanes)

    whole = rows.compare("sge", across).where(count // width * width, 0)
    with routine.loop(0, whole, width) as first:
        squares(first, is_whole=True)
    with routine.loop(whole, count, width) as first:
        squares(first, is_whole=False)
    return routine.function
