"""Sums of sums become one sum."""

import numpy as np
import pytest
from codegen.machines import compiled, graph_of, machine

from lamina.codegen.graph import REDUCTION
from lamina.codegen.passes import merge_sums

X = np.random.default_rng(0).standard_normal((6, 8, 10)).astype(np.float32)


def sums_of(function, *arrays):
    """The shapes and axes of a graph's sums, after the pass."""
    graph = graph_of(function, *arrays)
    merge_sums(graph)
    found = [node for node in graph.nodes if node.kind == REDUCTION]
    return [(next(node.views()).shape, node.axes) for node in found]


def test_parts_that_follow_on_each_other_are_one_axis():
    assert sums_of(lambda x: x.sum(axis=0).sum(axis=0), X) == [((48, 10), (0,))]
    assert sums_of(lambda x: x.sum(axis=2).sum(axis=1), X) == [((6, 80), (1,))]
    assert sums_of(lambda x: x.sum(axis=1).sum(axis=0).sum(), X) == [((480,), (0,))]


def test_axes_apart_stay_apart():
    assert sums_of(lambda x: x.sum(axis=0).sum(axis=1), X) == [((6, 8, 10), (0, 2))]
    turned = X.transpose(1, 0, 2)
    assert sums_of(lambda x: x.sum(axis=0).sum(axis=0), turned) == [((8, 6, 10), (0, 1))]


def test_sums_that_are_read_elsewhere_stay():
    def function(x):
        first = x.sum(axis=0)
        return first, first.sum(axis=0)

    assert len(sums_of(function, X)) == 2
    assert len(sums_of(lambda x: x.sum(axis=0)[1:].sum(axis=0), X)) == 2
    assert len(sums_of(lambda x: np.max(x, axis=0).sum(axis=0), X)) == 2


@pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")
@pytest.mark.parametrize("axes", [(0, 0), (0, 1), (1, 0), (2, 1), (1, 1)])
def test_values(axes):
    def function(x):
        made = x * x + 1
        return made, made.sum(axis=axes[0]).sum(axis=axes[1])

    for x in (X, X.transpose(2, 0, 1), X[::2, ::-1]):
        made, total = compiled(function, x, native=True)(x)
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(made, expected[0], rtol=1e-6)
        np.testing.assert_allclose(total, expected[1], rtol=1e-6)
