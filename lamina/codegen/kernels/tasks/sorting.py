"""Sorting lines of numbers: by digits, stable, with the places that the numbers had.

Numbers become whole numbers of the same order (`Keys`). A line is sorted by its least digit of
eight bits first, then by the next, each time keeping the order of equal digits. Digits that are the
same in all of a line are left out. On the way a number and its place travel together, as a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from lamina.codegen.kernels.tasks.routines import BYTES, Routine
from lamina.codegen.llvm.ir import Block, Function, Lanes

DIGITS: Final = 256
"""How many values a digit has: so many runs of memory fit into the innermost cache."""

COUNTER: Final = 4
"""Bytes of a counter of digits: a line has fewer than 2**31 numbers."""

SOURCE, VALUES, PLACES, FLIP, LENGTH, SCRATCH, ROOM = range(7)
"""The entries of a task's table: the numbers, where they go in order, where their places go, what
turns the order round, the numbers in a line, memory for the work, and its bytes for each worker.
"""


@final
@dataclass(frozen=True)
class Keys:
    """Numbers of one kind, and what they are ordered by.

    Attributes:
        bits: How many a number has.
        is_float: Whether they are floating-point numbers. Zeros are equal, and so are those that
            are not numbers, which are the largest.
    """

    bits: int
    is_float: bool

    @property
    def memory(self) -> str:
        """A number in memory."""
        return f"i{self.bits}"

    @property
    def kind(self) -> str:
        """A number in a register."""
        return f"i{max(self.bits, 32)}"

    @property
    def digits(self) -> int:
        """How many digits a number has."""
        return self.bits // 8

    @property
    def pair(self) -> int:
        """Bytes of a number with its place."""
        return 16 if self.bits == 64 else 8

    def read(
        self, routine: Routine, base: Lanes, index: Lanes, block: Block | None = None
    ) -> Lanes:
        """Numbers from memory on."""
        found = routine.load(base, index, self.memory, block)
        return found if self.bits >= 32 else found.convert("zext", self.kind)

    def write(self, routine: Routine, number: Lanes, base: Lanes, index: Lanes) -> None:
        """A number into memory."""
        if self.bits < 32:
            number = number.convert("trunc", self.memory)
        routine.store(number, base, index)

    def of(self, bits: Lanes, flip: Lanes) -> Lanes:
        """What numbers are ordered by, as whole numbers without a sign."""
        if not self.is_float:
            return bits ^ flip
        sign = 1 << (self.bits - 1)
        infinity = 0x7F800000 if self.bits == 32 else 0x7FF0000000000000
        size = bits & (sign - 1)
        bits = size.compare("eq", 0).where(size, bits)
        turned = bits ^ ((bits >> (self.bits - 1)) | sign)
        return size.compare("ugt", infinity).where(-1, turned) ^ flip


def room(keys: Keys, length: int) -> int:
    """Bytes of memory that a worker needs for lines of a length."""
    return keys.digits * DIGITS * COUNTER + 2 * length * keys.pair


@final
class SortWriter:
    """Writes the tasks that sort lines of one kind of numbers.

    Args:
        keys: The numbers.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self._movers = {
            (first, last): self._write_mover(first, last)
            for first in (True, False)
            for last in (True, False)
        }

    def functions(self) -> Sequence[Function]:
        """All tasks, and what they call."""
        tasks = [self._write_rows(), self._write_count(), self._write_count_all()]
        tasks += [self._write_part(*which) for which in self._movers]
        return [routine.function for routine in (*self._movers.values(), *tasks)]

    # --- one number ------------------------------------------------------------------------------

    def _flip(self, routine: Routine) -> Lanes:
        flip = routine.entry(FLIP)
        return flip if self.keys.bits == 64 else flip.convert("trunc", "i32")

    def _digit(self, bits: Lanes, flip: Lanes, shift: Lanes) -> Lanes:
        digit = self.keys.of(bits, flip).op("lshr", shift) & (DIGITS - 1)
        return digit if digit.kind == "i64" else digit.convert("zext", "i64")

    def _number(self, routine: Routine, base: Lanes, index: Lanes, first: bool) -> Lanes:
        """The number of a pair, or of the line itself."""
        if first:
            return self.keys.read(routine, base, index)
        return routine.load(base, index * (self.keys.pair // BYTES[self.keys.kind]), self.keys.kind)

    def _place(self, routine: Routine, base: Lanes, index: Lanes) -> Lanes:
        """The place of a pair."""
        if self.keys.bits == 64:
            return routine.load(base, index * 2 + 1, "i64")
        return routine.load(base, index * 2 + 1, "i32").convert("zext", "i64")

    def _put_pair(
        self, routine: Routine, number: Lanes, place: Lanes, base: Lanes, index: Lanes
    ) -> None:
        if self.keys.bits == 64:
            both = Block(routine.function, 2)
            pair = both.splat("i64", number.name)
            text = f"insertelement <2 x i64> {pair.name}, i64 {place.name}, i32 1"
            routine.store(both.give("i64", text), base, index * 2)
        else:
            routine.store(number.convert("zext", "i64") | (place << 32), base, index)

    # --- parts of a line -------------------------------------------------------------------------

    def _write_mover(self, first: bool, last: bool) -> Routine:
        """Numbers from `begin` to `end` go where the next number with their digit goes."""
        kind = self.keys.kind
        routine = Routine(
            f"move{first:d}{last:d}",
            "ptr %from, ptr %to, ptr %places, ptr %next, i64 %begin, i64 %end, "
            f"{kind} %shift, {kind} %flip",
        )
        source, target, places, following = (
            routine.parameter(name, "ptr") for name in ("from", "to", "places", "next")
        )
        shift, flip = (routine.parameter(name, kind) for name in ("shift", "flip"))
        begin, end = routine.parameter("begin"), routine.parameter("end")
        with routine.counting(begin, end) as index:
            number = self._number(routine, source, index, first)
            place = index if first else self._place(routine, source, index)
            digit = self._digit(number, flip, shift)
            slot = routine.load(following, digit, "i32")
            routine.store(slot + 1, following, digit)
            slot = slot.convert("zext", "i64")
            if last:
                self.keys.write(routine, number, target, slot)
                routine.store(place, places, slot)
            else:
                self._put_pair(routine, number, place, target, slot)
        return routine

    def _count(
        self, routine: Routine, source: Lanes, counts: Lanes, begin: Lanes, end: Lanes, first: bool,
        shifts: Sequence[Lanes],
    ) -> None:  # fmt: skip
        """How often each digit occurs in a part of a line: counts for one digit after another."""
        routine.clear(counts, len(shifts) * DIGITS * COUNTER)
        flip = self._flip(routine)
        with routine.counting(begin, end) as index:
            number = self._number(routine, source, index, first)
            for k, shift in enumerate(shifts):
                slot = self._digit(number, flip, shift) + k * DIGITS
                routine.store(routine.load(counts, slot, "i32") + 1, counts, slot)

    def _shifts(self, routine: Routine) -> list[Lanes]:
        return [routine.number(8 * k, self.keys.kind) for k in range(self.keys.digits)]

    # --- a long line, in parts -------------------------------------------------------------------
    # After the entries above: the numbers in a part, the counts of all parts, and the digit's
    # shift. `SOURCE` is the line or pairs, `VALUES` the result or pairs.

    def _part(self, routine: Routine, part: Lanes) -> tuple[Lanes, Lanes]:
        size, length = routine.entry(ROOM + 1), routine.entry(LENGTH)
        begin = part * size
        end = begin + size
        return begin, end.compare("slt", length).where(end, length)

    def _counts_of(self, routine: Routine, part: Lanes, digits: int) -> Lanes:
        counts = routine.entry(ROOM + 2, "ptr")
        return routine.at(counts, part * (digits * DIGITS), "i32")

    def _shift(self, routine: Routine) -> Lanes:
        shift = routine.entry(ROOM + 3)
        return shift if self.keys.kind == "i64" else shift.convert("trunc", "i32")

    def _write_count_all(self) -> Routine:
        """Count all digits of some parts of a line."""
        routine = Routine("count_all")
        source, shifts = routine.entry(SOURCE, "ptr"), self._shifts(routine)
        with routine.counting(*_pieces(routine)) as part:
            begin, end = self._part(routine, part)
            counts = self._counts_of(routine, part, len(shifts))
            self._count(routine, source, counts, begin, end, True, shifts)
        return routine

    def _write_count(self) -> Routine:
        """Count one digit of some parts of the pairs."""
        routine = Routine("count")
        source, shifts = routine.entry(SOURCE, "ptr"), [self._shift(routine)]
        with routine.counting(*_pieces(routine)) as part:
            begin, end = self._part(routine, part)
            counts = self._counts_of(routine, part, 1)
            self._count(routine, source, counts, begin, end, False, shifts)
        return routine

    def _write_part(self, first: bool, last: bool) -> Routine:
        """Move some parts, whose counts have become the places where their digits begin."""
        routine = Routine(f"part{first:d}{last:d}")
        with routine.counting(*_pieces(routine)) as part:
            begin, end = self._part(routine, part)
            routine.call(
                self._movers[first, last],
                *(routine.entry(k, "ptr") for k in (SOURCE, VALUES, PLACES)),
                self._counts_of(routine, part, 1), begin, end,
                self._shift(routine), self._flip(routine),
            )  # fmt: skip
        return routine

    # --- lines that one thread sorts -------------------------------------------------------------

    def _write_rows(self) -> Routine:
        """Sort some lines: count all digits, then move by each that differs."""
        routine = Routine("rows")
        keys, length = self.keys, routine.entry(LENGTH)
        size = keys.bits // 8
        scratch = routine.at(
            routine.entry(SCRATCH, "ptr"), routine.parameter("worker") * routine.entry(ROOM), "i8"
        )
        pairs = routine.at(scratch, routine.number(keys.digits * DIGITS * COUNTER), "i8")
        others = routine.at(pairs, length * keys.pair, "i8")
        wanted = routine.room("i64", keys.digits)  # the digits that differ
        begin, end = _pieces(routine)
        zero = routine.number(0)
        with routine.counting(begin, end) as row:
            first = row * length
            source = routine.at(routine.entry(SOURCE, "ptr"), first * size, "i8")
            target = routine.at(routine.entry(VALUES, "ptr"), first * size, "i8")
            places = routine.at(routine.entry(PLACES, "ptr"), first, "i64")
            self._count(routine, source, scratch, zero, length, True, self._shifts(routine))
            count = self._choose_digits(routine, source, scratch, wanted, length)
            with routine.counting(zero, count) as turn:
                self._turn(
                    routine,
                    turn,
                    count,
                    wanted,
                    (source, target, places),
                    (scratch, pairs, others),
                    length,
                )
        return routine

    def _choose_digits(
        self, routine: Routine, source: Lanes, counts: Lanes, wanted: Lanes, length: Lanes
    ) -> Lanes:
        """Note which digits differ (or one that does not); counts become places."""
        count = routine.variable(routine.number(0))
        sample = self.keys.read(routine, source, routine.number(0))
        flip = self._flip(routine)
        for k, shift in enumerate(self._shifts(routine)):
            slot = self._digit(sample, flip, shift) + k * DIGITS
            same = routine.load(counts, slot, "i32").convert("zext", "i64")
            with routine.when(same.compare("ne", length)):
                routine.store(routine.number(k), wanted, count.get())
                count.set(count.get() + 1)
            total = routine.variable(routine.number(0, "i32"))
            first = routine.number(k * DIGITS)
            with routine.counting(first, first + DIGITS) as digit:
                found = routine.load(counts, digit, "i32")
                routine.store(total.get(), counts, digit)
                total.set(total.get() + found)
        with routine.when(count.get().compare("eq", 0)):
            routine.store(routine.number(0), wanted, routine.number(0))
            count.set(routine.number(1))
        return count.get()

    def _turn(
        self, routine: Routine, turn: Lanes, count: Lanes, wanted: Lanes,
        line: tuple[Lanes, Lanes, Lanes], work: tuple[Lanes, Lanes, Lanes], length: Lanes,
    ) -> None:  # fmt: skip
        """Move a line by one digit: between the two arrays of pairs, from the source, and to the
        target.
        """
        source, target, places = line
        counts, pairs, others = work
        digit = routine.load(wanted, turn, "i64")
        following = routine.at(counts, digit * DIGITS, "i32")
        shift = digit * 8
        shift = shift if self.keys.kind == "i64" else shift.convert("trunc", "i32")
        is_even = (turn & 1).compare("eq", 0)
        into, out_of = is_even.where(pairs, others), is_even.where(others, pairs)
        is_first, is_last = turn.compare("eq", 0), (turn + 1).compare("eq", count)
        for (first, last), mover in self._movers.items():
            holds = (is_first if first else is_first ^ True) & (is_last if last else is_last ^ True)
            with routine.when(holds):
                routine.call(
                    mover, source if first else out_of, target if last else into, places,
                    following, routine.number(0), length, shift, self._flip(routine),
                )  # fmt: skip


def _pieces(routine: Routine) -> tuple[Lanes, Lanes]:
    return routine.parameter("begin"), routine.parameter("end")
