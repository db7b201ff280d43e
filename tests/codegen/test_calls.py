"""Results of calls that a compiled program keeps: whose memory they have."""

import numpy as np
import pytest
from codegen.machines import WAYS, graph_of

from lamina.codegen.executable import Executable


@pytest.mark.parametrize("native", WAYS)
def test_what_a_call_gives_is_handed_on_and_stays_as_it_is(native):
    x = np.array([3.0, 1.0, 2.0])
    executable = Executable(graph_of(lambda x: np.sort(x), x), native=native)
    (first,) = executable.run([x])
    (second,) = executable.run([np.array([9.0, 8.0, 7.0])])
    assert first.tolist() == [1.0, 2.0, 3.0]
    assert second.tolist() == [7.0, 8.0, 9.0]
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("native", WAYS)
def test_what_is_also_read_or_written_somewhere_is_right(native):
    def function(x, y):
        ranked = np.sort(x)
        y[...] = ranked
        return ranked, ranked + 1, np.sort(ranked)

    x, y = np.array([3.0, 1.0, 2.0]), np.zeros(3)
    executable = Executable(graph_of(function, x, y), native=native)
    for _ in range(2):
        first, more, again = executable.run([x, y])
        assert first.tolist() == y.tolist() == again.tolist() == [1.0, 2.0, 3.0]
        assert more.tolist() == [2.0, 3.0, 4.0]
        first += 100
        assert y.tolist() == again.tolist() == [1.0, 2.0, 3.0]
        assert x.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("native", WAYS)
def test_a_call_that_gives_a_view_or_its_input_does_not_hand_it_on(native):
    x = np.array([[3.0, 1.0], [2.0, 4.0]])
    for function in (lambda x: np.roll(x, 0), lambda x: np.nan_to_num(x, copy=False)):
        executable = Executable(graph_of(function, x), native=native)
        (found,) = executable.run([x])
        assert np.array_equal(found, x)
        assert not np.shares_memory(found, x)


@pytest.mark.parametrize("native", WAYS)
def test_transposed_results_are_written_the_right_way_round(native):
    x, y = np.arange(15.0).reshape(3, 5), np.arange(20.0).reshape(5, 4)
    functions = (
        lambda x, y: np.transpose(np.matmul(x, y)),
        lambda x, y: np.transpose(np.matmul(x, y) * 0.5),
        lambda x, y: np.transpose(np.roll(np.matmul(x, y), 1)),
    )
    for function in functions:
        executable = Executable(graph_of(function, x, y), native=native)
        for _ in range(2):
            assert np.array_equal(executable.run([x, y])[0], function(x, y))
