"""Operators for the explainer, the compiler and the simulated GPU."""

import numpy as np
import pytest

import lamina
from lamina.codegen.later import is_available

compiles = pytest.mark.skipif(not is_available(), reason="needs llvmlite")


@pytest.fixture
def sine():
    @lamina.library.custom_op("explained::sine", mutates_args=())
    def sine(x: lamina.Tensor) -> lamina.Tensor:
        return lamina.from_numpy(np.sin(x.numpy(force=True)))

    return sine


def test_why_names_the_operator_and_where_it_was_called(sine):
    x = lamina.ones(2, requires_grad=True)
    y = sine(x)
    answer = str(lamina.why(y))
    assert "computed here, by explained::sine" in answer
    assert "y = sine(x)" in answer


def test_why_shows_the_call_and_not_the_kernel_of_what_was_not_recorded(sine):
    x = lamina.ones(2, requires_grad=True)
    with lamina.no_grad():
        y = sine(x)
    answer = lamina.why(y)
    assert "it was computed under no_grad" in str(answer)
    assert answer.places[0].expression == "sine(x)"


def test_why_finds_the_integer_result_of_an_operator():
    @lamina.library.custom_op("explained::counted", mutates_args=())
    def counted(x: lamina.Tensor) -> lamina.Tensor:
        return x.long()

    answer = lamina.why(counted(lamina.ones(2, requires_grad=True)))
    assert answer.places[0].expression == "counted(lamina.ones(2, requires_grad=True))"
    assert "no_grad" not in str(answer)


def test_the_error_of_a_missing_formula_shows_the_call_and_the_kernel(sine):
    y = sine(lamina.ones(2, requires_grad=True))
    with pytest.raises(lamina.errors.NoAutogradFormula) as caught:
        y.sum().backward()
    call, kernel = caught.value.places
    assert call.expression == "sine(lamina.ones(2, requires_grad=True))"
    assert kernel.expression.startswith("def sine(x")


def test_a_wrong_gradient_shows_the_users_backward(sine):
    def backward(ctx, g):
        return g, g

    sine.register_autograd(backward)
    with pytest.raises(lamina.errors.WrongNumberOfGradients) as caught:
        sine(lamina.ones(2, requires_grad=True)).sum().backward()
    assert caught.value.places[0].expression == "return g, g"
    assert "1 argument: x" in str(caught.value)


@compiles
def test_an_operator_with_a_fake_function_is_one_step_of_a_program(sine):
    calls = []

    @lamina.library.custom_op("explained::chosen", mutates_args=())
    def chosen(x: lamina.Tensor, k: float = 2.0) -> lamina.Tensor:
        calls.append(1)
        return x * k if x.sum() > 0 else x.clone()

    chosen.register_fake(lambda x, k=2.0: lamina.empty_like(x))
    chosen.register_autograd(lambda ctx, g: (g * 2, None))

    def function(x, y):
        return (chosen(x * 2) + y).exp().sum() + (x * y).sum()

    fast = lamina.compile(function)
    for sign in (1, -1, 1):
        x = (lamina.ones(4) * sign).requires_grad_()
        again = x.detach().clone().requires_grad_()
        y = lamina.ones(4)
        found, expected = fast(x, y), function(again, y)
        found.backward()
        expected.backward()
        assert lamina.allclose(found, expected)
        assert lamina.allclose(x.grad, again.grad)
    assert len(calls) == 6
    assert fast.explain().refusals == []


@compiles
def test_a_program_notices_a_fake_function_that_is_wrong():
    @lamina.library.custom_op("explained::wrong", mutates_args=())
    def wrong(x: lamina.Tensor) -> lamina.Tensor:
        return x[:1].clone()

    wrong.register_fake(lamina.empty_like)
    fast = lamina.compile(lambda x: wrong(x * 2) * 3 + x.exp().sum() - x.sin().sum())
    with pytest.raises(lamina.errors.OperatorResultError, match="the fake impl says float32"):
        fast(lamina.ones(4))


@compiles
def test_an_operator_that_writes_is_captured_by_its_operations():
    @lamina.library.custom_op("explained::double_", mutates_args={"x"})
    def double_(x: lamina.Tensor) -> None:
        x.mul_(2)

    def function(x):
        y = x + 1
        double_(y)
        return y * 3

    assert lamina.compile(function)(lamina.ones(2)).tolist() == [12.0, 12.0]


@compiles
def test_a_program_looks_into_kernels_that_are_recorded():
    library = lamina.library.Library("explained_library", "DEF")
    library.define("tripled(Tensor x) -> Tensor")
    library.impl("tripled", lambda x: x * 3, "CPU")
    lamina.library.register_fake("explained_library::tripled", lamina.empty_like, lib=library)
    x = lamina.ones(2, requires_grad=True)
    fast = lamina.compile(lambda x: (lamina.ops.explained_library.tripled(x) * x).sum())
    fast(x).backward()
    assert x.grad.tolist() == [6.0, 6.0]


@compiles
def test_a_program_maps_an_operator_over_samples():
    @lamina.library.custom_op("explained::squared", mutates_args=())
    def squared(x: lamina.Tensor) -> lamina.Tensor:
        return x * x

    squared.register_fake(lamina.empty_like)
    x = lamina.arange(6.0).reshape(2, 3)
    fast = lamina.compile(lambda x: lamina.vmap(squared)(x * 2) + 1)
    assert fast(x).tolist() == (4 * x * x + 1).tolist()


def test_kernels_for_the_simulated_gpu():
    @lamina.library.custom_op("explained::where", mutates_args=(), device_types="cpu")
    def where(x: lamina.Tensor) -> lamina.Tensor:
        return x + 1

    where.register_kernel("cuda", lambda x: x + 2)
    with lamina.cuda.simulate():
        x = lamina.zeros(2, device="cuda")
        assert where(x).tolist() == [2.0, 2.0]
        assert where(x).device.type == "cuda"
        assert where(x.cpu()).tolist() == [1.0, 1.0]


def test_a_change_of_what_is_kept_shows_the_operator_that_made_it():
    @lamina.library.custom_op("explained::zero_", mutates_args={"x"})
    def zero_(x: lamina.Tensor) -> None:
        x.numpy()[:] = 0

    y = lamina.ones(2, requires_grad=True).exp()
    zero_(y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        y.sum().backward()
    assert caught.value.places[0].expression == "zero_(y.detach())"
