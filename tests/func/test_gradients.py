"""`grad`, `grad_and_value` and `vjp`: values, nesting, what leads outside, errors."""

from __future__ import annotations

import pytest
from autograd.recording import Cases, raises

import lamina
import lamina.func

case = Cases(__file__)


def vector(torch, **options):
    return torch.tensor([0.5, -1.0, 2.0], **options)


@case
def gradients_by_chosen_arguments(torch):
    x, y = vector(torch), vector(torch) + 1

    def product(a, b):
        return (a * b * b).sum()

    grad = torch.func.grad
    return (
        grad(product)(x, y),
        grad(product, argnums=1)(x, y),
        grad(product, argnums=-1)(x, y),
        grad(product, argnums=(1, 0))(x, y),
        grad(product)(x, b=y),
    )


@case
def nests_of_arguments_and_aux(torch):
    x = vector(torch)
    nest = {"a": x, "b": (x + 1, [x + 2])}

    def f(nest):
        value = (nest["a"] * nest["b"][0] ** 2 * nest["b"][1][0]).sum()
        return value, {"twice": value * 2}

    gradient, aux = torch.func.grad(f, has_aux=True)(nest)
    both = torch.func.grad_and_value(f, has_aux=True)(nest)
    return gradient["a"], gradient["b"], aux["twice"], both[1][0], both[1][1]["twice"]


@case
def transforms_inside_one_another(torch):
    x, grad = vector(torch), torch.func.grad
    third = grad(lambda a: grad(lambda b: grad(lambda c: (c**4).sum())(b).sum())(a).sum())(x)
    # Perturbation confusion: the inner function reaches the outer variable.
    mixed = grad(lambda a: a[0] * grad(lambda b: (a * b).sum())(a)[0])(x)
    return third, mixed


@case
def detached_and_unrecorded_parts(torch):
    x, grad = vector(torch), torch.func.grad

    def partly(a):
        with torch.no_grad():
            square = a**2
        return (a * 3 - square).sum()

    def outside():
        with torch.no_grad():
            return grad(lambda a: (a**2).sum())(x), torch.is_grad_enabled()

    return (
        grad(partly)(x),
        grad(lambda a: grad(partly)(a).sum())(x),
        grad(lambda a: grad(lambda b: (b.detach() * b * b).sum())(a).sum())(x),
        outside(),
    )


@case
def what_leads_outside(torch):
    x, w = vector(torch), vector(torch, requires_grad=True)
    grad = torch.func.grad
    gradients = [
        grad(lambda a: (a**2).sum())(x),
        grad(lambda a: (a**2).sum())(w),
        grad(lambda a: (a * w).sum())(x),
        grad(lambda a: (a**2).sum() + w.sum())(x),
    ]
    with torch.no_grad():
        gradients.append(grad(lambda a: (a * w).sum())(w))
    gradient, (value, aux) = torch.func.grad_and_value(
        lambda a: ((a * w).sum(), a * 2), has_aux=True
    )(x)
    gradients[1].sum().backward()
    return (
        [g.requires_grad for g in (*gradients, gradient, value, aux)],
        w.grad,
        x.requires_grad,
    )


@case
def changes_in_place(torch):
    x = vector(torch)

    def fresh(a):
        b = a.clone()
        b[0] = b[1] * 2
        b.mul_(a)
        return (b**2).sum()

    return (
        torch.func.grad(fresh)(x),
        x,
        raises(lambda: torch.func.grad(lambda a: a.mul_(2).sum())(x), "a leaf Variable"),
    )


@case
def vjps(torch):
    x = vector(torch)
    output, pull = torch.func.vjp(lambda a: a**2, x)
    first, second = pull(x), pull(x + 1)
    pair, pull_pair = torch.func.vjp(lambda a, b: (a * b, {"s": b.sum()}), x, x + 1)
    of_pair = pull_pair((x, {"s": torch.tensor(2.0)}))
    with_aux = torch.func.vjp(lambda a: (a * 2, a + 1), x, has_aux=True)
    w = vector(torch, requires_grad=True)
    outside = torch.func.vjp(lambda a: a * 2, w)[0].requires_grad
    by_cotangent = torch.func.vjp(lambda a: a * 2, x)[1](w)[0].requires_grad
    return output, first, second, pair[0], of_pair, with_aux[0], with_aux[2], outside, by_cotangent


@case
def unused_and_constant(torch):
    x = vector(torch)
    return (
        torch.func.grad(lambda a, b: a.sum(), argnums=(0, 1))(x, x),
        torch.func.grad(lambda a: torch.tensor(1.0))(x),
        torch.func.vjp(lambda a: torch.ones(2), x)[1](torch.ones(2)),
    )


@case
def functions_of_the_user(torch):
    x = vector(torch)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0] * 10

    grad = torch.func.grad
    return (
        grad(lambda a: Scaled.apply(a).sum())(x),
        grad(lambda a: grad(lambda b: Scaled.apply(b).sum())(a).sum())(x),
    )


@case
def mistakes(torch):
    x, func = vector(torch), torch.func
    whole = torch.arange(3)
    return (
        raises(lambda: func.grad(lambda a: a * 2)(x), "to return a scalar Tensor", "vjp or jacrev"),
        raises(lambda: func.grad(lambda a: 2.0)(x), "to return a Tensor, got"),
        raises(lambda: func.grad(lambda a: (a.sum(), a))(x), "to return a Tensor, got"),
        raises(lambda: func.grad(lambda a: a.sum(), has_aux=True)(x), "should be a tuple"),
        raises(lambda: func.grad(lambda a: (a.sum(), 1), has_aux=True)(x), "unsupported type"),
        raises(lambda: func.grad(lambda a: a.sum())(whole), "only Tensors of floating point dtype"),
        raises(lambda: func.grad(lambda a: a.sum(), argnums=2)(x), "Got argnum=2, but only 1"),
        raises(lambda: func.grad(lambda a: a.sum(), argnums=())(x), "argnums must be non-empty"),
        raises(lambda: func.grad(lambda a: a.sum(), argnums="a")(x), "argnums must be int or"),
        raises(lambda: func.grad(lambda a, b: a.sum(), argnums=(0, 0))(x, x), "must be unique"),
        raises(lambda: func.grad(lambda a: a)(2.0), "must be Tensor, got"),
        raises(lambda: func.grad(lambda a: a[0].sum())([x, 3]), "must be Tensor, got"),
        raises(lambda: func.grad(lambda a: a.sum())(x + 0j), "only for real scalar outputs"),
        raises(lambda: func.vjp(lambda a: 2, x), "to return only tensors"),
        raises(lambda: func.vjp(lambda a: (a, a), x)[1](x), "Expected pytree structure"),
        raises(lambda: func.vjp(lambda a: a, x)[1](x[:2]), "Mismatch in shape"),
    )


@pytest.mark.parametrize("name", case.functions)
def test_case(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_a_gradient_leaves_no_graph_behind():
    x = lamina.ones(3)
    gradient, value = lamina.func.grad_and_value(lambda a: (a**2).sum())(x)
    assert gradient.grad_fn is None
    assert value.grad_fn is None


def test_the_error_shows_the_call_and_the_return():
    def squares(a):
        return a * a

    with pytest.raises(RuntimeError) as caught:
        lamina.func.grad(squares)(lamina.ones(3))
    text = str(caught.value)
    assert "lamina.func.grad(squares)(lamina.ones(3))" in text
    assert "return a * a" in text


def test_maml_learns_by_the_gradient_of_a_gradient_step():
    # One inner step of w - rate * dL/dw on L = (w x - y)^2 / 2 has a derivative in closed form.
    x, y, rate = 2.0, 3.0, 0.1
    func = lamina.func

    def loss(w):
        return (w * x - y) ** 2 / 2

    def after_a_step(w):
        return loss(w - rate * func.grad(loss)(w))

    w = lamina.tensor(0.25)
    moved = 0.25 - rate * (0.25 * x - y) * x
    expected = (moved * x - y) * x * (1 - rate * x * x)
    assert func.grad(after_a_step)(w).item() == pytest.approx(expected, rel=1e-5)
