"""Several rows, and several vectors of a row, are done together: also where they leave a rest."""

import numpy as np
import pytest
from codegen.machines import graph_of, machine

from lamina.codegen.executable import Executable
from lamina.codegen.steps import Nest
from lamina.codegen.together import MOST, MOST_BYTES

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")


def compiled(function, *arrays):
    return Executable(graph_of(function, *arrays), native=True)


def numbers(rows, columns, kind=np.float32):
    return np.random.default_rng(0).integers(-9, 10, (rows, columns)).astype(kind)


def nest_of(executable):
    (nest,) = (step for step in executable.schedule.steps if isinstance(step, Nest))
    return nest


def gradients(g, x, w):
    """As in the backward pass of a normalization: sums along rows and across them."""
    scaled = g * w
    along = np.add.reduce(scaled * x, axis=1, keepdims=True) / x.shape[1]
    return scaled - along * x, np.add.reduce(g * x, axis=0), np.add.reduce(g, axis=0)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [3, 256, 1031, 1033])
@pytest.mark.parametrize("columns", [33, 64, 200])
def test_rows_of_a_nest(rows, columns, kind):
    g, x, w = numbers(rows, columns, kind), numbers(rows, columns, kind)[::-1].copy(), None
    w = np.linspace(0.5, 1.5, columns).astype(kind)
    found = compiled(gradients, g, x, w).run([g, x, w])
    expected = gradients(*(array.astype(np.float64) for array in (g, x, w)))
    for ours, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("reduction", [np.add.reduce, np.maximum.reduce, np.minimum.reduce])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("shape", [(1031, 70), (6, 4099), (70, 1031)])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_loops(reduction, kind, shape, axis):
    x = numbers(*shape, kind)
    (found,) = compiled(lambda x: reduction(x * x - x, axis=axis), x).run([x])
    np.testing.assert_array_equal(found, reduction(x * x - x, axis=axis))  # whole numbers: exact


def test_a_few_rows_are_done_together_where_sums_cross_them():
    arrays = numbers(512, 300), numbers(512, 300), numbers(1, 300)[0]
    assert nest_of(compiled(gradients, *arrays)).together == MOST
    along = compiled(lambda g, x, w: gradients(g, x, w)[0], *arrays)
    assert nest_of(along).together == 1


def test_rows_that_fill_the_cache_are_done_one_by_one():
    columns = MOST_BYTES // 4
    arrays = numbers(8, columns), numbers(8, columns), numbers(1, columns)[0]
    assert nest_of(compiled(gradients, *arrays)).together == 1


def test_numbers_that_are_none_and_infinite_ones_stay_in_their_columns():
    x = numbers(1031, 70)
    x[1030, 3], x[5, 4], x[6, 5], x[7, 5] = np.nan, np.inf, np.inf, -np.inf
    (found,) = compiled(lambda x: np.add.reduce(x * 2, axis=0), x).run([x])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.add.reduce(x * 2.0, axis=0, dtype=np.float64))
