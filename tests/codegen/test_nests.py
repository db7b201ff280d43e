"""Loops over the same rows are done row by row."""

import numpy as np
import pytest
from codegen.machines import graph_of, machine, recorded

from lamina.codegen.executable import Executable
from lamina.codegen.lowering import lower
from lamina.codegen.memory import plan_memory
from lamina.codegen.nests import gather
from lamina.codegen.passes import simplify
from lamina.codegen.schedule import schedule
from lamina.codegen.steps import Loop, Nest

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

X = np.random.default_rng(0).standard_normal((130, 257)).astype(np.float32)


def gathered(function, *arrays):
    graph = graph_of(function, *arrays)
    simplify(graph)
    found = schedule(graph)
    gather(found)
    return found


def runs_equally(function, *arrays, rtol=1e-5, atol=1e-6):
    recorder, results = recorded(function, *arrays)
    refs = [r.ref for r in results]
    first, second = [a.copy() for a in arrays], [a.copy() for a in arrays]
    expected = recorder.replay(first, refs)
    actual = Executable(lower(recorder.program, refs), native=True).run(second)
    for a, e in zip([*actual, *second], [*expected, *first], strict=True):
        np.testing.assert_allclose(a, e, rtol=rtol, atol=atol)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def normalized(x, w):
    """With sums along rows and across them."""
    centered = x - np.sum(x, axis=-1, keepdims=True) / x.shape[-1]
    scale = 1 / np.sqrt(np.vecdot(centered, centered)[..., None] + 1e-3)
    return centered * scale * w, np.sum(centered * scale, axis=0), np.sum(centered * x)


def test_a_softmax_is_one_nest_whose_rows_stay_in_the_cache():
    found = gathered(softmax, X)
    (nest,) = found.steps
    assert isinstance(nest, Nest)
    assert nest.rows == (130,)
    assert plan_memory(found).arena < X.nbytes / 50
    assert "-> row" in str(found)


def test_what_a_result_shows_is_whole():
    found = gathered(lambda x: (x - np.max(x, axis=1, keepdims=True), softmax(x)), X)
    (nest,) = found.steps
    kept = {view.value for view in found.graph.outputs}
    assert not kept & nest.temporaries


@pytest.mark.parametrize("shape", [(130, 257), (5, 40, 100), (600, 33)])
def test_softmax(shape):
    runs_equally(softmax, np.resize(X, shape))


def test_sums_along_rows_and_across_them():
    runs_equally(normalized, X, X[0] + 2, rtol=1e-4, atol=1e-3)
    (nest,) = gathered(normalized, X, X[0] + 2).steps
    assert isinstance(nest, Nest)


def test_another_row_is_not_read_before_it_is_there():
    def function(x):
        y = np.exp(x)
        return y[::-1] + np.sum(y, axis=1, keepdims=True)

    assert all(isinstance(step, Loop) for step in gathered(function, X).steps)
    runs_equally(function, X)


def test_a_sum_across_rows_ends_a_nest():
    def function(x):
        return x - np.sum(x, axis=0, keepdims=True)

    assert len(gathered(function, X).steps) == 2
    runs_equally(function, X, rtol=1e-4, atol=1e-3)


def test_an_input_is_not_overwritten_while_other_rows_are_needed():
    def function(x):
        mirrored = x[::-1] * 2
        x *= np.max(x, axis=1, keepdims=True)
        return mirrored

    runs_equally(function, X)


def test_small_loops_do_not_stand_between_large_ones():
    def function(x, v):
        shift = np.max(x, axis=1, keepdims=True)
        scale = np.sum(np.exp(v))
        return (x - shift) * scale

    steps = gathered(function, X, X[0].copy()).steps
    assert isinstance(steps[-1], Nest)
    runs_equally(function, X, X[0].copy(), rtol=1e-4)


# --- chosen columns ------------------------------------------------------------------------------

ROWS, COLUMNS = np.arange(6), np.array([3, 0, 1, 3, -1, -2])
TABLE = np.linspace(0, 1, 24, dtype=np.float32).reshape(6, 4)


def scattered(x, rows, columns, check=True):
    read = x[rows, columns] if check else x[0]
    grid = np.zeros_like(x)
    grid[rows, columns] = np.sum(x, axis=1)
    return grid, read * 1


def compiled_scatter(columns, check=True):
    recorder, results = recorded(lambda x, r, c: scattered(x, r, c, check), TABLE, ROWS, columns)
    refs = [r.ref for r in results]
    graph = lower(recorder.program, refs, {recorder.program.inputs[1]: ROWS} if check else None)
    return graph, recorder.program.inputs


def test_one_chosen_column_of_each_row_is_a_comparison():
    graph, _ = compiled_scatter(COLUMNS)
    assert [node.op for node in graph.nodes if node.kind == "call"] == ["get_item"]
    found = Executable(graph, native=True).run([TABLE, COLUMNS])
    for a, e in zip(found, scattered(TABLE, ROWS, COLUMNS), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-6)


def test_columns_that_are_not_there_are_still_an_error():
    graph, _ = compiled_scatter(COLUMNS)
    with pytest.raises(IndexError):
        Executable(graph, native=True).run([TABLE, COLUMNS + 9])


def test_without_a_check_before_the_write_stays_a_call():
    recorder, results = recorded(
        lambda x, r, c: scattered(x, r, c, check=False), TABLE, ROWS, COLUMNS
    )
    graph = lower(recorder.program, [results[0].ref], {recorder.program.inputs[1]: ROWS})
    assert "set_item" in [node.op for node in graph.nodes]
