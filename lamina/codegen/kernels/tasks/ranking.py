"""Sorting short lines: the rank of a number is how many others come before it.

For a line of n numbers that takes n * n comparisons, but a vector does 8 or 16 at once and nothing
has to be predicted: up to 128 numbers that is faster than sorting by digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina.codegen.kernels.tasks.routines import BYTES, Routine
from lamina.codegen.kernels.tasks.sorting import (
    FLIP,
    LENGTH,
    PLACES,
    ROOM,
    SCRATCH,
    SOURCE,
    VALUES,
    Keys,
)
from lamina.codegen.llvm.ir import Block, Lanes

LONGEST: Final = 128
"""The longest line that is sorted by ranks."""


def room(keys: Keys, lanes: int) -> int:
    """Bytes of memory that a worker needs."""
    return 2 * (LONGEST + lanes) * BYTES[keys.kind]


def write_ranking(keys: Keys, lanes: int) -> Routine:
    """The task `ranks`, which sorts some lines.

    A worker's memory holds what a line is ordered by, filled up to whole vectors, and then the
    ranks, each as wide as a key.
    """
    routine = Routine("ranks")
    width = lanes * 32 // int(keys.kind[1:])
    block = Block(routine.function, width)
    length, size = routine.entry(LENGTH), keys.bits // 8
    flip = routine.entry(FLIP)
    flip = flip if keys.kind == "i64" else flip.convert("trunc", "i32")
    work = routine.at(
        routine.entry(SCRATCH, "ptr"), routine.parameter("worker") * routine.entry(ROOM), "i8"
    )
    ranks = routine.at(work, routine.number(LONGEST + lanes), keys.kind)
    zero = routine.number(0)
    with routine.counting(routine.parameter("begin"), routine.parameter("end")) as row:
        first = row * length
        source = routine.at(routine.entry(SOURCE, "ptr"), first * size, "i8")
        values = routine.at(routine.entry(VALUES, "ptr"), first * size, "i8")
        places = routine.at(routine.entry(PLACES, "ptr"), first, "i64")
        with routine.counting(zero, length) as index:
            routine.store(keys.of(keys.read(routine, source, index), flip), work, index)
        routine.store(block.constant(keys.kind, -1), work, length)
        with routine.counting(zero, length, width) as index:
            _rank(routine, block, keys.kind, work, ranks, index, length)
        with routine.counting(zero, length) as index:
            rank = routine.load(ranks, index, keys.kind)
            rank = rank if rank.kind == "i64" else rank.convert("zext", "i64")
            keys.write(routine, keys.read(routine, source, index), values, rank)
            routine.store(index, places, rank)
    return routine


def _rank(
    routine: Routine, block: Block, kind: str, keys: Lanes, ranks: Lanes, index: Lanes,
    length: Lanes,
) -> None:  # fmt: skip
    """The ranks of one vector of keys: equal ones count if they are earlier."""
    own = routine.load(keys, index, kind, block)
    rank = routine.variable(block.constant(kind, 0))

    def count(other: Lanes, is_earlier: Sequence[bool]) -> None:
        key = block.splat(kind, routine.load(keys, other, kind).name)
        earlier = block.listed("i1", is_earlier)
        comes_before = earlier.where(key.compare("ule", own), key.compare("ult", own))
        rank.set(rank.get() + comes_before.convert("zext", kind))

    with routine.counting(routine.number(0), index) as other:
        count(other, [True] * block.width)
    for lane in range(block.width):
        count(index + lane, [place > lane for place in range(block.width)])
    with routine.counting(index + block.width, length) as other:
        count(other, [False] * block.width)
    routine.store(rank.get(), ranks, index)
