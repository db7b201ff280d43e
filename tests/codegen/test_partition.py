"""What is kept for later, and what is rather computed again."""

import numpy as np
from codegen.machines import recorded

from lamina.codegen.executable import Executable
from lamina.codegen.lowering import lower
from lamina.codegen.partition import split
from lamina.codegen.passes import simplify

X = np.linspace(-1, 1, 6, dtype=np.float32)


def parts(forward, backward, *arrays):
    """The two halves of a program; the last array comes with the second one."""

    def both(*given):
        out, kept = forward(*given[:-1])
        return out, backward(given[-1], *kept)

    recorder, results = recorded(both, *arrays)
    graph = lower(recorder.program, [r.ref for r in results])
    simplify(graph)
    return split(graph, 1, {graph.inputs[-1]})


def test_pointwise_values_are_computed_again_from_inputs():
    def forward(x):
        t = np.tanh(x)
        return np.sum(t), (t,)

    found = parts(forward, lambda g, t: g * (1 - t * t), X, X.copy())
    assert found.kept == ()
    assert len(found.inputs) == 1


def test_results_of_products_are_kept():
    def forward(x, w):
        h = x @ w
        return np.sum(np.exp(h)), (h,)

    square = np.eye(3, dtype=np.float32)
    found = parts(forward, lambda g, h: g * np.exp(h), square, square * 2, square * 3)
    assert len(found.kept) == 1
    assert found.inputs == ()


def test_both_halves_give_what_the_whole_gives():
    def forward(x):
        t = np.tanh(np.sort(x)) * x
        return t * 2, (t,)

    def backward(g, t):
        return g * np.exp(t)

    found = parts(forward, backward, X, X.copy())
    now, later = Executable(found.now), Executable(found.later)
    out, *kept = now.run([X])
    (gradient,) = later.run([*kept, *([X] * len(found.inputs)), X + 1])
    expected, keep = forward(X)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    np.testing.assert_allclose(gradient, backward(X + 1, *keep), rtol=1e-6)


def test_a_half_cannot_read_what_the_other_overwrites():
    def forward(x):
        old = np.exp(x)
        x += 1
        return old, (x,)

    def both(x, g):
        value = x * 1
        out, _ = forward(x)
        return out, g * np.exp(value)

    recorder, results = recorded(both, X.copy(), X)
    graph = lower(recorder.program, [r.ref for r in results])
    simplify(graph)
    found = split(graph, 1, {graph.inputs[-1]})
    assert found is None or found.inputs == ()
