"""`jvp`, `linearize`, `jacrev`, `jacfwd` and `hessian`, and their nests."""

from __future__ import annotations

import pytest
from autograd.recording import Cases, raises

import lamina
import lamina.func

case = Cases(__file__)


def vector(torch):
    return torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)


@case
def products_with_vectors(torch):
    x, func = vector(torch), torch.func
    v = torch.tensor([1.0, 0.0, -2.0], dtype=torch.float64)
    output, jvp_fn = func.linearize(lambda a: a.sin() * a, x)
    return (
        func.jvp(lambda a: a.sin() * a, (x,), (v,)),
        func.jvp(lambda a, b: (a * b, b.sum()), (x, x + 1), (v, v)),
        func.jvp(lambda n: n["a"] * 2, ({"a": x},), ({"a": v},))[1],
        func.jvp(lambda a: torch.ones(2), (x,), (v,)),
        func.jvp(lambda a: (a * 2, a + 1), (x,), (v,), has_aux=True),
        func.jvp(lambda a: (a * 2).long(), (x,), (v,)),
        output,
        jvp_fn(v),
        jvp_fn(v * 2),
    )


@case
def whole_jacobians(torch):
    x, func = vector(torch), torch.func
    w = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]], dtype=torch.float64)

    def f(a):
        return (w @ a).tanh()

    found = []
    for jacobian in (func.jacrev, func.jacfwd):
        found += [
            jacobian(f)(x),
            jacobian(lambda a: (a, {"k": (a**2).sum()}))(x)[1]["k"],
            jacobian(lambda a, b: a * b, argnums=(0, 1))(x, x + 1),
            jacobian(lambda a, b: a * b, argnums=1)(x, x + 1),
            jacobian(lambda n: n["a"] * 2)({"a": x})["a"],
            jacobian(lambda a: (a * 2, a), has_aux=True)(x),
            jacobian(lambda a: torch.ones(2))(x),
        ]
    return (*found, func.jacrev(f, chunk_size=1)(x))


@case
def hessians_in_all_ways(torch):
    x, func = vector(torch), torch.func

    def f(a):
        return (a**3).sum() * a[0] + (a[1] * a[2]).exp()

    ways = (func.jacrev, func.jacfwd)
    return (
        func.hessian(f)(x),
        [[outer(inner(f))(x) for outer in ways] for inner in ways],
        func.hessian(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x),
        func.jacfwd(func.jacrev(func.jacfwd(f)))(x),
    )


@case
def forward_and_reverse_mixed(torch):
    x, func = vector(torch), torch.func

    def f(a):
        return (a.sin() * a.sum()).sum()

    return (
        func.jvp(func.grad(f), (x,), (x,)),
        func.grad(lambda a: func.jvp(f, (a,), (a.detach(),))[1])(x),
        func.jvp(lambda a: func.jvp(f, (a,), (x,))[1], (x,), (x,)),
        func.vmap(lambda v: func.jvp(func.grad(f), (x,), (v,))[1])(
            torch.eye(3, dtype=torch.float64)
        ),
        func.vmap(func.hessian(f))(torch.stack([x, x + 1])),
    )


@case
def forward_mode_through_changes_in_place(torch):
    x, func = vector(torch), torch.func

    def f(a):
        a = a.clone()
        a[0] = a[1] * 2
        view = a[1:]
        view.mul_(3)
        a.exp_()
        view.add_(a[0])
        b = torch.zeros(4, dtype=torch.float64)
        b[1:] = a
        b[0].fill_(5.0)
        return b

    return func.jvp(f, (x,), (x,)), func.jacfwd(f)(x)


@case
def functions_of_the_user(torch):
    x, func = vector(torch), torch.func

    class Cubed(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3 * ctx.saved_tensors[0] ** 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 30 * ctx.saved_tensors[0] ** 2

    class Mapped(Cubed):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            return Cubed.apply(x) + info.batch_size, in_dims[0]

    class Both(Mapped):
        generate_vmap_rule = True

    rows = torch.stack([x, x + 1])
    return (
        func.jvp(Cubed.apply, (x,), (x,)),
        func.vmap(Cubed.apply)(rows),
        func.vmap(func.grad(lambda a: Cubed.apply(a).sum()))(rows),
        func.vmap(Mapped.apply)(rows),
        func.vmap(func.grad(lambda a: Mapped.apply(a).sum()))(rows),
        raises(lambda: func.vmap(Both.apply)(rows), "has both generate_vmap_rule=True and an"),
    )


@case
def mistakes(torch):
    x, func = vector(torch), torch.func
    return (
        raises(lambda: func.jvp(lambda a: a, x, x), "Expected primals to be a tuple"),
        raises(lambda: func.jvp(lambda a: a, (), ()), "at least one Tensor"),
        raises(lambda: func.jvp(lambda a: a, (x, x), (x,)), "same python structure"),
        raises(lambda: func.jvp(lambda a: a, (x,), (x[:2],)), "has a different size than"),
        raises(lambda: func.jvp(lambda a: a, (torch.arange(3),), (x,)), "to be floating point"),
        raises(lambda: func.jvp(lambda a: a, (2.0,), (2.0,)), "only contain Tensors"),
        raises(lambda: func.jvp(lambda a: 2, (x,), (x,)), "to return only tensors"),
        raises(
            lambda: func.jvp(lambda a: torch.ones(2), (x,), (x,), strict=True),
            "independent of the inputs",
        ),
        raises(lambda: func.jacrev(lambda a: a)(torch.arange(3)), "only Tensors of floating point"),
        raises(lambda: func.jacrev(lambda a: a.long())(x), "must be floating-point or complex"),
        raises(lambda: func.jacrev(lambda a: 2)(x), "to return only tensors"),
        raises(lambda: func.jacrev(lambda a: a, chunk_size=0), "should be greater than 0"),
        raises(lambda: func.jacfwd(lambda a: a)(torch.arange(3)), "to be floating point"),
        raises(lambda: func.jacfwd(lambda a: 2)(x), "to return only tensors"),
        raises(lambda: func.jacfwd(lambda a: torch.rand(3))(x), "randomness error mode"),
        raises(lambda: func.linearize(lambda a: a, x)[1](x[:2]), "doesn't match the shape"),
        raises(lambda: func.linearize(lambda a: a, x)[1](x, x), "to have the same argspec"),
    )


@pytest.mark.parametrize("name", case.functions)
def test_case(name):
    assert case.answer(name, lamina) == case.recorded(name)
