"""Recorded programs as graphs: views cost nothing, writes become values."""

import numpy as np
from codegen.machines import graph_of, recorded

from lamina.codegen.lowering import lower

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)
VECTOR = np.arange(3, dtype=np.float32)


def text(function, *arrays):
    return str(graph_of(function, *arrays)).splitlines()


def test_views_are_strides():
    assert text(lambda x: x.T + 1, MATRIX) == [
        "%0: float32[2,3] = input",
        "%1: float32[3,2] = add(%0{3,2: 1,3}, 1.0)",
        "return %1",
    ]


def test_slices_have_offsets_and_broadcasts_have_no_steps():
    lines = text(lambda x, v: x[1:, ::2] * v[:2], MATRIX, VECTOR)
    assert lines[2] == "%2: float32[1,2] = multiply(%0{1,2: 0,2 +3}, %1{1,2: 0,1})"


def test_a_write_of_all_of_a_fresh_array_is_forwarded():
    def function(x):
        y = x * 2
        np.add(y, 1, out=y)
        return y

    assert text(function, VECTOR)[1:] == [
        "%1: float32[3] = multiply(%0, 2.0)",
        "%2: float32[3] = add(%1, 1.0)",
        "return %2",
    ]


def test_views_made_before_a_write_show_it_after():
    def function(x):
        y = x * 2
        view = y.T
        y += 1
        return view * 1.5

    assert text(function, MATRIX)[-2] == "%3: float32[3,2] = multiply(%2{3,2: 1,3}, 1.5)"


def test_writes_into_inputs_come_last():
    def function(x):
        old = x * 2
        x += 1
        return old

    recorder, results = recorded(function, VECTOR)
    graph = lower(recorder.program, [results[0].ref])
    assert str(graph).splitlines()[1:] == [
        "%1: float32[3] = multiply(%0, 2.0)",
        "%2: float32[3] = add(%0, 1.0)",
        "%0 <- %2",
        "return %1",
    ]


def test_a_write_of_a_part_is_a_call_that_gives_the_changed_value():
    def function(x):
        y = x * 2
        y[:2] = 7
        return y

    lines = text(function, VECTOR)
    assert lines[2] == "%2: float32[3] = set_item(%1, slice(None, 2, None), 7)"
    assert lines[3] == "return %2"


def test_constants_are_no_inputs():
    recorder, results = recorded(lambda x, c: x + c, VECTOR, VECTOR.copy())
    constant = recorder.program.inputs[1]
    graph = lower(recorder.program, [results[0].ref], {constant: VECTOR})
    assert graph.inputs == [0]
    assert "%1: float32[3] = constant" in str(graph)


def test_what_loops_cannot_do_stays_a_call():
    lines = text(lambda x: np.sort(x) + np.cbrt(x), VECTOR)
    assert lines[1:3] == ["%1: float32[3] = sort(%0)", "%2: float32[3] = cbrt(%0)"]


def test_floats_become_integers_as_numpy_does_it():
    assert text(lambda x: x.astype(np.int32), VECTOR)[1] == (
        "%1: int32[3] = astype(%0, int32, copy=True)"
    )


def test_python_numbers_take_the_dtype_of_the_loop():
    assert text(lambda x: np.power(0.9, x), np.float64(3) * VECTOR)[1] == (
        "%1: float64[3] = power(0.9, %0)"
    )


def test_reductions_keep_axes_by_shape_alone():
    assert text(lambda x: np.sum(x, axis=1, keepdims=True), MATRIX)[1:] == [
        "%1: float32[2] = sum(%0, axes=(1,))",
        "return %1{2,1: 1,0}",
    ]
