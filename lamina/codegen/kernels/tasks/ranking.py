"""Sorting short lines: the rank of a number is how many others come before it.

For a line of n numbers that takes n * n comparisons, but a vector does 8 or 16 at once and nothing
has to be predicted: up to 128 numbers that is faster than sorting by digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, Variable
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
    work = routine.entry_address(SCRATCH) + routine.parameter("worker") * routine.entry(ROOM)
    ranks = work.at(keys.kind, LONGEST + lanes)
    with routine.pieces() as row:
        first = row * length
        source = routine.entry_address(SOURCE) + first * size
        values = routine.entry_address(VALUES) + first * size
        places = routine.entry_address(PLACES).at("i64", first)
        with routine.loop(0, length) as index:
            work.store(keys.of(keys.read(source, index), flip), index)
        work.store(block.constant(keys.kind, -1), length)
        with routine.loop(0, length, width) as index:
            _rank(routine, block, keys.kind, work, ranks, index, length)
        with routine.loop(0, length) as index:
            rank = ranks.load(keys.kind, index)
            rank = rank if rank.kind == "i64" else rank.convert("zext", "i64")
            keys.write(keys.read(source, index), values, rank)
            places.store(index, rank)
    return routine


def _rank(
    routine: Routine, block: Block, kind: str, keys: Address, ranks: Address, index: Lanes,
    length: Lanes,
) -> None:  # fmt: skip
    """The ranks of one vector of keys: equal ones count if they are earlier."""
    own = keys.lanes(kind, block, index)
    rank = Variable(block.constant(kind, 0))

    def count(other: Lanes, is_earlier: Sequence[bool]) -> None:
        key = block.splat(kind, keys.load(kind, other).name)
        earlier = block.listed("i1", is_earlier)
        comes_before = earlier.where(key.compare("ule", own), key.compare("ult", own))
        rank.set(rank.get() + comes_before.convert("zext", kind))

    with routine.loop(0, index) as other:
        count(other, [True] * block.width)
    for lane in range(block.width):
        count(index + lane, [place > lane for place in range(block.width)])
    with routine.loop(index + block.width, length) as other:
        count(other, [False] * block.width)
    ranks.store(rank.get(), index)
