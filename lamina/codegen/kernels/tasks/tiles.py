"""The micro-kernels: a tile of a matrix product is summed up in registers.

A tile has a few rows and one or two vectors of columns. For each step of the inner dimension, the
vectors of the right factor are multiplied by one number of the left factor for each row. With
12 rows and two vectors there are 24 sums, which leaves registers for the operands (of 32) and hides
the latency of the multiplications; where there are 16 registers, 6 rows do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    Variable,
    first_lanes,
    least,
)
from lamina.codegen.llvm.ir import Block, Function, Lanes
from lamina.codegen.llvm.machine import register_count

PACKED_HEIGHTS: Final = {32: (12, 8, 4), 16: (6, 4)}
SCATTERED_HEIGHTS: Final = {32: (8, 4), 16: (6, 4)}
"""Heights of tiles, by how many vectors a machine has registers for.

With a scattered left factor LLVM loads all numbers of a column first, which takes registers too.
"""

PACKED: Final = (
    "ptr %left, ptr %right, ptr %beside, ptr %steps, i64 %count, ptr %first, ptr %second, "
    "i64 %lanes, i64 %more, "
    "i64 %step, i64 %rows, ptr %start, i64 %adds, ptr %places"
)
SCATTERED: Final = (
    "ptr %left, ptr %offsets, ptr %steps, ptr %right, i64 %count, ptr %result, i64 %step, "
    "i64 %rows, i64 %adds"
)


def heights_of(scattered: bool = False) -> tuple[int, ...]:
    """Heights of this machine's tiles, the largest first.

    The last rows of a matrix get the least height that holds them.
    """
    known = SCATTERED_HEIGHTS if scattered else PACKED_HEIGHTS
    return known[register_count()]


def rest_height(rest: int) -> int:
    """The height of the tile for the last rows, fewer than a whole one has."""
    return min(height for height in heights_of() if height >= rest) if rest else 0


def laid_rows(rows: int) -> int:
    """How many rows the panels of so many have, those that are not there included."""
    full, rest = divmod(rows, heights_of()[0])
    return full * heights_of()[0] + rest_height(rest)


class Panels(NamedTuple):
    """How the rows of a left factor are cut: some of full height, then some of another."""

    full: int
    rest_height: int
    rest_count: int

    @property
    def heights(self) -> list[int]:
        """The height of each panel."""
        return [heights_of()[0]] * self.full + [self.rest_height] * self.rest_count


def panels_of(rows: int) -> Panels:
    """Panels for so many rows. Two of 8 rows take less time than one of 12 and one of 4."""
    most, second = heights_of()[:2]
    full, rest = divmod(rows, most)
    if full and 0 < rest <= 2 * second - most:
        return Panels(full - 1, second, 2)
    return Panels(full, rest_height(rest), 1 if rest else 0)


def packed_name(height: int, vectors: int) -> str:
    """The function for a tile whose factors are packed."""
    return f"tile_{height}_{vectors}"


def scattered_name(height: int, vectors: int) -> str:
    """The function for a tile whose left factor lies scattered."""
    return f"scattered_{height}_{vectors}"


def each_panel(
    routine: Routine, heights: tuple[int, ...], rows: Lanes, write: Callable[[Lanes, int], None]
) -> None:
    """Write what is done for each panel of a left factor, from its first row and its height."""
    most = heights[0]
    full = rows // most
    with routine.loop(0, full) as panel:
        write(panel * most, most)
    rest = rows - full * most
    for height, lower in pairwise((*heights, 0)):
        with routine.when(rest.compare("sgt", lower) & rest.compare("sle", height)):
            write(full * most, height)


def each_cut_panel(
    routine: Routine, heights: tuple[int, ...], cut: dict[str, Lanes],
    write: Callable[[Lanes, Lanes, int], None],
) -> None:  # fmt: skip
    """Write what is done for each panel, from its first row, its number, and its height.

    There are `full` panels of the largest height, then `rest_count` of `rest_height`.
    """
    most, full = heights[0], cut["full"]
    with routine.loop(0, full) as panel:
        write(panel * most, panel, most)
    for height in heights:
        is_rest = cut["rest_height"].compare("eq", height)
        with routine.when(is_rest), routine.loop(0, cut["rest_count"]) as panel:
            write(full * most + panel * height, full + panel, height)


def height_of_panel(heights: tuple[int, ...], cut: dict[str, Lanes], panel: Lanes) -> Lanes:
    """How many rows such a panel has."""
    is_full = panel.compare("slt", cut["full"])
    return is_full.where(panel.block.constant("i64", heights[0]), cut["rest_height"])


def rows_before(heights: tuple[int, ...], cut: dict[str, Lanes], panel: Lanes) -> Lanes:
    """How many rows the panels before one have."""
    full = least(panel, cut["full"])
    return full * heights[0] + (panel - full) * cut["rest_height"]


def tile_functions(kind: str, width: int) -> Iterator[Function]:
    """All tiles for a kind of number."""
    for vectors in (1, 2):
        for height in heights_of():
            yield _packed(kind, width, height, vectors)
        for height in heights_of(scattered=True):
            yield _scattered(kind, width, height, vectors)


def summed(
    routine: Routine, starts: list[list[Lanes]], count: Lanes,
    left: Callable[[Lanes, int], Lanes], right: Callable[[Lanes, int], Lanes],
) -> list[list[Lanes]]:  # fmt: skip
    """What a tile's rows start with, and the sums of `left(k, row) * right(k, vector)` over k."""
    totals = [[Variable(start) for start in row] for row in starts]
    with routine.loop(0, count) as k:
        lanes = [right(k, v) for v in range(len(totals[0]))]
        for i, row in enumerate(totals):
            factor = left(k, i)
            for total, other in zip(row, lanes, strict=True):
                total.set(factor.times_plus(other, total.get()))
    return [[total.get() for total in row] for row in totals]


def write_sums(
    routine: Routine, sums: list[list[Lanes]], target: tuple[Address, Lanes], is_whole: Lanes,
    adds: Lanes, inside: Callable[[int, int], Lanes],
) -> None:  # fmt: skip
    """Write a tile's rows, or add them to what is there if `adds` is not zero.

    Args:
        routine: The function.
        sums: The vectors of each row.
        target: Where the first row goes, and how far apart rows are.
        is_whole: Whether all of the tile is there; if not, `inside` says what is of each vector.
        adds, inside: See above.
    """
    (start, step), kind = target, sums[0][0].kind
    block = sums[0][0].block
    places = [
        (start + step * i + v * block.width * BYTES[kind], lanes, (i, v))
        for i, row in enumerate(sums)
        for v, lanes in enumerate(row)
    ]
    with routine.when(is_whole & adds.compare("eq", 0)):
        for at, lanes, _ in places:
            at.store(lanes)
    with routine.when(is_whole & adds.compare("ne", 0)):
        for at, lanes, _ in places:
            at.store(at.lanes(kind, block) + lanes)
    with routine.when(is_whole.compare("eq", 0)):
        is_added = block.splat("i1", adds.compare("ne", 0).name)
        for at, lanes, (i, v) in places:
            bits = inside(i, v)
            at.store_some(lanes + at.load_some(kind, bits & is_added), bits)


def _packed(kind: str, width: int, height: int, vectors: int) -> Function:
    """A tile from a packed left factor (count, height) and vectors of a right factor.

    Vectors of row k are read at `right + steps[k]` and `beside + steps[k]`. The tile's rows start
    at `start`, a number each. Vectors are written to `first` and `second`, with `lanes` and `more`
    lanes; below zero, the lanes go to `places` from there, bytes each.
    """
    routine = Routine(packed_name(height, vectors), PACKED)
    block, item = Block(routine.function, width), BYTES[kind]
    left, start, steps = (routine.address(name) for name in ("left", "start", "steps"))
    vectors_at = [routine.address("right"), routine.address("beside")]
    sums = summed(
        routine,
        [[(start + i * item).spread(kind, block)] * vectors for i in range(height)],
        routine.parameter("count"),
        lambda k, i: (left + k * (height * item) + i * item).spread(kind, block),
        lambda k, v: (vectors_at[v] + steps.load("i64", k)).lanes(kind, block),
    )
    targets = [(routine.address("first"), routine.parameter("lanes"))]
    if vectors == 2:
        targets.append((routine.address("second"), routine.parameter("more")))
    places = routine.address("places")
    for v, (target, lanes) in enumerate(targets):
        column = [row[v] for row in sums]
        with routine.when(lanes.compare("sge", 0)):
            _write_rows(routine, block, kind, target, lanes, column)
        with routine.when(lanes.compare("slt", 0)):
            _write_lanes(routine, kind, places + v * width * 8, target, lanes, column)
    return routine.function


def _write_rows(
    routine: Routine, block: Block, kind: str, target: Address, count: Lanes, column: list[Lanes]
) -> None:
    """Write one vector of each row, whose lanes lie side by side."""
    mask = first_lanes(block, count)
    step, rows, adds = (routine.parameter(name) for name in ("step", "rows", "adds"))
    is_first, is_whole = adds.compare("eq", 0), count.compare("sge", block.width)

    def each(write: Callable[[Address, Lanes], None]) -> None:
        for i, lanes in enumerate(column):
            with routine.when(rows.compare("sgt", i)):
                write(target + step * i, lanes)

    with routine.when(is_first & is_whole):
        each(lambda at, lanes: at.store(lanes))
    with routine.when(is_first & (is_whole ^ True)):
        each(lambda at, lanes: at.store_some(lanes, mask))
    with routine.when((is_first ^ True) & is_whole):
        each(lambda at, lanes: at.store(at.lanes(kind, block) + lanes))
    with routine.when((is_first | is_whole) ^ True):
        each(lambda at, lanes: at.store_some(at.load_some(kind, mask) + lanes, mask))


def _write_lanes(
    routine: Routine, kind: str, places: Address, target: Address, lanes: Lanes,
    column: list[Lanes],
) -> None:  # fmt: skip
    """Write one vector of each row, lane by lane, each to its own place."""
    block = column[0].block
    step, rows, adds = (routine.parameter(name) for name in ("step", "rows", "adds"))
    room = routine.room(block.vector(kind), len(column))
    size = BYTES[kind] * block.width
    for number, row in enumerate(column):
        (room + number * size).store(row)
    present = least(rows, len(column))
    count = -lanes
    with routine.loop(0, count) as lane, routine.loop(0, present) as i:
        value = (room + i * size + lane * BYTES[kind]).load(kind)
        at = target + step * i + places.load("i64", lane)
        with routine.when(adds.compare("ne", 0)):
            at.store(at.load(kind) + value)
        with routine.when(adds.compare("eq", 0)):
            at.store(value)


def _scattered(kind: str, width: int, height: int, vectors: int) -> Function:
    """A tile whose left factor's elements lie at `left + offsets[row] + steps[k]`.

    The right factor is packed (count, 2 vectors); whole vectors are written to `result`, whose
    rows are `step` bytes apart.
    """
    routine = Routine(scattered_name(height, vectors), SCATTERED)
    block, item = Block(routine.function, width), BYTES[kind]
    left, right = routine.address("left"), routine.address("right")
    steps, result = routine.address("steps"), routine.address("result")
    offsets = [routine.address("offsets").load("i64", i) for i in range(height)]
    step, rows, adds = (routine.parameter(name) for name in ("step", "rows", "adds"))
    here: dict[str, Address] = {}

    def factor(k: Lanes, i: int) -> Lanes:
        if k.name not in here:
            here[k.name] = left + steps.load("i64", k)
        return (here[k.name] + offsets[i]).spread(kind, block)

    sums = summed(
        routine, [[block.constant(kind, 0)] * vectors] * height, routine.parameter("count"), factor,
        lambda k, v: (right + k * (2 * width * item) + v * width * item).lanes(kind, block),
    )  # fmt: skip
    for i, row in enumerate(sums):
        with routine.when(rows.compare("sgt", i)):
            for v, lanes in enumerate(row):
                at = result + step * i + v * width * item
                with routine.when(adds.compare("ne", 0)):
                    at.store(at.lanes(kind, block) + lanes)
                with routine.when(adds.compare("eq", 0)):
                    at.store(lanes)
    return routine.function
