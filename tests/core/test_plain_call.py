"""The short way of every operation: what it records."""

import pytest

import lamina


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float64"])
def test_a_cast_to_a_floating_dtype_is_recorded(name):
    pytest.importorskip("ml_dtypes")
    x = lamina.ones(2, requires_grad=True)
    y = x.to(getattr(lamina, name))
    assert y.requires_grad
    y.sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (lamina.float32, [1, 1])


@pytest.mark.parametrize("name", ["int64", "bool"])
def test_a_cast_to_another_dtype_is_not(name):
    x = lamina.ones(2, requires_grad=True)
    assert not x.to(getattr(lamina, name)).requires_grad
