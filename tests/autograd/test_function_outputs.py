"""Outputs of custom functions: views, changes in place, outputs without gradient, other values."""

from __future__ import annotations

import pytest

import lamina

from .recording import Cases, node_name, raises, warns

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
def input_returned_as_it_is(torch):
    same = make(torch, lambda ctx, x: x, lambda ctx, g: g * 5, "Same")
    x = leaf(torch, 1.0, 2.0)
    y = same.apply(x)
    z = x * 1
    of_z = same.apply(z)
    message = (
        "is a view and is being modified inplace. This view was created inside a custom Function"
    )
    with torch.no_grad():
        plain = same.apply(x)
    return (
        y is x, y._base is x, node_name(y), x.is_leaf, torch.autograd.grad(y.sum(), x),
        raises(lambda: of_z.add_(1), message), of_z._base is z,
        plain is x, plain.requires_grad, same.apply(torch.ones(2)).requires_grad,
    )  # fmt: skip


@case
def views_as_outputs(torch):
    one = make(torch, lambda ctx, x: x.view(-1), lambda ctx, g: g.view(2, 1))
    two = make(torch, lambda ctx, x: (x.view(-1), x * 2), lambda ctx, g, h: g.view(2, 1))
    x = torch.ones(2, 1, requires_grad=True)
    z = x * 1
    y, (first, _) = one.apply(z), two.apply(z)
    return (
        y._base is z, torch.autograd.grad(y.sum(), x, retain_graph=True),
        raises(lambda: y.add_(1), "This view was created inside a custom Function"),
        raises(lambda: first.add_(1), "is the output of a function that returns multiple views"),
    )  # fmt: skip


@case
def changes_in_place(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    double = make(torch, forward, lambda ctx, g: g * 2, "Double")
    x = leaf(torch, 1.0, 2.0)
    z = x * 1
    w = double.apply(z)
    base = x * 1
    part = base[0]
    changed = double.apply(part)
    found = torch.autograd.grad((base * base).sum(), x)
    leaf_error = raises(
        lambda: double.apply(x),
        "a leaf Variable that requires grad has been used in an in-place operation",
    )
    return (
        w is z, node_name(z), torch.autograd.grad(z.sum(), x), z, z._version > 0,
        changed is part, node_name(base), node_name(part),
        base.grad_fn.next_functions[0][0] is not None,
        found, leaf_error, double.apply(torch.ones(1)),
    )  # fmt: skip


@case
def changes_in_place_of_another_argument(torch):
    def forward(ctx, factor, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(factor, x.clone())
        x.mul_(factor)
        return x

    def backward(ctx, g):
        factor, x = ctx.saved_tensors
        return (g * x).sum(), g * factor

    scale = make(torch, forward, backward)
    factor, x = torch.tensor(3.0, requires_grad=True), leaf(torch, 1.0, 2.0)
    y = x * 1
    scale.apply(factor, y)
    return y, torch.autograd.grad((y * torch.tensor([1.0, 10.0])).sum(), [factor, x])


@case
def wrong_changes_in_place(torch):
    def keep(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x * 1

    def two(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x, x * 1

    def other(ctx, x):
        y = x * 1
        ctx.mark_dirty(y)
        return y

    x = leaf(torch, 1.0, 2.0)
    return (
        raises(
            lambda: make(torch, keep).apply(x * 1),
            "marked as dirty during the forward method were not returned as output",
        ),
        raises(
            lambda: make(torch, two).apply((x * 1)[0:1]),
            "your Function cannot return more than one Tensor",
        ),
        warns(
            lambda: make(torch, other).apply(x).requires_grad,
            "mark_dirty() received a tensor that was not an input",
        ),
    )


@case
def outputs_without_gradients(torch):
    seen = []

    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(a, x)
        return a, b, x, b > 0

    def backward(ctx, *gradients):
        seen.append(gradients[:3])
        return gradients[1]

    x = leaf(torch, 1.0, 2.0)
    outputs = make(torch, forward, backward).apply(x)
    outputs[1].sum().backward()
    return [t.requires_grad for t in outputs], outputs[2] is x, x.requires_grad, seen, x.grad


@case
def containers_are_passed_through(torch):
    x = leaf(torch, 1.0)
    as_list = make(torch, lambda ctx, x: [x * 2, 3]).apply(x)
    as_dict = make(torch, lambda ctx, x: {"y": x * 2}).apply(x)
    as_tuple = make(torch, lambda ctx, x: (x * 2,)).apply(x)
    nothing = make(torch, lambda ctx, x: None).apply(x)
    return (
        type(as_list),
        as_list[0].requires_grad,
        type(as_dict),
        type(as_tuple),
        as_tuple[0].requires_grad,
        nothing,
    )


@case
def outputs_are_numbered(torch):
    x = leaf(torch, 1.0)
    a, n, b = make(torch, lambda ctx, x: (x * 2, 3, x * 4), lambda ctx, g, n, h: g + 10 * h).apply(
        x
    )
    return a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, n, torch.autograd.grad(b, x)


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)
