"""Loops over the same elements in other shapes become one."""

import numpy as np
import pytest
from codegen.machines import WAYS, compiled, graph_of

from lamina.codegen.passes import simplify
from lamina.codegen.schedule import schedule

RNG = np.random.default_rng(2)
ROWS = RNG.standard_normal((60, 17)).astype(np.float32)
BIAS = RNG.standard_normal(17).astype(np.float32)


def scheduled(function, *arrays):
    graph = graph_of(function, *arrays)
    simplify(graph)
    return schedule(graph)


def check(function, *arrays, rtol=1e-6):
    for native in WAYS:
        found = compiled(function, *arrays, native=native)(*arrays)
        expected = function(*arrays)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for a, e in zip(found, expected, strict=True):
            assert a.shape == e.shape
            np.testing.assert_allclose(a, e, rtol=rtol, atol=1e-6)


def test_a_reshape_does_not_part_two_loops():
    def function(x, b):
        return np.tanh((x + b).reshape(4, 15, 17)) * 2

    (loop,) = scheduled(function, ROWS, BIAS).steps
    assert loop.shape == (60, 17)
    check(function, ROWS, BIAS)


def test_axes_that_are_stepped_along_apart_stay():
    x = RNG.standard_normal((4, 15, 17)).astype(np.float32)
    each = RNG.standard_normal((15, 17)).astype(np.float32)
    (loop,) = scheduled(lambda x, y: x * y, x, each).steps
    assert loop.shape == (4, 15, 17)
    check(lambda x, y: x * y, x, each)


def test_what_cannot_go_along_stays_behind_where_that_saves_memory():
    each = RNG.standard_normal((15, 17)).astype(np.float32)

    def function(x, y, b):
        z = np.tanh(x.reshape(4, 15, 17) + y)
        for _ in range(3):  # as layers of a network, that reshape for products
            z = np.tanh((z.reshape(60, 17) * b).reshape(4, 15, 17) + z)
        return z

    shapes = [loop.shape for loop in scheduled(function, ROWS, each, BIAS).steps]
    assert shapes == [(4, 15, 17), (60, 17)]
    check(function, ROWS, each, BIAS)


def test_a_sum_over_axes_that_become_one_goes_along():
    def function(x, b):
        z = (x * b).reshape(4, 15, 17)
        return np.sum(z * 2, axis=(0, 1)), z * 3

    (loop,) = scheduled(function, ROWS, BIAS).steps
    assert loop.shape == (60, 17)
    check(function, ROWS, BIAS, rtol=1e-5)


def test_rows_that_belong_together_keep_their_shape():
    x = RNG.standard_normal((4, 15, 17)).astype(np.float32)
    each = RNG.standard_normal((15, 17)).astype(np.float32)

    def function(x, y):
        z = x + y
        return (z - np.max(z, axis=-1, keepdims=True)) * 0.5

    shapes = {loop.shape[:2] for loop in scheduled(function, x, each).steps}
    assert shapes == {(4, 15)}
    check(function, x, each)


@pytest.mark.parametrize("axes", [0, 1, 2, (0, 1), (1, 2), None])
def test_sums_over_axes_that_could_be_joined(axes):
    x = RNG.standard_normal((4, 5, 6)).astype(np.float32)
    check(lambda x: (np.sum(x * 2, axis=axes), np.max(-x, axis=axes)), x, rtol=1e-5)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_other_orders_of_axes(order):
    x = RNG.standard_normal((4, 5, 6)).astype(np.float32).transpose(order)
    check(lambda x: (np.exp(x), np.sum(x, axis=-1), x[::2] + 1), x)


def test_joined_parts_and_written_inputs():
    def function(x):
        x *= 2
        return np.concatenate([x, x + 1], axis=1).reshape(-1, 6) - 1

    x = RNG.standard_normal((4, 5, 6)).astype(np.float32)
    for native in WAYS:
        first, second = x.copy(), x.copy()
        (found,) = compiled(function, first, native=native)(first)
        np.testing.assert_allclose(found, function(second), rtol=1e-6)
        np.testing.assert_array_equal(first, second)
