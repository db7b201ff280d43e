"""Each pass on the text of small graphs."""

import numpy as np
import pytest
from codegen.machines import WAYS, compiled, graph_of, recorded

from lamina.codegen.lowering import lower
from lamina.codegen.passes import drop_dead, fold, share_common, simplify
from lamina.devices.layouts import fresh

X = np.arange(3, dtype=np.float32)


def after(change, function, *arrays):
    graph = graph_of(function, *(arrays or (X,)))
    change(graph)
    return [line for line in str(graph).splitlines() if "input" not in line]


def test_dead_code_is_left_out():
    def function(x):
        np.exp(x)
        return x + 1

    assert after(drop_dead, function) == ["%2: float32[3] = add(%0, 1.0)", "return %2"]


def test_what_is_not_pure_is_kept():
    calls = []

    def draw():
        calls.append(1)
        return np.zeros(3, np.float32)

    recorder, _ = recorded(lambda x: x, X)
    recorder.call(draw, (), {}, fresh((3,), np.float32))
    graph = lower(recorder.program, [])
    simplify(graph)
    assert [node.op for node in graph.nodes] == ["draw"]


def test_the_same_is_computed_once():
    lines = after(share_common, lambda x, y: np.exp(x * y) + np.exp(y * x), X, X.copy())
    assert lines == [
        "%2: float32[3] = multiply(%0, %1)",
        "%3: float32[3] = exp(%2)",
        "%6: float32[3] = add(%3, %3)",
        "return %6",
    ]


def test_zeros_of_different_sign_are_not_the_same():
    lines = after(share_common, lambda x: (x * 0.0) + (x * -0.0))
    assert len(lines) == 4


def test_equal_constants_are_one():
    recorder, results = recorded(lambda x, a, b: x * a + x * b, X, X * 2, X * 3)
    _, first, second = recorder.program.inputs
    graph = lower(recorder.program, [results[0].ref], {first: X, second: X.copy()})
    share_common(graph)
    drop_dead(graph)
    assert len(graph.constants) == 1
    assert len(graph.nodes) == 2


def test_known_numbers_are_computed_beforehand():
    def function(x):
        return x * (np.ones_like(x) * 2 + np.full_like(x, 1))

    assert after(simplify, function) == ["%3: float32[3] = multiply(%0, 3.0)", "return %3"]


@pytest.mark.parametrize(
    "same", [lambda x: x * 1, lambda x: 1 * x, lambda x: x / 1, lambda x: x - 0]
)
def test_what_changes_nothing_is_left_out(same):
    assert after(simplify, lambda x: np.exp(same(x)))[0].endswith("exp(%0)")


@pytest.mark.parametrize("other", [lambda x: x + 0, lambda x: x * 0, lambda x: 0 - x])
def test_what_changes_zeros_infinities_or_nan_stays(other):
    assert len(after(simplify, lambda x: np.exp(other(x)))) == 3


def test_squares_are_products():
    assert after(fold, lambda x: np.power(x, 2)) == ["%1: float32[3] = square(%0)", "return %1"]


def test_copies_of_fresh_values_are_forwarded():
    assert after(simplify, lambda x: (x + 1).copy() * 2) == [
        "%1: float32[3] = add(%0, 1.0)",
        "%3: float32[3] = multiply(%1, 2.0)",
        "return %3",
    ]


# --- sums of products ----------------------------------------------------------------------------


def products_of(count):
    rng = np.random.default_rng(5)
    return [rng.standard_normal((6, 4)).astype(np.float32) for _ in range(2 * count)]


def summed(*arrays):
    total = arrays[0].T @ arrays[1]
    for x, y in zip(arrays[2::2], arrays[3::2], strict=True):
        total = total + x.T @ y
    return total


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_sum_of_products_is_made_in_one_piece_of_memory(native, count):
    arrays = products_of(count)
    graph = graph_of(summed, *arrays)
    simplify(graph)
    assert [node.kind for node in graph.nodes] == ["product"] * count
    np.testing.assert_allclose(
        compiled(summed, *arrays, native=native)(*arrays)[0], summed(*arrays), rtol=1e-5
    )


@pytest.mark.parametrize("native", WAYS)
def test_a_product_that_others_read_is_not_added_to(native):
    def function(a, b, c, d):
        first, second = a.T @ b, c.T @ d
        return first + second, first * 2, (first + second) @ second

    arrays = products_of(2)
    for actual, expected in zip(
        compiled(function, *arrays, native=native)(*arrays), function(*arrays), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("native", WAYS)
def test_weights_that_lie_transposed_are_laid_out_once(native):
    def recurrent(x, w):
        for _ in range(5):
            x = np.tanh(x @ w.T)
        return x

    rng = np.random.default_rng(4)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 8), (8, 8)))
    graph = graph_of(recurrent, x, w)
    simplify(graph)
    assert [node.op for node in graph.nodes].count("copy") == 1
    found = compiled(recurrent, x, w, native=native)(x, w)[0]
    np.testing.assert_allclose(found, recurrent(x, w), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(len(WAYS) == 1, reason="needs llvmlite")
@pytest.mark.parametrize("axis", [0, 1])
def test_a_sum_of_what_is_there_anyway_is_left_to_the_kernel_for_sums(axis):
    x = np.random.default_rng(6).standard_normal((1024, 600)).astype(np.float32)
    for function, kinds in [
        (lambda x: np.sum(x, axis=axis), ["call"]),
        (lambda x: np.sum(x * 2, axis=axis), ["pointwise", "reduction"]),
        (lambda x: (np.sum(x, axis=axis), x * 2), ["reduction", "pointwise"]),
    ]:
        graph = graph_of(function, x)
        simplify(graph)
        assert [node.kind for node in graph.nodes] == kinds
    found = compiled(lambda x: np.sum(x, axis=axis), x, native=True)(x)[0]
    np.testing.assert_allclose(found, x.sum(axis, dtype=np.float64), rtol=1e-4, atol=1e-4)
