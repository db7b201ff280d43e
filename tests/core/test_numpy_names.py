"""NumPy's names of arguments; `tests/oracle/test_numpy_names_oracle.py` has all functions."""

from __future__ import annotations

import inspect

import pytest

import lamina as torch
from lamina.core.numpy_names import renamed

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
Y = torch.tensor([[5.0, 6.0], [7.0, 8.0]])


@pytest.mark.parametrize(
    ("by_numpys_name", "by_own_name"),
    [
        ("torch.exp(x=X)", "torch.exp(X)"),
        ("torch.maximum(x1=X, x2=Y)", "torch.maximum(X, Y)"),
        ("torch.add(a=X, x2=Y, alpha=2)", "torch.add(X, Y, alpha=2)"),
        ("torch.matmul(x1=X, x2=Y)", "torch.matmul(X, Y)"),
        ("torch.mm(x=X, mat2=Y)", "torch.mm(X, Y)"),
        ("torch.remainder(X, x2=Y)", "torch.remainder(X, Y)"),
        ("torch.sum(a=X, axis=0, keepdims=True)", "torch.sum(X, 0, True)"),
        ("torch.max(x=X)", "torch.max(X)"),
        ("torch.max(X, axis=1).values", "torch.max(X, 1).values"),
        ("torch.std(X, axis=0, keepdims=True)", "torch.std(X, 0, keepdim=True)"),
        ("torch.stack([X, Y], axis=-1)", "torch.stack([X, Y], -1)"),
        ("torch.concatenate([X, Y], axis=1)", "torch.cat([X, Y], 1)"),
        ("torch.softmax(X, axis=0)", "torch.softmax(X, 0)"),
        ("torch.unsqueeze(a=X, axis=1)", "torch.unsqueeze(X, 1)"),
        ("torch.narrow(x=X, axis=1, start=0, length=1)", "torch.narrow(X, 1, 0, 1)"),
        ("torch.fft.fft(x=X, axis=0)", "torch.fft.fft(X, dim=0)"),
        ("X.clone().add_(x2=Y)", "X + Y"),
        ("X.clone().mul_(x2=Y)", "X * Y"),
        ("X.clone().fmod_(x2=Y)", "torch.fmod(X, Y)"),
        ("X.clone().unsqueeze_(axis=0)", "X.unsqueeze(0)"),
        ("torch.exp_(x=X.clone())", "X.exp()"),
    ],
)
def test_numpys_names_mean_the_own_ones(by_numpys_name, by_own_name):
    assert torch.equal(eval(by_numpys_name), eval(by_own_name))


def test_out_may_stand_beside_them():
    out = torch.empty(2, 2)
    assert torch.add(x1=X, x2=Y, out=out) is out
    assert torch.equal(torch.exp(x=X, out=out), X.exp())
    assert torch.equal(out, X.exp())


def test_they_are_recorded_as_ever():
    x = X.clone().requires_grad_()
    torch.stack([torch.sum(a=x, axis=0), torch.exp(x=x)[0]], axis=1).sum().backward()
    assert torch.equal(x.grad, 1 + torch.cat([X.exp()[:1], torch.zeros(1, 2)]))


def test_they_are_taken_where_somebody_is_at_the_door():
    with torch.inference_mode():
        assert torch.equal(torch.maximum(x1=X, x2=Y), Y)
    assert torch.equal(torch.func.vmap(lambda x: torch.sum(x, axis=0))(X), X.sum(1))


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        ("torch.exp(X, x=X)", "unexpected keyword argument 'x'"),
        ("torch.exp(x=X, a=X)", "unexpected keyword argument 'a'"),
        ("torch.sum(X, dim=1, axis=1)", "unexpected keyword argument 'axis'"),
        ("torch.sum(X, axes=1)", "unexpected keyword argument 'axes'"),
        ("torch.stack([X], dim=1, axis=0)", "unexpected keyword argument 'axis'"),
        ("torch.softmax(X, 1, axis=0)", "unexpected keyword argument 'axis'"),
        ("torch.add(X, Y, x2=Y)", "unexpected keyword argument 'x2'"),
        ("X.unsqueeze(0, axis=0)", "unexpected keyword argument 'axis'"),
        ("X.exp(x=X)", "unexpected keyword argument 'x'"),
        ("X.add_(Y, x2=Y)", "unexpected keyword argument 'x2'"),
        ("torch.split(X, 1, axis=0)", "unexpected keyword argument 'axis'"),
        ("torch.exp()", "missing 1 required"),
        ("torch.t()", "missing 1 required argument: 'input'"),
        ("torch.sum()", "missing 1 required argument: 'input'"),
        ("torch.max()", "missing 1 required argument: 'input'"),
        ("torch.maximum(X)", "missing 1 required argument: 'other'"),
        ("torch.add(other=X)", "missing 1 required argument: 'input'"),
        ("torch.matmul(other=X)", "missing 1 required argument: 'input'"),
        ("torch.squeeze()", "missing 1 required argument: 'input'"),
        ("torch.round()", "missing 1 required argument: 'input'"),
        ("torch.stack(axis=0)", "missing 1 required argument: 'tensors'"),
        ("X.narrow(axis=0, start=0)", "missing 1 required argument: 'length'"),
        ("torch.fmod(X)", "missing 1 required argument: 'other'"),
        ("X.fmod_()", "missing 1 required argument: 'other'"),
    ],
)
def test_what_does_not_fit_is_named(call, phrase):
    with pytest.raises(TypeError, match=phrase):
        eval(call)


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (torch.exp, "(input, *, out=None)"),
        (torch.maximum, "(input, other, *, out=None)"),
        (torch.matmul, "(input, other, *, out=None)"),
        (torch.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        (torch.softmax, "(input, dim, dtype=None, *, out=None)"),
    ],
)
def test_signatures_are_the_documented_ones(function, signature):
    shown = inspect.signature(function)
    plain = [each.replace(annotation=each.empty) for each in shown.parameters.values()]
    assert str(inspect.Signature(plain)) == signature


def test_a_parameter_that_has_the_name_itself_keeps_it():
    assert renamed({"x": 1, "axis": 0}, ["y", "x", "dim"]) == {"x": 1, "dim": 0}
    assert renamed({"x": 1}, ["x", "input"]) is None
    assert torch.equal(torch.trapezoid(X, x=Y, axis=1), torch.trapezoid(X, Y))
