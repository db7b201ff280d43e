"""Sums of large arrays, in parts. Four numbers are added up, and their sum is added in float64.

So rounding errors do not grow with the number of elements, and most additions work on whole vectors
of float32. An array has the shape (outer, length, beside), and is summed along its length, which is
cut in parts. How it is cut depends on the sizes alone, so any number of threads gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina.codegen.kernels.tasks.routines import Routine, Variable, first_lanes, least, sum_of
from lamina.codegen.llvm.ir import Block, Function, Lanes

SOURCE, PARTS, LENGTH, BESIDE, SIZE, COUNT = range(6)
"""The entries of a task's table: the array, the sums of the parts with shape (outer, count,
beside), the length and how many lie side by side, the length of a part, and how many parts a line
has.
"""

FOUR: Final = 4
STRIP: Final = 2048
"""How many sums side by side a piece has: they stay in the innermost caches."""


def write_lines(kind: str, lanes: int) -> Function:
    """The task `lines`, for numbers that follow on each other; its pieces are parts of lines."""
    routine = Routine("lines")
    block = Block(routine.function, lanes)
    step = FOUR * lanes
    with routine.pieces() as piece:
        outer, begin, end = _part(routine, piece)
        source = routine.entry_address(SOURCE).at(kind, outer * routine.entry(LENGTH))
        whole = begin + ((end - begin) & -step)
        total = Variable(block.constant("double", 0))
        with routine.loop(begin, whole, step) as index:
            found = [source.lanes(kind, block, index + k * lanes) for k in range(FOUR)]
            total.set(total.get() + _wide(_added(found)))
        with routine.loop(whole, end, lanes) as index:
            bits = first_lanes(block, end - index)
            total.set(total.get() + _wide(source.load_some(kind, bits, index)))
        routine.entry_address(PARTS).store(sum_of(total.get()), piece)
    return routine.function


def write_beside(kind: str, lanes: int) -> Function:
    """The task `beside`, for lines that lie side by side; its pieces are strips of parts."""
    routine = Routine("beside")
    block = Block(routine.function, lanes)
    beside = routine.entry(BESIDE)
    strips = (beside + (STRIP - 1)) // STRIP
    with routine.pieces() as piece:
        part = piece // strips
        first = (piece - part * strips) * STRIP
        last = first + STRIP
        last = least(last, beside)
        outer, begin, end = _part(routine, part)
        source = routine.entry_address(SOURCE).at(kind, outer * routine.entry(LENGTH) * beside)
        sums = routine.entry_address(PARTS).at("double", part * beside)
        with routine.loop(first, last) as column:
            sums.store(routine.number(0, "double"), column)

        full = first + ((last - first) & -lanes)
        rest = first_lanes(block, last - full)

        def add(row: Lanes, count: int) -> None:
            rows = [source.at(kind, (row + k) * beside) for k in range(count)]
            with routine.loop(first, full, lanes) as column:
                found = [each.lanes(kind, block, column) for each in rows]
                total = sums.lanes("double", block, column)
                sums.store(total + _wide(_added(found)), column)
            with routine.when(full.compare("ne", last)):
                found = [each.load_some(kind, rest, full) for each in rows]
                total = sums.load_some("double", rest, full)
                sums.store_some(total + _wide(_added(found)), rest, full)

        whole = begin + ((end - begin) & -FOUR)
        with routine.loop(begin, whole, FOUR) as row:
            add(row, FOUR)
        with routine.loop(whole, end) as row:
            add(row, 1)
    return routine.function


def _part(routine: Routine, piece: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Which line a part belongs to, and where it begins and ends there."""
    count, size, length = (routine.entry(k) for k in (COUNT, SIZE, LENGTH))
    outer = piece // count
    begin = (piece - outer * count) * size
    end = begin + size
    return outer, begin, least(end, length)


def _added(lanes: Sequence[Lanes]) -> Lanes:
    """One vector, or the sum of four."""
    return lanes[0] if len(lanes) == 1 else (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def _wide(lanes: Lanes) -> Lanes:
    return lanes if lanes.kind == "double" else lanes.convert("fpext", "double")
