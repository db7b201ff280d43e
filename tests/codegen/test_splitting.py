"""Loops are cut where that keeps their meaning, and give the same results cut and whole."""

import numpy as np
import pytest
from codegen.machines import cutting_small_loops, graph_of, machine, recorded

from lamina.codegen.executable import Executable
from lamina.codegen.lowering import lower
from lamina.codegen.steps import Loop
from lamina.devices import thread_count

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 150)).astype(np.float32)


def executable(function, *arrays):
    recorder, results = recorded(function, *arrays)
    return Executable(lower(recorder.program, [r.ref for r in results]), native=True)


def cuts(made):
    return [step.cut for step in made.schedule.steps if getattr(step, "cut", None)]


def both(function, *arrays):
    """What a function gives cut into pieces, and the executable."""
    with cutting_small_loops():
        made = executable(function, *arrays)
    return made.run(list(arrays)), made


@pytest.mark.parametrize("size", [2, 63, 64, 65, 127, 128, 129, 1000, 1024, 1025])
def test_a_row_is_cut_at_whole_vectors(size):
    x = RNG.standard_normal(size).astype(np.float32)
    (y, total, largest), made = both(lambda x: (x * 2 + 1, np.sum(x), np.max(x)), x)
    np.testing.assert_allclose(y, x * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(total, np.sum(x, dtype=np.float64), rtol=1e-5)
    assert largest == x.max()
    assert bool(cuts(made)) == (size > 64)


@pytest.mark.parametrize("axis", [0, 1, None, (0, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_along_and_across_the_cut(axis, order):
    x = np.asarray(X, order=order)
    (total, smallest), made = both(lambda x: (np.sum(x, axis=axis), np.min(x, axis=axis)), x)
    np.testing.assert_allclose(total, np.sum(x, axis=axis, dtype=np.float64), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(smallest, np.min(x, axis=axis))
    assert cuts(made)


def test_rows_of_a_nest_are_shared_and_each_thread_has_its_own_row():
    def softmax(x):
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True), np.sum(e, axis=0), np.sum(e)

    x = RNG.standard_normal((512, 200)).astype(np.float32)
    expected = softmax(x.astype(np.float64))
    for _ in range(20):
        results, made = both(softmax, x)
        for a, e in zip(results, expected, strict=True):
            np.testing.assert_allclose(a, e, rtol=2e-5)
    assert cuts(made)


def test_results_do_not_depend_on_the_number_of_threads():
    x = RNG.standard_normal((300, 1000)).astype(np.float32)
    made = executable(lambda x: (np.sum(x), np.sum(np.tanh(x), axis=0)), x)
    assert cuts(made)
    before, found = thread_count.get_num_threads(), []
    try:
        for number in (1, 2, 4):
            thread_count.set_num_threads(number)
            found.append([result.tobytes() for result in made.run([x])])
    finally:
        thread_count.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_inputs_are_overwritten_where_they_are_read():
    def step(x, g):
        x *= 0.5
        x -= g * np.float32(0.1)
        return x * 1

    x, g = X.copy(), X[::-1].copy()
    expected = x * np.float32(0.5) - g * np.float32(0.1)
    (result,), made = both(step, x, g)
    assert cuts(made)
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(result, x)


def test_small_loops_stay_whole():
    (loop,) = executable(lambda x: x + 1, X[:2]).schedule.steps
    assert isinstance(loop, Loop)
    assert loop.cut is None


def test_a_sum_of_many_columns_over_few_rows_is_cut_along_the_columns():
    x = RNG.standard_normal((20, 30_000)).astype(np.float32)
    made = executable(lambda x: np.sum(x * 2, axis=0), x)
    ((axis, *_),) = cuts(made)
    assert axis == 1
    np.testing.assert_allclose(made.run([x])[0], 2 * x.sum(0, dtype=np.float64), atol=1e-5)


def test_nothing_is_cut_without_elements():
    with cutting_small_loops():
        made = Executable(graph_of(lambda x: x * 2, X[:0]), native=True)
    assert made.run([X[:0]])[0].shape == (0, 150)
