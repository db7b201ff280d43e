"""Gradients of custom functions: how they are fitted to inputs, and what is refused."""

from __future__ import annotations

import pytest

import lamina

from .recording import Cases, raises

case = Cases(__file__)


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def make(torch, forward, backward=lambda ctx, *g: g[0], name="Custom", **others):
    """A Function with these static methods."""
    methods = {"forward": forward, "backward": backward, **others}
    return type(torch.autograd.Function)(
        name,
        (torch.autograd.Function,),
        {key: staticmethod(value) for key, value in methods.items() if value is not None},
    )


@case
def gradients_are_fitted(torch):
    x = leaf(torch, 1.0, 2.0)

    def answer(backward, *phrases):
        double = make(torch, lambda ctx, x: x * 2, backward, "Double")
        return raises(
            lambda: [
                (str(g.dtype), g) if g is not None else None
                for g in torch.autograd.grad(double.apply(x).sum(), x, allow_unused=True)
            ],
            *phrases,
        )

    number = "returned an incorrect number of gradients (expected 1, got 2)"
    shape = (
        "returned an invalid gradient at index 0 - got {} but expected shape compatible with [2]"
    )
    return (
        answer(lambda ctx, g: (g, g), number, "DoubleBackward"),
        answer(lambda ctx, g: (g, 1), number),
        answer(lambda ctx, g: None),
        answer(lambda ctx, g: (g, None, None)),
        answer(lambda ctx, g: 3, "expected Variable or None (got int)"),
        answer(lambda ctx, g: g.sum(), shape.format("[]")),
        answer(lambda ctx, g: g[:1], shape.format("[1]")),
        answer(lambda ctx, g: torch.ones(5, 2)),
        answer(lambda ctx, g: g.double()),
        answer(lambda ctx, g: g * 1j),
        answer(lambda ctx, g: [g], "expected Variable or None (got list)"),
    )


@case
def gradients_for_other_arguments(torch):
    forward = lambda ctx, x, n: x * 2  # noqa: E731
    two = make(torch, forward, lambda ctx, g: (g, g))
    one = make(torch, forward, lambda ctx, g: g)
    x = leaf(torch, 1.0, 2.0)
    return (
        raises(
            lambda: two.apply(x, 3).sum().backward(),
            "returned a gradient different than None at position 2, but the corresponding forward "
            "input was not a Variable",
        ),
        torch.autograd.grad(two.apply(x, torch.ones(2)).sum(), x),
        raises(lambda: one.apply(x, 3).sum().backward(), "(expected 2, got 1)"),
    )


@case
def what_is_not_written(torch):
    x = leaf(torch, 1.0)
    no_backward = make(torch, lambda ctx, x: x * 2, None)
    no_forward = make(torch, None)
    legacy = make(torch, lambda ctx, x: x * 2)
    return (
        raises(
            lambda: no_backward.apply(x).backward(),
            "You must implement either the backward or vjp method",
        ),
        no_backward.apply(torch.ones(1)),
        raises(
            lambda: no_forward.apply(x),
            "You must implement the forward function for custom autograd.Function",
        ),
        raises(
            lambda: legacy()(x),
            "Legacy autograd function with non-static forward method",
            "static forward method",
        ),
    )


@case
def once_differentiable(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert not torch.is_grad_enabled()
        return 2 * x * g

    square = make(torch, forward, torch.autograd.function.once_differentiable(backward))
    x, v = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 1.0)
    (plain,) = torch.autograd.grad(square.apply(x).sum(), x, create_graph=True)
    (weighed,) = torch.autograd.grad(square.apply(x), x, v, create_graph=True)
    return (
        plain.requires_grad,
        raises(lambda: plain.sum().backward(), "element 0 of tensors does not require grad"),
        weighed, weighed.requires_grad,
        raises(
            lambda: weighed.sum().backward(),
            "trying to differentiate twice a function that was marked with @once_differentiable",
        ),
    )  # fmt: skip


@case
def hooks_on_the_node(torch):
    log = []
    double = make(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    x = leaf(torch, 1.0)
    y = double.apply(x)
    y.grad_fn.register_prehook(lambda go: log.append(("pre", go)))
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi, go)) or (gi[0] * 10,))
    y.sum().backward()
    return log, x.grad, len(y.grad_fn.next_functions)


@case
def classes_of_nodes(torch):
    double = make(torch, lambda ctx, x: x * 2, name="Double")
    y = double.apply(leaf(torch, 1.0))
    return (
        double._backward_cls,
        type(y.grad_fn) is double._backward_cls,
        y.grad_fn.name(),
        repr(y.grad_fn).split(" object")[0],
    )


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)
