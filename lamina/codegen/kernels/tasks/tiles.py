"""The micro-kernels: a tile of a matrix product is summed up in registers.

A tile has a few rows and one or two vectors of columns. For each step of the inner dimension, the
vectors of the right factor are multiplied by one number of the left factor for each row. With
12 rows and two vectors there are 24 sums, which leaves registers for the operands and hides the
latency of the multiplications.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from lamina.codegen.kernels.tasks.addresses import BYTES, Address, Routine, Whole
from lamina.codegen.llvm.ir import Block, Function, Lanes

PACKED_HEIGHTS: Final = {64: (12, 8, 4)}
SCATTERED_HEIGHTS: Final = {64: (8, 4)}
"""Heights of tiles, by a vector's bytes: machines with such vectors have 32 registers for them.

With a scattered left factor LLVM loads all numbers of a column first, which takes registers too.
"""

FEW_REGISTERS: Final = (4,)
"""The height where there may be 16 registers."""

PACKED: Final = (
    "ptr %left, ptr %right, ptr %beside, ptr %steps, i64 %count, ptr %first, ptr %second, "
    "i64 %lanes, i64 %more, "
    "i64 %step, i64 %rows, ptr %start, i64 %adds, ptr %places"
)
SCATTERED: Final = (
    "ptr %left, ptr %offsets, ptr %steps, ptr %right, i64 %count, ptr %result, i64 %step, "
    "i64 %rows, i64 %adds"
)


def heights_of(vector: int, scattered: bool = False) -> tuple[int, ...]:
    """Heights of tiles for vectors of so many bytes, the largest first.

    The last rows of a matrix get the least height that holds them.
    """
    known = SCATTERED_HEIGHTS if scattered else PACKED_HEIGHTS
    return known.get(vector, FEW_REGISTERS)


def packed_name(height: int, vectors: int) -> str:
    """The function for a tile whose factors are packed."""
    return f"tile_{height}_{vectors}"


def scattered_name(height: int, vectors: int) -> str:
    """The function for a tile whose left factor lies scattered."""
    return f"scattered_{height}_{vectors}"


def tile_functions(kind: str, width: int) -> Iterator[Function]:
    """All tiles for a kind of number."""
    vector = width * BYTES[kind]
    for vectors in (1, 2):
        for height in heights_of(vector):
            yield _packed(kind, width, height, vectors)
        for height in heights_of(vector, scattered=True):
            yield _scattered(kind, width, height, vectors)


def _sums(
    routine: Routine, block: Block, kind: str, starts: list[Lanes], count: Whole,
    left: Callable[[Whole, int], Lanes], right: Callable[[Whole, int], Lanes], vectors: int,
) -> list[list[Lanes]]:  # fmt: skip
    """The sums of `left(k, row) * right(k, vector)` over k, row by row."""
    vector = block.vector(kind)
    function = routine.function
    places = [[routine.variable(vector) for _ in range(vectors)] for _ in starts]
    for row, start in zip(places, starts, strict=True):
        for place in row:
            function.line(f"store {vector} {start.name}, ptr {place}")
    with routine.loop(0, count) as k:
        lanes = [right(k, v) for v in range(vectors)]
        for i, row in enumerate(places):
            factor = left(k, i)
            for place, other in zip(row, lanes, strict=True):
                total = block.give(kind, f"load {vector}, ptr {place}")
                function.line(f"store {vector} {factor.times_plus(other, total).name}, ptr {place}")
    return [[block.give(kind, f"load {vector}, ptr {place}") for place in row] for row in places]


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
    sums = _sums(
        routine, block, kind,
        [(start + i * item).spread(block, kind) for i in range(height)],
        routine.whole("count"),
        lambda k, i: (left + k * (height * item) + i * item).spread(block, kind),
        lambda k, v: (vectors_at[v] + steps.whole(k)).lanes(block, kind),
        vectors,
    )  # fmt: skip
    targets = [(routine.address("first"), routine.whole("lanes"))]
    if vectors == 2:
        targets.append((routine.address("second"), routine.whole("more")))
    places = routine.address("places")
    for v, (target, lanes) in enumerate(targets):
        column = [row[v] for row in sums]
        with routine.when(lanes.is_("sge", 0)):
            _write_rows(routine, block, kind, target, lanes, column)
        with routine.when(lanes.is_("slt", 0)):
            _write_lanes(routine, kind, places + v * width * 8, target, lanes, column)
    return routine.function


def _write_rows(
    routine: Routine, block: Block, kind: str, target: Address, count: Whole, column: list[Lanes]
) -> None:
    """Write one vector of each row, whose lanes lie side by side."""
    mask = routine.mask(block, count)
    step, rows, adds = routine.whole("step"), routine.whole("rows"), routine.whole("adds")
    zero = block.constant(kind, 0)
    with routine.when(adds.is_("eq", 0)):
        for i, lanes in enumerate(column):
            with routine.when(rows.is_("sgt", i)):
                (target + step * i).put_some(lanes, mask)
    with routine.when(adds.is_("ne", 0)):
        for i, lanes in enumerate(column):
            with routine.when(rows.is_("sgt", i)):
                at = target + step * i
                at.put_some(at.some_lanes(mask, zero) + lanes, mask)


def _write_lanes(
    routine: Routine, kind: str, places: Address, target: Address, lanes: Whole,
    column: list[Lanes],
) -> None:  # fmt: skip
    """Write one vector of each row, lane by lane, each to its own place."""
    block = column[0].block
    step, rows, adds = routine.whole("step"), routine.whole("rows"), routine.whole("adds")
    room = Address(routine, routine.variable(f"[{len(column)} x {block.vector(kind)}]"))
    size = BYTES[kind] * block.width
    for number, row in enumerate(column):
        (room + number * size).put(row)
    present = rows.least(len(column))
    count = routine.whole(0) - lanes
    with routine.loop(0, count) as lane, routine.loop(0, present) as i:
        value = (room + i * size + lane * BYTES[kind]).scalar(kind)
        at = target + step * i + places.whole(lane)
        with routine.when(adds.is_("ne", 0)):
            total = routine.function.give(f"fadd {kind} {at.scalar(kind)}, {value}")
            at.put_scalar(kind, total)
        with routine.when(adds.is_("eq", 0)):
            at.put_scalar(kind, value)


def _scattered(kind: str, width: int, height: int, vectors: int) -> Function:
    """A tile whose left factor's elements lie at `left + offsets[row] + steps[k]`.

    The right factor is packed (count, 2 vectors); whole vectors are written to `result`, whose
    rows are `step` bytes apart.
    """
    routine = Routine(scattered_name(height, vectors), SCATTERED)
    block, item = Block(routine.function, width), BYTES[kind]
    left, right = routine.address("left"), routine.address("right")
    steps, result = routine.address("steps"), routine.address("result")
    offsets = [routine.address("offsets").whole(i) for i in range(height)]
    step, rows, adds = routine.whole("step"), routine.whole("rows"), routine.whole("adds")
    here: dict[str, Address] = {}

    def factor(k: Whole, i: int) -> Lanes:
        if k.name not in here:
            here[k.name] = left + steps.whole(k)
        return (here[k.name] + offsets[i]).spread(block, kind)

    zero = block.constant(kind, 0)
    sums = _sums(
        routine, block, kind, [zero] * height, routine.whole("count"), factor,
        lambda k, v: (right + k * (2 * width * item) + v * width * item).lanes(block, kind),
        vectors,
    )  # fmt: skip
    for i, row in enumerate(sums):
        with routine.when(rows.is_("sgt", i)):
            for v, lanes in enumerate(row):
                at = result + step * i + v * width * item
                with routine.when(adds.is_("ne", 0)):
                    at.put(at.lanes(block, kind) + lanes)
                with routine.when(adds.is_("eq", 0)):
                    at.put(lanes)
    return routine.function
