"""How a finished gradient becomes a leaf's `.grad`."""

import numpy as np

import lamina
from lamina.core import accumulation


def test_the_last_gradient_of_a_pass_is_taken_over_without_a_copy(monkeypatch):
    copied = []
    monkeypatch.setattr(accumulation, "_copied_like", lambda array, leaf: copied.append(array))
    x = lamina.ones(3, 4, requires_grad=True)
    x.exp().sum().backward()
    assert not copied
    assert np.allclose(x.grad.numpy(), np.e)


def test_an_array_that_somebody_else_has_is_copied():
    x, g = lamina.ones(3, requires_grad=True), lamina.ones(3)
    x.backward(g)
    x.grad += 1
    assert g.tolist() == [1.0, 1.0, 1.0]
