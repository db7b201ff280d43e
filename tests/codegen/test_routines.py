"""The language that kernels' tasks are written in: what each of its words does when it runs."""

import math

import numpy as np
import pytest

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.tasks.routines import (
    Routine,
    Variable,
    as_address,
    chosen_lanes,
    either,
    first_lanes,
    least,
    sum_of,
)
from lamina.codegen.llvm import machine
from lamina.codegen.llvm.ir import Block

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

WIDTH = 4


def run(routines, *table, pieces=1):
    """Do the pieces of the last routine; arrays in the table are given by their addresses."""
    routines = routines if isinstance(routines, list) else [routines]
    numbers = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in table]
    library = Library([each.function for each in routines])
    library.run(routines[-1].function.name, numbers, pieces, 1)


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (3, 2), (-2, 3), (0, 1), (5, 17)])
@pytest.mark.parametrize("step", [1, 3])
def test_a_loop_goes_over_the_range_of_its_ends(begin, end, step):
    routine = Routine("task")
    found, count = routine.entry_address(0), Variable(routine.number(0))
    with routine.loop(routine.entry(1), routine.entry(2), step) as index:
        found.store(index, count.get())
        count.set(count.get() + 1)
    found.store(count.get(), 20)
    result = np.full(21, -99)
    run(routine, result, begin, end)
    expected = list(range(begin, end, step))
    assert result[:20].tolist() == expected + [-99] * (20 - len(expected))
    assert result[20] == len(expected)


def test_all_pieces_are_done_once():
    routine = Routine("task")
    found = routine.entry_address(0)
    with routine.pieces() as piece:
        found.store(found.load("i64", piece) + piece, piece)
    result = np.ones(1000, np.int64)
    run(routine, result, pieces=1000)
    assert result.tolist() == list(range(1, 1001))


@pytest.mark.parametrize(("x", "y"), [(7, 3), (3, 7), (-5, 2), (0, 0)])
def test_branches_choices_and_the_lesser_number(x, y):
    routine = Routine("task")
    result, other = routine.entry_address(0), routine.entry_address(1)
    first, second = routine.entry(2), routine.entry(3)
    result.store(least(first, second))
    is_less = first.compare("slt", second)
    with routine.when(is_less):
        result.store(second - first, 1)
    either(is_less, result, other).store(routine.number(1), 2)
    results = np.zeros((2, 3), np.int64)
    run(routine, results[0], results[1], x, y)
    assert results[0].tolist() == [min(x, y), y - x if x < y else 0, int(x < y)]
    assert results[1].tolist() == [0, 0, int(x >= y)]


@pytest.mark.parametrize(("x", "y"), [(7, 3), (0, 5), (12, 4), ((1 << 63) - 1, 10)])
def test_division_of_whole_numbers(x, y):
    routine = Routine("task")
    result = routine.entry_address(0)
    result.store(routine.entry(1) // routine.entry(2))
    result.store(routine.entry(1) % routine.entry(2), 1)
    found = np.zeros(2, np.int64)
    run(routine, found, x, y)
    assert found.tolist() == [x // y, x % y]


@pytest.mark.parametrize("count", range(-1, WIDTH + 2))
@pytest.mark.parametrize(
    ("kind", "dtype"), [("float", "f"), ("double", "d"), ("i32", "i"), ("i8", "b")]
)
def test_only_lanes_whose_bits_are_set_are_read_and_written(count, kind, dtype):
    routine = Routine("task")
    block = Block(routine.function, WIDTH)
    source, target, outcome = (routine.entry_address(k) for k in range(3))
    bits = first_lanes(block, routine.entry(3))
    target.store_some(source.lanes(kind, block, 1), bits, 1)
    outcome.store(source.load_some(kind, bits, 1, source.lanes(kind, block, 3)))
    outcome.store(source.load_some(kind, bits, 1), WIDTH)
    numbers = np.arange(10, 20).astype(dtype)
    written, read = np.zeros(8, dtype), np.zeros(2 * WIDTH, dtype)
    run(routine, numbers, written, read, count)
    inside = [0 <= lane < count for lane in range(WIDTH)]
    assert written.tolist() == [0, *(11 + k if inside[k] else 0 for k in range(WIDTH)), 0, 0, 0]
    assert read[:WIDTH].tolist() == [11 + k if inside[k] else 13 + k for k in range(WIDTH)]
    assert read[WIDTH:].tolist() == [11 + k if inside[k] else 0 for k in range(WIDTH)]


def test_lanes_spread_chosen_and_added_up():
    routine = Routine("task")
    block = Block(routine.function, WIDTH)
    source, result = routine.entry_address(0), routine.entry_address(1)
    lanes = source.lanes("double", block)
    result.store(chosen_lanes(lanes, [3, 0, 4, 7], (source + 32).lanes("double", block)))
    result.store((source + 8).spread("double", block), 4)
    result.store(sum_of(lanes), 8)
    numbers = np.array([0.5, -2, 8, 1024, 1, 2, 3, 4])
    found = np.zeros(9)
    run(routine, numbers, found)
    assert found.tolist() == [1024, 0.5, 1, 4, -2, -2, -2, -2, math.fsum(numbers[:WIDTH])]


@pytest.mark.parametrize(("kind", "dtype"), [("float", "f"), ("double", "d")])
def test_the_sum_of_negative_zeros_is_one(kind, dtype):
    routine = Routine("task")
    lanes = routine.entry_address(0).lanes(kind, Block(routine.function, WIDTH))
    routine.entry_address(1).store(sum_of(lanes))
    found = np.ones(1, dtype)
    run(routine, np.full(WIDTH, -0.0, dtype), found)
    assert found[0] == 0
    assert np.signbit(found[0])


def test_functions_call_each_other_with_numbers_and_addresses():
    inner = Routine("inner", "ptr %target, i32 %small, i64 %number, i64 %index")
    total = inner.parameter("small", "i32").convert("sext", "i64") + inner.parameter("number")
    inner.address("target").store(total, inner.parameter("index"))
    routine = Routine("task")
    target = as_address(routine.entry(0))
    routine.call("inner", target, routine.number(-7, "i32"), routine.entry(1), 2)
    found = np.zeros(4, np.int64)
    run([inner, routine], found, 100)
    assert found.tolist() == [0, 0, 93, 0]


def test_bytes_are_cleared_and_copied_and_a_room_is_memory():
    routine = Routine("task")
    source, target = routine.entry_address(0), routine.entry_address(1)
    room = routine.room("i8", 8)
    source.copy_to(room, routine.entry(2))
    (source + 2).clear(3)
    room.copy_to(target.at("i16", 1), routine.entry(2))
    numbers, found = np.arange(1, 9, dtype=np.int8), np.zeros(8, np.int8)
    run(routine, numbers, found, 5)
    assert numbers.tolist() == [1, 2, 0, 0, 0, 6, 7, 8]
    assert found.tolist() == [0, 0, 1, 2, 3, 4, 5, 0]
