"""Moving factors of products to where the micro-kernels read them in order."""

from __future__ import annotations

from typing import Final

from lamina.codegen.kernels.tasks.addresses import BYTES, Address, Routine, Whole
from lamina.codegen.llvm.ir import Block, Function, Lanes

STRETCH: Final = 64
"""Steps that a panel is packed for at a time: they stay in the first-level cache meanwhile."""

PANEL: Final = "ptr %source, ptr %rows, ptr %runs, i64 %count, i64 %steps, ptr %target"
TURNED: Final = "ptr %source, i64 %step, i64 %rows, i64 %count, ptr %target, i64 %width"
PLANES: Final = (
    "ptr %source, i64 %channel, i64 %channels, ptr %entries, i64 %entry_count, i64 %step, "
    "ptr %target, i64 %plane, i64 %fill"
)


def packing_functions(kind: str, width: int) -> list[Function]:
    """All packing functions for a kind of number."""
    return [
        _pack_panel(kind, width),
        _turn(kind, width),
        copy_planes(kind, width),
        _pack_rows(kind),
    ]


def transposed(rows: list[Lanes]) -> list[Lanes]:
    """The columns of a square of lanes: halves change places, then quarters, and so on."""
    block, kind, width = rows[0].block, rows[0].kind, len(rows)
    vector = block.vector(kind)
    half = width // 2
    while half:
        made = list(rows)
        for i in range(width):
            if not i & half:
                upper = [lane if not lane & half else width + lane - half for lane in range(width)]
                lower = [lane + half if not lane & half else width + lane for lane in range(width)]
                for target, mask in ((i, upper), (i + half, lower)):
                    which = ", ".join(f"i32 {lane}" for lane in mask)
                    made[target] = block.give(
                        kind,
                        f"shufflevector {vector} {rows[i].name}, {vector} {rows[i + half].name}, "
                        f"<{width} x i32> <{which}>",
                    )
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
    zero = block.constant(kind, 0)
    steps = routine.whole("steps")
    with (
        routine.loop(0, steps, STRETCH) as first,
        routine.loop(0, routine.whole("count")) as run,
    ):
        last = (first + STRETCH).least(steps)
        offset, lane, lanes = (runs.whole(run * 3 + k) for k in range(3))
        start, home = source + offset, target + lane * item
        with routine.when(lanes.is_("eq", 0)), routine.loop(first, last) as k:
            (home + k * step).put((start + rows.whole(k)).lanes(block, kind))
        with routine.when(lanes.is_("ne", 0)):
            mask = routine.mask(block, lanes)
            with routine.loop(first, last) as k:
                moved = (start + rows.whole(k)).some_lanes(mask, zero)
                (home + k * step).put_some(moved, mask)
    return routine.function


def _turn(kind: str, width: int) -> Function:
    """The transpose of `rows` (at most a vector's width) rows of `count` elements: `turn`.

    Rows are `step` bytes apart, those of the result `width` bytes. Lanes of rows that are not
    there are zero.
    """
    routine = Routine("turn", TURNED)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    step, rows, count = routine.whole("step"), routine.whole("rows"), routine.whole("count")
    across = routine.whole("width")
    zero = block.constant(kind, 0)
    all_rows = rows.is_("sge", width)
    full = routine.function.give(f"select i1 {all_rows}, i64 {count.name}, i64 0")
    whole = Whole(routine, full) // width * width
    with routine.loop(0, whole, width) as at:
        lanes = [(source + step * i + at * item).lanes(block, kind) for i in range(width)]
        for i, column in enumerate(transposed(lanes)):
            (target + (at + i) * across).put(column)
    with routine.loop(whole, count, width) as at:
        mask = routine.mask(block, count - at)
        lanes = []
        for i in range(width):
            present = rows.is_("sgt", i)
            inside = block.splat("i1", present) & mask
            lanes.append((source + step * i + at * item).some_lanes(inside, zero))
        for i, column in enumerate(transposed(lanes)):
            with routine.when((at + i).is_("slt", count)):
                (target + (at + i) * across).put(column)
    return routine.function


def copy_planes(kind: str, width: int) -> Function:
    """Channels copied into planes with room around, which has the bits `fill`: `copy_planes`.

    Entries are (source offset, target offset, count) for each stretch of a channel; `step` is the
    distance of a stretch's elements in the source.
    """
    routine = Routine("copy_planes", PLANES)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    entries, plane = routine.address("entries"), routine.whole("plane")
    channels, step = routine.whole("channels"), routine.whole("step")
    function = routine.function
    bits = routine.variable("i64")
    function.line(f"store i64 {routine.whole('fill').name}, ptr {bits}")
    number = Address(routine, bits).scalar(kind)
    around = block.splat(kind, number)
    with routine.loop(0, plane * channels, width * item) as at:
        (target + at).put(around)
    is_dense, is_double = step.is_("eq", item), step.is_("eq", 2 * item)
    is_apart = step.is_("sgt", 2 * item)
    with routine.loop(0, channels) as c:
        origin, home = source + routine.whole("channel") * c, target + plane * c
        with routine.loop(0, routine.whole("entry_count")) as e:
            start, place = origin + entries.whole(e * 3), home + entries.whole(e * 3 + 1)
            count = entries.whole(e * 3 + 2)
            with routine.when(is_dense):
                _copy_run(routine, block, kind, start, place, count)
            with routine.when(is_double):
                _copy_every_second(routine, block, kind, start, place, count)
            with routine.when(is_apart), routine.loop(0, count) as i:
                (place + i * item).put_scalar(kind, (start + step * i).scalar(kind))
    return function


def _copy_run(
    routine: Routine, block: Block, kind: str, start: Address, place: Address, count: Whole
) -> None:
    item, width = BYTES[kind], block.width
    whole = count // width * width
    with routine.loop(0, whole, width) as i:
        (place + i * item).put((start + i * item).lanes(block, kind))
    with routine.when(whole.is_("ne", count)):
        mask = routine.mask(block, count - whole)
        zero = block.constant(kind, 0)
        lanes = (start + whole * item).some_lanes(mask, zero)
        (place + whole * item).put_some(lanes, mask)


def _copy_every_second(
    routine: Routine, block: Block, kind: str, start: Address, place: Address, count: Whole
) -> None:
    """Every second element: from two vectors, of which nothing behind the last one is read."""
    item, width = BYTES[kind], block.width
    vector, zero = block.vector(kind), block.constant(kind, 0)
    evens = ", ".join(f"i32 {2 * lane}" for lane in range(width))
    with routine.loop(0, count, width) as i:
        left = (count - i) * 2 - 1
        at = start + i * (2 * item)
        first = at.some_lanes(routine.mask(block, left), zero)
        second = (at + width * item).some_lanes(routine.mask(block, left - width), zero)
        chosen = block.give(
            kind,
            f"shufflevector {vector} {first.name}, {vector} {second.name}, "
            f"<{width} x i32> <{evens}>",
        )
        (place + i * item).put_some(chosen, routine.mask(block, count - i))


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
    present, height = routine.whole("present"), routine.whole("height")
    count = routine.whole("count")
    with routine.loop(0, count, STRETCH) as first:
        last = (first + STRETCH).least(count)
        with routine.loop(0, present) as i:
            start, place = source + rows.whole(i), target + i * item
            with routine.loop(first, last) as k:
                value = (start + columns.whole(k)).scalar(kind)
                (place + k * height * item).put_scalar(kind, value)
        with routine.loop(present, height) as i, routine.loop(first, last) as k:
            (target + i * item + k * height * item).put_scalar(kind, "0.0")
    return routine.function
