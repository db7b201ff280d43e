"""Forward mode by hand: levels, dual tensors, and what carries tangents."""

from __future__ import annotations

import importlib

import pytest

import lamina

from .recording import Cases, raises

case = Cases(__file__)


def mode(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


def vector(torch, **options):
    return torch.tensor([0.5, -1.0, 2.0], **options)


@case
def tangents_through_operations(torch):
    fw, x = mode(torch), vector(torch)
    v = torch.tensor([1.0, 0.0, -2.0])
    with fw.dual_level():
        dual = fw.make_dual(x, v)
        results = [
            dual,
            dual * dual,
            dual.sum(),
            dual.view(3, 1),
            dual[1:],
            torch.stack([dual, x]),
            dual @ x,
            dual.exp().cumsum(0),
            torch.softmax(dual, 0),
            dual.sort()[0],
            x * dual + 1,
            torch.where(x > 0, dual, x),
            dual.norm(),
        ]
        found = [tuple(fw.unpack_dual(result)) for result in results]
        without = [
            fw.unpack_dual(t).tangent is None for t in (x, dual.detach(), dual > 0, dual.long())
        ]
        with torch.no_grad():
            unrecorded = fw.unpack_dual(dual * 2).tangent
    return found, without, unrecorded, fw.unpack_dual(dual).tangent is None


@case
def changes_in_place(torch):
    fw, x = mode(torch), vector(torch)
    with fw.dual_level():
        dual = fw.make_dual(x.clone(), torch.ones(3)) * 1
        view = dual[1:]
        view.mul_(3)
        first = [t.clone() for t in fw.unpack_dual(dual)]
        dual[0] = dual[1] * 2
        second = [t.clone() for t in fw.unpack_dual(dual)]
        plain = torch.zeros(3)
        part = plain[:2]
        plain.copy_(dual)
        third = fw.unpack_dual(part).tangent.clone()
        view.zero_()
        return first, second, third, fw.unpack_dual(dual).tangent


@case
def with_the_graph(torch):
    fw = mode(torch)
    w = vector(torch, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(w, torch.ones(3))
        output = (dual**3).sum()
        primal, tangent = fw.unpack_dual(output)
        (forward_over_reverse,) = torch.autograd.grad(output, w, retain_graph=True)
        over = fw.unpack_dual(forward_over_reverse).tangent
        tangent.backward()
    return primal.requires_grad, tangent.requires_grad, over, w.grad


@case
def functions_of_the_user(torch):
    fw, x = mode(torch), vector(torch)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, k):
            ctx.save_for_forward(x, y)
            ctx.k = k
            return x * y * k, x > 0

        @staticmethod
        def jvp(ctx, dx, dy, dk):
            x, y = ctx.saved_tensors
            assert dk is None
            return (dx * y + x * dy) * ctx.k, None

    class Short(Product):
        @staticmethod
        def jvp(ctx, dx, dy, dk):
            return dx

    class Number(Product):
        @staticmethod
        def jvp(ctx, dx, dy, dk):
            return 3, None

    class Without(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fw.dual_level():
        dual = fw.make_dual(x, torch.ones(3))
        found = tuple(fw.unpack_dual(Product.apply(dual, x, 3)[0]))
        wrong = (
            raises(lambda: Short.apply(dual, x, 3), "invalid number of forward gradients"),
            raises(lambda: Number.apply(dual, x, 3), "expected Variable or None"),
            raises(lambda: Without.apply(dual), "You must implement the jvp function"),
        )
    return found, wrong


@case
def mistakes(torch):
    fw, x = mode(torch), vector(torch)
    outside = (
        raises(lambda: fw.make_dual(x, x), "no level exists, make sure to enter_dual_level()"),
        raises(fw.exit_dual_level, "Dual level must be a positive number"),
    )
    with fw.dual_level():
        inside = (
            raises(lambda: fw.make_dual(x, x[:2]), "has a different size than that of the"),
            raises(lambda: fw.make_dual(torch.arange(3), x), "to be floating point or complex"),
            raises(fw.enter_dual_level, "Nested forward mode AD is not supported"),
        )
    return outside, inside


@pytest.mark.parametrize("name", case.functions)
def test_case(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_tangents_go_with_their_level():
    fw, x = lamina.autograd.forward_ad, lamina.ones(2)
    with fw.dual_level():
        kept = fw.make_dual(x, x) * 2
    with fw.dual_level():
        assert fw.unpack_dual(kept).tangent is None
    assert "tangents" not in kept.__dict__ or not kept.__dict__["tangents"]
