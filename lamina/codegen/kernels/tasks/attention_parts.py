"""What the tasks of attention are made of: factors laid out, products of blocks, masks.

A block of scores has a row for each key, and the queries side by side in two vectors. So the
largest score of a query, its sum and its scaling are lanes, which no step has to add up across.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from lamina.codegen.kernels.tasks.packing import transposed
from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, first_lanes, least
from lamina.codegen.kernels.tasks.tiles import each_panel, packed_name
from lamina.codegen.llvm.ir import Block, Function, Lanes

ROWS: Final = "ptr %source, i64 %step, i64 %rows, i64 %lanes, ptr %target, i64 %across"
MASK: Final = "ptr %source, i64 %step, i64 %key_step, i64 %queries, i64 %keys, ptr %target"
TURNED: Final = "ptr %source, i64 %rows, i64 %columns, ptr %target, i64 %step, i64 %adds"
WRITTEN: Final = "ptr %source, i64 %across, i64 %rows, i64 %count, ptr %target, i64 %step"

MASKS: Final = {"float": 1, "double": 1, "i8": 2}
"""By what number a task's table names the kind of mask: one of numbers, or of truth values."""


def part_functions(kind: str, width: int) -> list[Function]:
    """The functions that the tasks of attention call, for a kind of number."""
    return [
        _lay_rows(kind, width),
        _write_turned(kind, width),
        _write_rows(kind, width),
        _lay_mask(kind, width, kind),
        _lay_mask(kind, width, "i8"),
    ]


# --- factors -------------------------------------------------------------------------------------


def _lay_rows(kind: str, width: int) -> Function:
    """Copy the first lanes of some rows, a vector each, `across` bytes apart: `lay_rows`.

    Whole vectors are written, with zeros behind the lanes: what lies there is overwritten by the
    next row, or left over.
    """
    routine = Routine("lay_rows", ROWS)
    block = Block(routine.function, width)
    source, target = routine.address("source"), routine.address("target")
    step, across = routine.parameter("step"), routine.parameter("across")
    mask = first_lanes(block, routine.parameter("lanes"))
    with routine.loop(0, routine.parameter("rows")) as row:
        (target + row * across).store((source + row * step).load_some(kind, mask))
    return routine.function


def lay_column_panel(
    routine: Routine, kind: str, width: int, height: int,
    source: Address, step: Lanes, count: Lanes, columns: Lanes, target: Address,
) -> None:  # fmt: skip
    """A panel of a left factor whose rows are columns of memory: `height` numbers a step."""
    item = BYTES[kind]
    for first in reversed(range(0, height, width)):  # so that what is left over is overwritten
        routine.call(
            "lay_rows", source + first * item, step, count, columns - first,
            target + first * item, height * item,
        )  # fmt: skip


def lay_row_panel(
    routine: Routine, kind: str, width: int, height: int,
    source: Address, step: Lanes, rows: Lanes, count: Lanes, target: Address,
) -> None:  # fmt: skip
    """A panel of a left factor whose rows are rows of memory: `height` numbers a step."""
    item = BYTES[kind]
    for first in reversed(range(0, height, width)):
        routine.call(
            "turn", source + step * first, step, rows - first, count,
            target + first * item, height * item,
        )  # fmt: skip


def lay_queries(
    routine: Routine, block: Block, kind: str,
    source: Address, step: Lanes, count: Lanes, size: Lanes, target: Address,
) -> None:  # fmt: skip
    """Rows of `size` numbers side by side, in two vectors a number."""
    vector = block.width * BYTES[kind]
    for v in range(2):
        routine.call(
            "turn", source + step * (v * block.width), step, count - v * block.width, size,
            target + v * vector, 2 * vector,
        )  # fmt: skip


def whole_panels(rows: Lanes, heights: tuple[int, ...]) -> Lanes:
    """Rows of the panels of full height that hold so many: they must be read as they were laid."""
    return (rows + (heights[0] - 1)) // heights[0] * heights[0]


def multiply(
    routine: Routine, heights: tuple[int, ...], item: int, vectors: int,
    left: Address, left_row: Lanes, rows: Lanes, count: Lanes,
    right: Address, steps: Address, zeros: Address, target: Address, width: int, adds: Lanes | int,
) -> None:  # fmt: skip
    """A product by micro-kernels; right factor and target have two vectors a row."""
    vector = width * item

    def write(first: Lanes, height: int) -> None:
        home = target + first * (2 * vector)
        routine.call(
            packed_name(height, vectors), left + first * left_row, right, right + vector, steps,
            count, home, home + vector, width, width, 2 * vector, rows - first, zeros, adds, zeros,
        )  # fmt: skip

    each_panel(routine, heights, rows, write)


def _write_turned(kind: str, width: int) -> Function:
    """Write `columns` columns of a block with two vectors a row as rows: `write_turned`."""
    routine = Routine("write_turned", TURNED)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    rows, columns, step = (routine.parameter(name) for name in ("rows", "columns", "step"))
    is_first = routine.parameter("adds").compare("eq", 0)
    with routine.loop(0, columns, width) as column, routine.loop(0, rows, width) as row:
        start = source + row * (2 * width * item) + column * item
        lanes = [
            (start + k * 2 * width * item).load_some(kind, _all_if(block, (row + k), rows))
            for k in range(width)
        ]
        mask = first_lanes(block, rows - row)
        for k, turned in enumerate(transposed(lanes)):
            with routine.when((column + k).compare("slt", columns)):
                home = target + (column + k) * step + row * item
                with routine.when(is_first):
                    home.store_some(turned, mask)
                with routine.when(is_first ^ True):
                    home.store_some(home.load_some(kind, mask) + turned, mask)
    return routine.function


def _all_if(block: Block, index: Lanes, end: Lanes) -> Lanes:
    return block.splat("i1", index.compare("slt", end).name)


def _write_rows(kind: str, width: int) -> Function:
    """Write the first `count` numbers of rows, which lie `across` bytes apart: `write_rows`."""
    routine = Routine("write_rows", WRITTEN)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    across, step = routine.parameter("across"), routine.parameter("step")
    count = routine.parameter("count")
    with (
        routine.loop(0, routine.parameter("rows")) as row,
        routine.loop(0, count, width) as column,
    ):
        lanes = (source + row * across + column * item).lanes(kind, block)
        home = target + row * step + column * item
        home.store_some(lanes, first_lanes(block, count - column))
    return routine.function


# --- masks ---------------------------------------------------------------------------------------


def mask_name(source: str) -> str:
    """The function that lays out a mask of such elements."""
    return "lay_flags" if source == "i8" else "lay_mask"


def _lay_mask(kind: str, width: int, source_kind: str) -> Function:
    """What is added to a block of scores, in their order, from a mask with any steps."""
    routine = Routine(mask_name(source_kind), MASK)
    block, item = Block(routine.function, width), BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    step, key_step = routine.parameter("step"), routine.parameter("key_step")
    keys = routine.parameter("keys")
    across = 2 * width * item

    def added(lanes: Lanes) -> Lanes:
        if source_kind != "i8":
            return lanes
        zero = lanes.block.constant(kind, 0.0)
        return lanes.compare("ne", 0).where(zero, -math.inf)

    is_same, is_dense = step.compare("eq", 0), key_step.compare("eq", BYTES[source_kind])
    with routine.when(is_same), routine.loop(0, keys) as key:
        one = added((source + key * key_step).load(source_kind))
        for v in range(2):
            (target + key * across + v * width * item).store(block.splat(kind, one.name))
    with routine.when((is_same ^ True) & is_dense):
        _lay_squares(routine, block, kind, source_kind, added)
    with (
        routine.when((is_same | is_dense) ^ True),
        routine.loop(0, routine.parameter("queries")) as query,
        routine.loop(0, keys) as key,
    ):
        one = added((source + query * step + key * key_step).load(source_kind))
        (target + key * across + query * item).store(one)
    return routine.function


def _lay_squares(
    routine: Routine, block: Block, kind: str, source_kind: str, added: Callable[[Lanes], Lanes]
) -> None:
    """Squares of a mask whose keys lie side by side, turned."""
    width, item = block.width, BYTES[kind]
    source, target = routine.address("source"), routine.address("target")
    step, keys, queries = (routine.parameter(name) for name in ("step", "keys", "queries"))
    with routine.loop(0, queries, width) as query, routine.loop(0, keys, width) as key:
        inside = first_lanes(block, keys - key)
        lanes = []
        for k in range(width):
            row = least(query + k, queries - 1)  # what is read twice belongs to no query
            start = source + row * step + key * BYTES[source_kind]
            lanes.append(added(start.load_some(source_kind, inside)))
        for k, turned in enumerate(transposed(lanes)):
            with routine.when((key + k).compare("slt", keys)):
                (target + (key + k) * (2 * width * item) + query * item).store(turned)


def mask_scores(
    routine: Routine, block: Block, kind: str, vectors: int, numbers: dict[str, Lanes],
    scores: Address, room: Address, mask: Address,
    queries: tuple[Lanes, Lanes], keys: tuple[Lanes, Lanes],
) -> None:  # fmt: skip
    """Add the mask, if there is one, to a block of scores; take what lies in the future away."""
    (first, count), (key, present) = queries, keys
    vector = block.width * BYTES[kind]
    start = mask + first * numbers["mask_row"] + key * numbers["mask_column"]
    for source in (kind, "i8"):
        with routine.when(numbers["mask_kind"].compare("eq", MASKS[source])):
            routine.call(
                mask_name(source), start, numbers["mask_row"], numbers["mask_column"], count,
                present, room,
            )  # fmt: skip
    with (
        routine.when(numbers["mask_kind"].compare("ne", 0)),
        routine.loop(0, present) as row,
    ):
        for v in range(vectors):
            far = row * (2 * vector) + v * vector
            score = (scores + far).lanes(kind, block) + (room + far).lanes(kind, block)
            (scores + far).store(score)
    is_causal = numbers["is_causal"].compare("ne", 0)
    with (
        routine.when(is_causal & (key + present - 1).compare("sgt", first)),
        routine.loop(0, present) as row,
    ):
        for v in range(vectors):
            at = scores + row * (2 * vector) + v * vector
            past = key + row - first - v * block.width  # the first lane that sees the key
            hidden = first_lanes(block, past)
            at.store(hidden.where(-math.inf, at.lanes(kind, block)))


def lay_kept(
    routine: Routine, numbers: dict[str, Lanes], kept: Address, room: Address,
    queries: tuple[Lanes, Lanes], keys: tuple[Lanes, Lanes],
) -> None:  # fmt: skip
    """Lay out which weights of a block are kept: 0 for those, and minus infinity."""
    start = kept + queries[0] * numbers["kept_row"] + keys[0]
    routine.call(mask_name("i8"), start, numbers["kept_row"], 1, queries[1], keys[1], room)


def drop(
    routine: Routine, block: Block, kind: str, vectors: int, factor: Lanes, room: Address,
    target: Address, present: Lanes,
) -> None:  # fmt: skip
    """Scale the numbers of a block that belong to kept weights; the others become zero."""
    vector = block.width * BYTES[kind]
    with routine.loop(0, present) as row:
        for v in range(vectors):
            far = row * (2 * vector) + v * vector
            is_kept = (room + far).lanes(kind, block).compare("oeq", 0.0)
            at = target + far
            at.store(is_kept.where(at.lanes(kind, block) * factor, 0.0))
