"""gradcheck and gradgradcheck, and derivatives of functions: products, Jacobians, Hessians."""

from __future__ import annotations

import pytest

import lamina

from .recording import Cases, raises, warns

case = Cases(__file__)


def double(torch, *values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def wrong(torch, factor=3.0):
    """A Function for x * x whose derivative is off."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return factor * x * g

    return Wrong.apply


# --- gradcheck ------------------------------------------------------------------------------------


@case
def right_functions(torch):
    x, y = double(torch, 0.5, 2.0), double(torch, 1.5, -1.0)
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    check = torch.autograd.gradcheck
    return (
        check(lambda x: x * x, x),
        check(lambda x: x * x, (x,), fast_mode=True),
        check(lambda x, y: (x * y, x.exp().sum()), (x, y)),
        check(lambda x, n: x**n, (x, 3)),
        check(lambda z: z * z.conj(), z),
        check(lambda z: (z.abs(), z * 1j), z),
        check(lambda x: torch.complex(x, x * x), x),
        check(lambda x: (x * 0.7).round(), x),
        check(lambda x: (x > 1).double(), x),
        check(lambda x: x.view(2, 1).expand(2, 3), x),
        check(lambda x: x * 2, x, check_grad_dtypes=True, check_undefined_grad=False),
    )


@case
def wrong_functions(torch):
    x = double(torch, 0.5, 2.0)
    check = torch.autograd.gradcheck
    return (
        raises(
            lambda: check(wrong(torch), x),
            "Jacobian mismatch for output 0 with respect to input 0",
            "numerical:",
            "analytical:",
        ),
        raises(lambda: check(wrong(torch), x, fast_mode=True), "Jacobian mismatch"),
        check(wrong(torch), x, raise_exception=False),
        raises(
            lambda: check(lambda x: x.detach(), x),
            "Numerical gradient for function expected to be zero",
        ),
        check(wrong(torch, 2.0), x),
        check(wrong(torch, 2.1), x, atol=1.0),
        raises(
            lambda: check(lambda x: x * 2, torch.ones(1, dtype=torch.float64)),
            "gradcheck expects at least one input tensor to require gradient",
        ),
        raises(
            lambda: check(
                lambda x: x * 2, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
            ),
            "input has a dimension with stride 0",
        ),
    )


@case
def single_precision(torch):
    x = torch.tensor([0.3, 2.7], requires_grad=True)
    message = "is not a double precision floating point or complex"
    return (
        warns(
            lambda: torch.autograd.gradcheck(lambda x: x.sin() * 1000, x, raise_exception=False),
            message,
        ),
        warns(lambda: torch.autograd.gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2), message),
    )


@case
def backward_that_differs_each_time(torch):
    count = []

    class Unsteady(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            count.append(1)
            return g * (1 + 1e-7 * len(count))

    x = double(torch, 1.0)
    check = torch.autograd.gradcheck
    return (
        raises(lambda: check(Unsteady.apply, x), "Backward is not reentrant"),
        check(Unsteady.apply, x, nondet_tol=1e-3, check_undefined_grad=False),
    )


@case
def undefined_gradients(torch):
    class Strict(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if g is None:
                raise RuntimeError("no gradient")
            return g * 2

    x = double(torch, 1.0)
    check = torch.autograd.gradcheck
    return (
        raises(
            lambda: check(Strict.apply, x),
            "Expected backward function to handle undefined output grads",
        ),
        check(Strict.apply, x, check_undefined_grad=False),
    )


@case
def second_derivatives(torch):
    x, y = double(torch, 0.5, 2.0), double(torch, 1.5, -1.0)
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    check = torch.autograd.gradgradcheck
    return (
        check(lambda x: x**3, x),
        check(lambda x, y: x.exp() * y, (x, y)),
        check(lambda x: x**3, x, torch.ones(2, dtype=torch.float64, requires_grad=True)),
        check(lambda z: z * z * z, z),
        check(lambda x: x.sin(), x, gen_non_contig_grad_outputs=True),
    )


# --- derivatives of functions ---------------------------------------------------------------------


@case
def products_with_vectors(torch):
    f = torch.autograd.functional
    x, y, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([1.0, -1.0])
    pair = lambda x, y: (x * y, (x * x).sum())  # noqa: E731
    number = lambda x, y: (x * x * y).sum()  # noqa: E731
    return (
        f.vjp(lambda x: x.exp(), x, v),
        f.vjp(pair, (x, y), (v, torch.tensor(2.0))),
        f.vjp(lambda x: (x * x).sum(), x),
        f.jvp(lambda x: x.exp(), x, v),
        f.jvp(pair, (x, y), (v, v)),
        f.vhp(number, (x, y), (v, v)),
        f.hvp(number, (x, y), (v, v)),
        f.hvp(lambda x: (x**3).sum(), x, v),
        f.vhp(lambda x: x.sum(), x, v),
    )


@case
def jacobians(torch):
    f = torch.autograd.functional
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0]])
    return (
        f.jacobian(lambda x: x.exp(), x),
        f.jacobian(lambda x, y: (x * y, x.sum()), (x, y)),
        f.jacobian(lambda x: x.sum(), x),
        f.jacobian(lambda x: x * 2, x, vectorize=True),
        f.jacobian(lambda x, y: x * 2, (x, y)),
        f.hessian(lambda x: (x**3).sum(), x),
        f.hessian(lambda x, y: (x * y * y).sum(), (x, y)),
        tuple(f.jacobian(lambda x: x.view(2, 1) * y, x).shape),
    )


@case
def results_with_a_graph(torch):
    f = torch.autograd.functional
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    plain = f.jacobian(lambda x: x**3, x)
    recorded = f.jacobian(lambda x: x**3, x, create_graph=True)
    curvature = f.hessian(lambda x: (x**3).sum(), x, create_graph=True)
    value, slope = f.jvp(lambda x: x**3, x, torch.ones(2), create_graph=True)
    return (
        plain.requires_grad, torch.autograd.grad(recorded.sum(), x),
        torch.autograd.grad(curvature.sum(), x),
        torch.autograd.grad(slope.sum(), x), value.requires_grad, x.grad,
    )  # fmt: skip


@case
def mistakes(torch):
    f = torch.autograd.functional
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    return (
        raises(
            lambda: f.vjp(lambda x: x * 2, x),
            "The vector v can only be None if the user-provided function returns a single Tensor",
        ),
        raises(lambda: f.vjp(lambda x: x * 2, x, torch.ones(3)), "v has invalid size"),
        raises(lambda: f.vjp(lambda x: x * 2, 3), "must be either a Tensor or a tuple of Tensors"),
        raises(lambda: f.jacobian(lambda x: 3, x), "must be either a Tensor or a tuple of Tensors"),
        raises(lambda: f.hessian(lambda x: x * 2, x), "should contain a single element"),
        raises(
            lambda: f.jacobian(lambda x, y: x * 2, (x, y), strict=True),
            "independent of input 1. This is not allowed in strict mode",
        ),
        raises(
            lambda: f.jacobian(lambda x: torch.ones(2), x, strict=True),
            "does not require gradients",
        ),
        raises(
            lambda: f.vhp(lambda x: x.sum(), x, torch.ones(2), strict=True),
            "is independent of",
            "not allowed in strict mode",
        ),
        raises(lambda: f.jvp(lambda x: x * 2, (x, y), (torch.ones(2),)), "invalid length"),
    )


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_failure_names_the_worst_entry():
    x = double(lamina, 0.5, 2.0)

    def mistaken(x):
        return wrong(lamina)(x)

    with pytest.raises(lamina.errors.GradcheckFailed) as caught:
        lamina.autograd.gradcheck(mistaken, x)
    assert "the worst of 2 wrong entries is d output[1] / d input[1]" in caught.value.headline
    assert "numerical:4 analytical:6" in caught.value.headline
    assert caught.value.places[0].expression == "def mistaken(x)"


def test_inputs_are_restored():
    x = double(lamina, 0.1, 0.2)
    lamina.autograd.gradcheck(lambda x: x * x, x)
    assert x.tolist() == [0.1, 0.2]
    assert x.grad is None
