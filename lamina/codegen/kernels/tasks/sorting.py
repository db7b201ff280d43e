"""Sorting lines of numbers: by digits, stable, with the places that the numbers had.

Numbers become whole numbers of the same order (`Keys`). A line is sorted by its least digit of
eight bits first, then by the next, each time keeping the order of equal digits. Digits that are the
same in all of a line are left out. On the way a number and its place travel together, as a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, Variable, either, least
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

    def read(self, base: Address, index: Lanes | int) -> Lanes:
        """A number from memory."""
        found = base.load(self.memory, index)
        return found if self.bits >= 32 else found.convert("zext", self.kind)

    def write(self, number: Lanes, base: Address, index: Lanes) -> None:
        """A number into memory."""
        if self.bits < 32:
            number = number.convert("trunc", self.memory)
        base.store(number, index)

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

    def _number(self, base: Address, index: Lanes, first: bool) -> Lanes:
        """The number of a pair, or of the line itself."""
        if first:
            return self.keys.read(base, index)
        return base.load(self.keys.kind, index * (self.keys.pair // BYTES[self.keys.kind]))

    def _place(self, base: Address, index: Lanes) -> Lanes:
        """The place of a pair."""
        if self.keys.bits == 64:
            return base.load("i64", index * 2 + 1)
        return base.load("i32", index * 2 + 1).convert("zext", "i64")

    def _put_pair(self, number: Lanes, place: Lanes, base: Address, index: Lanes) -> None:
        if self.keys.bits == 64:
            both = Block(number.block.function, 2)
            pair = both.splat("i64", number.name)
            text = f"insertelement <2 x i64> {pair.name}, i64 {place.name}, i32 1"
            base.store(both.give("i64", text), index * 2)
        else:
            base.store(number.convert("zext", "i64") | (place << 32), index)

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
            routine.address(name) for name in ("from", "to", "places", "next")
        )
        shift, flip = (routine.parameter(name, kind) for name in ("shift", "flip"))
        begin, end = routine.parameter("begin"), routine.parameter("end")
        with routine.loop(begin, end) as index:
            number = self._number(source, index, first)
            place = index if first else self._place(source, index)
            digit = self._digit(number, flip, shift)
            slot = following.load("i32", digit)
            following.store(slot + 1, digit)
            slot = slot.convert("zext", "i64")
            if last:
                self.keys.write(number, target, slot)
                places.store(place, slot)
            else:
                self._put_pair(number, place, target, slot)
        return routine

    def _count(
        self, routine: Routine, source: Address, counts: Address, begin: Lanes | int, end: Lanes,
        first: bool, shifts: Sequence[Lanes],
    ) -> None:  # fmt: skip
        """How often each digit occurs in a part of a line: counts for one digit after another."""
        counts.clear(len(shifts) * DIGITS * COUNTER)
        flip = self._flip(routine)
        with routine.loop(begin, end) as index:
            number = self._number(source, index, first)
            for k, shift in enumerate(shifts):
                slot = self._digit(number, flip, shift) + k * DIGITS
                counts.store(counts.load("i32", slot) + 1, slot)

    def _shifts(self, routine: Routine) -> list[Lanes]:
        return [routine.number(8 * k, self.keys.kind) for k in range(self.keys.digits)]

    # --- a long line, in parts -------------------------------------------------------------------
    # After the entries above: the numbers in a part, the counts of all parts, and the digit's
    # shift. `SOURCE` is the line or pairs, `VALUES` the result or pairs.

    def _part(self, routine: Routine, part: Lanes) -> tuple[Lanes, Lanes]:
        size, length = routine.entry(ROOM + 1), routine.entry(LENGTH)
        begin = part * size
        end = begin + size
        return begin, least(end, length)

    def _counts_of(self, routine: Routine, part: Lanes, digits: int) -> Address:
        counts = routine.entry_address(ROOM + 2)
        return counts.at("i32", part * (digits * DIGITS))

    def _shift(self, routine: Routine) -> Lanes:
        shift = routine.entry(ROOM + 3)
        return shift if self.keys.kind == "i64" else shift.convert("trunc", "i32")

    def _write_count_all(self) -> Routine:
        """Count all digits of some parts of a line."""
        routine = Routine("count_all")
        source, shifts = routine.entry_address(SOURCE), self._shifts(routine)
        with routine.pieces() as part:
            begin, end = self._part(routine, part)
            counts = self._counts_of(routine, part, len(shifts))
            self._count(routine, source, counts, begin, end, True, shifts)
        return routine

    def _write_count(self) -> Routine:
        """Count one digit of some parts of the pairs."""
        routine = Routine("count")
        source, shifts = routine.entry_address(SOURCE), [self._shift(routine)]
        with routine.pieces() as part:
            begin, end = self._part(routine, part)
            counts = self._counts_of(routine, part, 1)
            self._count(routine, source, counts, begin, end, False, shifts)
        return routine

    def _write_part(self, first: bool, last: bool) -> Routine:
        """Move some parts, whose counts have become the places where their digits begin."""
        routine = Routine(f"part{first:d}{last:d}")
        with routine.pieces() as part:
            begin, end = self._part(routine, part)
            routine.call(
                self._movers[first, last].function.name,
                *(routine.entry_address(k) for k in (SOURCE, VALUES, PLACES)),
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
        scratch = routine.entry_address(SCRATCH) + routine.parameter("worker") * routine.entry(ROOM)
        pairs = scratch + keys.digits * DIGITS * COUNTER
        others = pairs + length * keys.pair
        wanted = routine.room("i64", keys.digits)  # the digits that differ
        with routine.pieces() as row:
            first = row * length
            source = routine.entry_address(SOURCE) + first * size
            target = routine.entry_address(VALUES) + first * size
            places = routine.entry_address(PLACES).at("i64", first)
            self._count(routine, source, scratch, 0, length, True, self._shifts(routine))
            count = self._choose_digits(routine, source, scratch, wanted, length)
            with routine.loop(0, count) as turn:
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
        self, routine: Routine, source: Address, counts: Address, wanted: Address, length: Lanes
    ) -> Lanes:
        """Note which digits differ (or one that does not); counts become places."""
        count = Variable(routine.number(0))
        sample = self.keys.read(source, 0)
        flip = self._flip(routine)
        for k, shift in enumerate(self._shifts(routine)):
            slot = self._digit(sample, flip, shift) + k * DIGITS
            same = counts.load("i32", slot).convert("zext", "i64")
            with routine.when(same.compare("ne", length)):
                wanted.store(routine.number(k), count.get())
                count.set(count.get() + 1)
            total = Variable(routine.number(0, "i32"))
            first = routine.number(k * DIGITS)
            with routine.loop(first, first + DIGITS) as digit:
                found = counts.load("i32", digit)
                counts.store(total.get(), digit)
                total.set(total.get() + found)
        with routine.when(count.get().compare("eq", 0)):
            wanted.store(routine.number(0))
            count.set(routine.number(1))
        return count.get()

    def _turn(
        self, routine: Routine, turn: Lanes, count: Lanes, wanted: Address,
        line: tuple[Address, Address, Address], work: tuple[Address, Address, Address],
        length: Lanes,
    ) -> None:  # fmt: skip
        """Move a line by one digit: between the two arrays of pairs, from the source, and to the
        target.
        """
        source, target, places = line
        counts, pairs, others = work
        digit = wanted.load("i64", turn)
        following = counts.at("i32", digit * DIGITS)
        shift = digit * 8
        shift = shift if self.keys.kind == "i64" else shift.convert("trunc", "i32")
        is_even = (turn & 1).compare("eq", 0)
        into, out_of = either(is_even, pairs, others), either(is_even, others, pairs)
        is_first, is_last = turn.compare("eq", 0), (turn + 1).compare("eq", count)
        for (first, last), mover in self._movers.items():
            holds = (is_first if first else is_first ^ True) & (is_last if last else is_last ^ True)
            with routine.when(holds):
                routine.call(
                    mover.function.name, source if first else out_of, target if last else into,
                    places, following, 0, length, shift, self._flip(routine),
                )  # fmt: skip
