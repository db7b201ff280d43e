"""Loops that have nothing to do with each other are shared out among threads all at once."""

from itertools import pairwise

import numpy as np
import pytest
from codegen.machines import graph_of, machine

from lamina.codegen.executable import Executable
from lamina.codegen.llvm.side_by_side import TURNS, ranges_of, side_by_side
from lamina.codegen.steps import Cut, Loop
from lamina.devices import thread_count

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

RNG = np.random.default_rng(0)
SIZES = [10_000, 3, 33_000, 10_000, 517, 10_000]


def arrays(sizes=SIZES):
    return [RNG.standard_normal(size).astype(np.float32) for size in sizes for _ in range(2)]


def descend(*given):
    """A step of an optimizer: each parameter in place, by its gradient."""
    for parameter, gradient in zip(given[::2], given[1::2], strict=True):
        parameter -= np.sqrt(gradient * gradient + 1) * np.float32(0.1)
    return ()


def chained(*given):
    """Each array from the one before."""
    for before, after in pairwise(given):
        after += np.tanh(before.sum() + before[:3].sum())
    return given[0] * 1


def groups_of(function, *given):
    made = Executable(graph_of(function, *given), native=True)
    found = side_by_side(made.schedule.steps, made.graph, made.plan)
    return [len(group) for group in found if isinstance(group, list)]


def test_updates_of_parameters_are_one_group():
    assert groups_of(descend, *arrays()) == [len(SIZES)]


def test_loops_that_need_each_other_keep_their_turn():
    assert groups_of(chained, *arrays()) == []


def test_little_work_is_not_shared():
    assert groups_of(descend, *arrays([3, 4, 5])) == []


def test_the_same_numbers_for_every_number_of_threads():
    given = arrays()
    made = Executable(graph_of(descend, *given), native=True)
    before, found = thread_count.get_num_threads(), []
    try:
        for number in (1, 2, 4):
            thread_count.set_num_threads(number)
            own = [array.copy() for array in given]
            for _ in range(5):
                made.run(own)
            found.append([array.tobytes() for array in own])
    finally:
        thread_count.set_num_threads(before)
    assert found[0] == found[1] == found[2]
    expected = [array.astype(np.float64) for array in given]
    for _ in range(5):
        descend(*expected)
    for ours, reference in zip(own, expected, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("share", [1.0, 0.1, 1e-4])
def test_ranges_cover_a_loop(share):
    ranges = list(ranges_of(Loop((10_001,), cut=Cut(0, 640, 16)), share))
    assert len(ranges) <= max(TURNS * share, 1)
    assert [begin for begin, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == 10_001
    assert list(ranges_of(Loop((10_001,)), share)) == [(0, 1)]
