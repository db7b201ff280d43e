"""Sums of large arrays, in parts. Four numbers are added up, and their sum is added in float64.

So rounding errors do not grow with the number of elements, and most additions work on whole vectors
of float32. An array has the shape (outer, length, beside), and is summed along its length, which is
cut in parts. How it is cut depends on the sizes alone, so any number of threads gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina.codegen.kernels.tasks.routines import Routine
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
    with routine.counting(routine.parameter("begin"), routine.parameter("end")) as piece:
        outer, begin, end = _part(routine, piece)
        source = routine.at(routine.entry(SOURCE, "ptr"), outer * routine.entry(LENGTH), kind)
        whole = begin + ((end - begin) & -step)
        total = routine.variable(block.constant("double", 0))
        with routine.counting(begin, whole, step) as index:
            found = [routine.load(source, index + k * lanes, kind, block) for k in range(FOUR)]
            total.set(total.get() + _wide(_added(found)))
        with routine.counting(whole, end, lanes) as index:
            bits = routine.first_lanes(block, end - index)
            total.set(total.get() + _wide(routine.load_some(source, index, kind, bits)))
        routine.store(_together(routine, total.get()), routine.entry(PARTS, "ptr"), piece)
    return routine.function


def write_beside(kind: str, lanes: int) -> Function:
    """The task `beside`, for lines that lie side by side; its pieces are strips of parts."""
    routine = Routine("beside")
    block = Block(routine.function, lanes)
    beside = routine.entry(BESIDE)
    strips = (beside + (STRIP - 1)).op("sdiv", STRIP)
    with routine.counting(routine.parameter("begin"), routine.parameter("end")) as piece:
        part = piece.op("sdiv", strips)
        first = (piece - part * strips) * STRIP
        last = first + STRIP
        last = last.compare("slt", beside).where(last, beside)
        outer, begin, end = _part(routine, part)
        source = routine.at(
            routine.entry(SOURCE, "ptr"), outer * routine.entry(LENGTH) * beside, kind
        )
        sums = routine.at(routine.entry(PARTS, "ptr"), part * beside, "double")
        with routine.counting(first, last) as column:
            routine.store(routine.numbers.constant("double", 0), sums, column)

        full = first + ((last - first) & -lanes)
        rest = routine.first_lanes(block, last - full)

        def add(row: Lanes, count: int) -> None:
            rows = [routine.at(source, (row + k) * beside, kind) for k in range(count)]
            with routine.counting(first, full, lanes) as column:
                found = [routine.load(each, column, kind, block) for each in rows]
                total = routine.load(sums, column, "double", block)
                routine.store(total + _wide(_added(found)), sums, column)
            with routine.when(full.compare("ne", last)):
                found = [routine.load_some(each, full, kind, rest) for each in rows]
                total = routine.load_some(sums, full, "double", rest)
                routine.store_some(total + _wide(_added(found)), sums, full, rest)

        whole = begin + ((end - begin) & -FOUR)
        with routine.counting(begin, whole, FOUR) as row:
            add(row, FOUR)
        with routine.counting(whole, end) as row:
            add(row, 1)
    return routine.function


def _part(routine: Routine, piece: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Which line a part belongs to, and where it begins and ends there."""
    count, size, length = (routine.entry(k) for k in (COUNT, SIZE, LENGTH))
    outer = piece.op("sdiv", count)
    begin = (piece - outer * count) * size
    end = begin + size
    return outer, begin, end.compare("slt", length).where(end, length)


def _added(lanes: Sequence[Lanes]) -> Lanes:
    """One vector, or the sum of four."""
    return lanes[0] if len(lanes) == 1 else (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def _wide(lanes: Lanes) -> Lanes:
    return lanes if lanes.kind == "double" else lanes.convert("fpext", "double")


def _together(routine: Routine, lanes: Lanes) -> Lanes:
    """The sum of all lanes, added up in pairs."""
    name = f"@llvm.vector.reduce.fadd.v{lanes.block.width}f64"
    vector = lanes.block.vector("double")
    routine.function.declare(f"double {name}(double, {vector})")
    text = f"call reassoc double {name}(double 0.0, {vector} {lanes.name})"
    return routine.numbers.give("double", text)
