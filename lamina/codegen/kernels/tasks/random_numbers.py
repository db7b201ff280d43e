"""Tasks that make numbers of words: uniform ones, ones and zeros, waiting times, whole numbers.

A piece is a vector of numbers. Pieces know their place by their index alone, so threads share them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from lamina.codegen.kernels.tasks.random_words import (
    COUNT,
    FIRST_PARAMETER,
    OUT,
    START,
    WORDS,
    doubles_at,
    pairs_at,
    units_at,
    words_at,
)
from lamina.codegen.kernels.tasks.routines import Address, Routine, first_lanes
from lamina.codegen.llvm.ir import Block, Function, Lanes
from lamina.codegen.llvm.vector_math import by_library


@final
@dataclass
class Given:
    """What a task's body works with.

    Attributes:
        routine, block: Where it is written, and as how many lanes.
        kind: That of the numbers it makes.
        words: Where the words are.
        index: How many numbers were made of these words before.
        first: How many were made at all before: where they are put.
    """

    routine: Routine
    block: Block
    kind: str
    words: Address
    index: Lanes
    first: Lanes

    def parameter(self, place: int, kind: str) -> Lanes:
        """A parameter in all lanes, converted to a kind from what the table has of its sort."""
        memory = "double" if kind in ("float", "double") else "i64"
        found = self.routine.entry(FIRST_PARAMETER + place, memory)
        return self.block.splat(kind, _converted(found, kind).name)


_SHRINKING: Final = {
    ("double", "float"): "fptrunc",
    ("i64", "i32"): "trunc",
    ("i64", "i8"): "trunc",
}


def _converted(lanes: Lanes, kind: str) -> Lanes:
    return lanes if lanes.kind == kind else lanes.convert(_SHRINKING[lanes.kind, kind], kind)


def write_task(name: str, kind: str, width: int, body: Callable[[Given], Lanes]) -> Function:
    """A task whose pieces are vectors of numbers.

    Args:
        name: What it is called.
        kind: The kind of its numbers in memory.
        width: How many of them a piece has.
        body: Gives the numbers of one piece.
    """
    routine = Routine(name)
    block = Block(routine.function, width)
    words, out = routine.entry_address(WORDS), routine.entry_address(OUT)
    count, start = routine.entry(COUNT), routine.entry(START)
    with routine.pieces() as piece:
        index = piece * width
        first = start + index
        numbers = body(Given(routine, block, kind, words, index, first))
        left = count - first
        is_whole = left.compare("sge", width)
        with routine.when(is_whole):
            out.store(numbers, first)
        with routine.when(is_whole ^ True):
            out.store_some(numbers, first_lanes(block, left), first)
    return routine.function


# --- bodies ------------------------------------------------------------------------------------


def uniform(given: Given) -> Lanes:
    """Between two numbers: the width, the low end, the high end (which is not reached)."""
    width, low, high = (given.parameter(place, given.kind) for place in range(3))
    number = units_at(given.kind, given.words, given.block, given.index).fma(width, low)
    return number.compare("oeq", high).where(low, number)


def chosen(given: Given) -> Lanes:
    """A number where a double is below a chance, else 0: the chance (a double), the number."""
    unit = doubles_at(given.words, given.block, given.index)
    is_chosen = unit.compare("olt", given.parameter(0, "double"))
    return is_chosen.where(given.parameter(1, given.kind), 0)


def chosen_by(given: Given) -> Lanes:
    """1 where a number is below a chance of its own, else 0: the address of the chances."""
    chances = given.routine.entry_address(FIRST_PARAMETER)
    block = given.block
    bits = first_lanes(block, given.routine.entry(COUNT) - given.first)
    chance = chances.load_some(given.kind, bits, given.first)
    unit = units_at(given.kind, given.words, block, given.index)
    return unit.compare("olt", chance).where(block.constant(given.kind, 1), 0)


def exponential(given: Given) -> Lanes:
    """Waiting times: what the logarithm is multiplied by, which is -1 / rate."""
    unit = doubles_at(given.words, given.block, given.index)
    time = by_library("log1p", [-unit]) * given.parameter(0, "double")
    return _converted(time, given.kind)


def whole(given: Given) -> Lanes:
    """Words modulo a range up to 2**32, from a low end on: the range, its inverse, the low end.

    The quotient of float64 is wrong by one at most: the remainder tells.
    """
    word = words_at(given.words, given.block, given.index).convert("uitofp", "double")
    span = given.parameter(0, "double")
    quotient = (word * given.parameter(1, "double")).function("floor")
    rest = (-quotient).fma(span, word)
    rest = rest.compare("olt", 0.0).where(rest + span, rest)
    rest = rest.compare("oge", span).where(rest - span, rest)
    number = rest.convert("fptosi", "i64") + given.parameter(2, "i64")
    return _converted(number, given.kind)


def wide(given: Given) -> Lanes:
    """Numbers of 64 bits modulo a range, from a low end on: the range, the low end."""
    number = pairs_at(given.words, given.block, given.index) % given.parameter(0, "i64")
    return _converted(number + given.parameter(1, "i64"), given.kind)


# --- order -------------------------------------------------------------------------------------


def swap_places(kind: str) -> Function:
    """A task that swaps each place with one from there on; threads must not share it.

    There is one more place than it counts: the last one has nothing to be swapped with.
    """
    routine = Routine("swap_places")
    words, out = routine.entry_address(WORDS), routine.entry_address(OUT)
    start, count = routine.entry(START), routine.entry(COUNT)
    with routine.pieces() as piece:
        place = start + piece
        choices = (count - place + 1).convert("trunc", "i32")
        ahead = (words_at(words, routine.numbers, piece) % choices).convert("zext", "i64")
        one, other = out.at(kind, place), out.at(kind, place + ahead)
        number, number_there = one.load(kind), other.load(kind)
        one.store(number_there)
        other.store(number)
    return routine.function
