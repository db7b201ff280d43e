"""What is done together, where values go, and how memory is shared."""

import numpy as np
import pytest
from codegen.machines import WAYS, compiled, graph_of, recorded

from lamina.codegen.executable import Executable
from lamina.codegen.lowering import lower
from lamina.codegen.memory import plan_memory
from lamina.codegen.passes import simplify
from lamina.codegen.schedule import schedule

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def scheduled(function, *arrays):
    graph = graph_of(function, *arrays)
    simplify(graph)
    return schedule(graph)


def test_a_chain_is_one_loop_and_only_its_end_goes_to_memory():
    assert str(scheduled(lambda x: np.exp(x * 2) + x, X)).splitlines() == [
        "for [3,4]:",
        "    %1: float32[3,4] = multiply(%0, 2.0)",
        "    %2: float32[3,4] = exp(%1)",
        "    %3: float32[3,4] = add(%2, %0)  -> memory",
        "return %3",
    ]


def test_a_reduction_ends_its_loop():
    def softmax(x):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    steps = scheduled(softmax, X).steps
    assert [[node.op for node in step.nodes] for step in steps] == [
        ["max"],
        ["subtract", "exp", "sum"],
        ["divide"],
    ]


def test_an_update_is_made_in_the_memory_of_the_input():
    def step(w, g):
        w -= g * 0.1
        return np.sum(w * 0 + 1)

    text = str(scheduled(step, X, X.copy()))
    assert "-> %0" in text
    assert plan_memory(scheduled(step, X, X.copy())).offsets == {}


@pytest.mark.parametrize("native", WAYS)
def test_an_input_read_through_another_view_is_read_before_it_is_written(native):
    def function(x):
        mirrored = x[:, ::-1] * 2
        x += 1
        return mirrored + x

    recorder, results = recorded(function, X)
    executable = Executable(lower(recorder.program, [results[0].ref]), native=native)
    given = X.copy()
    (actual,) = executable.run([given])
    np.testing.assert_array_equal(given, X + 1)
    np.testing.assert_array_equal(actual, X[:, ::-1] * 2 + (X + 1))


@pytest.mark.parametrize("native", WAYS)
def test_two_inputs_can_be_swapped(native):
    def swap(x, y):
        old = x.copy()
        x[...] = y
        y[...] = old

    recorder, _ = recorded(lambda x, y: swap(x, y) or x * 1, X, X.copy())
    executable = Executable(lower(recorder.program, []), native=native)
    a, b = X.copy(), X * 2
    executable.run([a, b])
    np.testing.assert_array_equal(a, X * 2)
    np.testing.assert_array_equal(b, X)


@pytest.mark.parametrize("native", WAYS)
def test_an_input_can_get_its_own_transpose(native):
    square = np.arange(25, dtype=np.float32).reshape(5, 5)

    def function(x):
        x[...] = x.T

    recorder, _ = recorded(lambda x: function(x) or x * 1, square)
    given = square.copy()
    Executable(lower(recorder.program, []), native=native).run([given])
    np.testing.assert_array_equal(given, square.T)


def test_memory_is_used_again():
    def chain(x):
        for _ in range(6):
            x = np.sort(x + 1, axis=0)[::-1] * 2
        return x

    plan = plan_memory(scheduled(chain, X))
    assert plan.arena < plan.without_reuse / 2


@pytest.mark.parametrize("native", WAYS)
def test_results_that_are_still_held_are_not_overwritten(native):
    run = compiled(lambda x: x * 2, X, native=native)
    (first,) = run(X)
    (second,) = run(X + 1)
    np.testing.assert_array_equal(first, X * 2)
    np.testing.assert_array_equal(second, (X + 1) * 2)
    address = second.ctypes.data
    del first, second
    (third,) = run(X)
    assert third.ctypes.data == address


PRODUCTS = [
    lambda a, b: a @ b.T,
    lambda a, b: a.T @ b,
    lambda a, b: np.dot(a, b.T),
    lambda a, b: (a * 2) @ (b.T + 1),
    lambda a, b: a[:, ::2] @ b[:, ::2].T,
    lambda a, b: a[:, 1:] @ b[:, 1:].T,
    lambda a, b: a[:, :1] @ b[:, :1].T,
    lambda a, b: a[None] @ np.stack([b.T, b.T * 2]),
    lambda a, b: np.broadcast_to(a[:1], a.shape) @ b.T,
    lambda a, b: a @ b[0],
    lambda a, b: a[:0] @ b.T,
]


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("product", PRODUCTS)
def test_products(product, kind, native):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((7, 6)).astype(kind) for _ in "12")
    (actual,) = compiled(product, a, b, native=native)(a, b)
    np.testing.assert_allclose(actual, product(a, b), rtol=1e-5, atol=1e-5)
