"""Hooks on tensors, nodes and gradients: their order, what they get, what they may return."""

from __future__ import annotations

import gc

import pytest

import lamina
from lamina.core.hooks import any_hooks

from .recording import Cases, raises

case = Cases(__file__)


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def without_gradient(torch):
    """A Function that sends no gradient back."""

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return None

    return Silent.apply


# --- on tensors -----------------------------------------------------------------------------------


@case
def each_hook_sees_the_result_of_the_one_before(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: log.append(g.tolist()) or g * 10)
    y.register_hook(lambda g: log.append(g.tolist()))
    y.register_hook(lambda g: log.append(g.tolist()) or g + 1)
    y.sum().backward()
    return log, x.grad


@case
def handles(torch):
    x, log = leaf(torch, 1.0), []
    y = x * 2
    handle = y.register_hook(lambda g: log.append("first"))
    with y.register_hook(lambda g: log.append("second")):
        y.sum().backward(retain_graph=True)
    handle.remove()
    handle.remove()
    y.sum().backward()
    return log


@case
def hooks_changed_by_hooks(torch):
    x, log = leaf(torch, 1.0), []
    handle = x.register_hook(lambda g: handle.remove())
    x.register_hook(lambda g: log.append("b"))
    x.register_hook(lambda g: x.register_hook(lambda g: log.append("late")) and None)
    (x * 2).sum().backward()
    log.append("-")
    (x * 2).sum().backward()
    return log


@case
def hook_may_change_its_gradient_in_place(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    y.register_hook(lambda g: g.mul_(5))
    (y * torch.ones(2)).sum().backward()
    return x.grad


@case
def hooks_without_gradient(torch):
    x, log = leaf(torch, 1.0), []
    y = x * 2
    y.register_hook(lambda g: log.append(("y", g)))
    y.grad_fn.register_prehook(lambda go: log.append(("pre", go)))
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi, go)))
    x.register_hook(lambda g: log.append(("x", g)))
    x.register_post_accumulate_grad_hook(lambda t: log.append(("accumulated", t.grad)))
    without_gradient(torch)(y).sum().backward()
    return log, x.grad


@case
def hook_of_an_output_without_gradient(torch):
    log = []
    a, b = torch.ones(4, requires_grad=True).split(2)
    b.register_hook(lambda g: log.append(g))
    a.sum().backward()
    return log


@case
def refused(torch):
    x, plain = leaf(torch, 1.0), torch.ones(1)
    y = x * 2
    with torch.no_grad():
        cut = x * 2
    message = "cannot register a hook on a tensor that doesn't require gradient"
    return (
        raises(lambda: plain.register_hook(print), message),
        raises(lambda: cut.register_hook(print), message),
        raises(
            lambda: y.register_post_accumulate_grad_hook(print),
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
        ),
        raises(
            lambda: plain.retain_grad(), "can't retain_grad on Tensor that has requires_grad=False"
        ),
    )


@case
def wrong_results(torch):
    def answer(phrase, tensor=None, before=None, after=None):
        y = leaf(torch, 1.0, 2.0) * 2
        if tensor:
            y.register_hook(tensor)
        if before:
            y.grad_fn.register_prehook(before)
        if after:
            y.grad_fn.register_hook(after)
        return raises(lambda: y.sum().backward(), phrase)

    return (
        answer("has changed the size of value", tensor=lambda g: g.sum()),
        answer("expected Variable, but hook returned 'int'", tensor=lambda g: 3),
        answer(
            "has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)",
            tensor=lambda g: g.double(),
        ),
        answer(
            "can't replace a None gradient with a non-None value",
            after=lambda gi, go: (gi[0], gi[0]),
        ),
        answer("expected tuple, but hook returned", after=lambda gi, go: gi[0]),
        answer("expected tuple, but hook returned", before=lambda go: go[0]),
        answer(
            "has returned an incorrect number of values (got 2, but expected 1)",
            before=lambda go: (go[0], go[0]),
        ),
    )


@case
def mode_in_hooks(torch):
    found = []
    for create_graph in (False, True):
        x = leaf(torch, 1.0)
        y = x * x
        y.register_hook(lambda g: found.append((torch.is_grad_enabled(), g.requires_grad)))
        x.register_post_accumulate_grad_hook(lambda t: found.append(torch.is_grad_enabled()))
        (y * y).sum().backward(create_graph=create_graph)
    return found


# --- order at one tensor --------------------------------------------------------------------------


@case
def order_at_a_node(torch):
    x, log = leaf(torch, 1.0), []
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi, go)))
    y.grad_fn.register_prehook(lambda go: log.append(("pre", go, y.grad)) or (go[0] * 100,))
    y.retain_grad()
    y.register_hook(lambda g: log.append(("hook", g)) or g * 10)
    (y * 1).sum().backward()
    return log, y.grad, x.grad


@case
def order_at_a_leaf(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    note = log.append
    accumulator.register_hook(lambda gi, go: note(("post", gi, go, x.grad.clone())))
    accumulator.register_prehook(lambda go: note(("pre", go, x.grad)))
    x.register_post_accumulate_grad_hook(lambda t: note(("accumulated", t is x, t.grad.clone())))
    x.register_hook(lambda g: note(("hook", g)))
    y.sum().backward(retain_graph=True)
    note("grad")
    torch.autograd.grad((x * 2).sum(), x)
    note("inputs")
    x.grad = None
    (x * 2).sum().backward(inputs=[x])
    return log


@case
def hooks_and_chosen_inputs(torch):
    x, w, log = leaf(torch, 1.0), leaf(torch, 2.0), []
    x.register_hook(lambda g: log.append("x"))
    w.register_hook(lambda g: log.append("w"))
    y = x * 2
    y.register_hook(lambda g: log.append("y") or g * 10)
    y.grad_fn.register_prehook(lambda go: log.append("pre"))
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    z = (y * w).sum()
    found = []
    for inputs in ([w], [y], [y, x]):
        found.append((torch.autograd.grad(z, inputs, retain_graph=True), list(log)))
        log.clear()
    z.backward(inputs=[y])
    return found, log, y.grad, x.grad


# --- retain_grad ----------------------------------------------------------------------------------


@case
def retained_gradients_add_up(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    s = y.sum()
    s.backward(retain_graph=True)
    first = y.grad
    torch.autograd.grad(s, x, retain_graph=True)
    s.backward()
    return first, y.grad, x.grad


@case
def retained_gradient_moves_to_the_newest_version(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: log.append(g))
    y.retain_grad()
    y.mul_(5)
    y.sum().backward()
    return log, y.grad, y.retains_grad, x.grad


@case
def retained_gradient_of_a_recorded_pass(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    return y.grad, y.grad.requires_grad, torch.autograd.grad(y.grad.sum(), x)


@case
def retain_grad_on_leaves_and_twice(torch):
    x = leaf(torch, 1.0)
    x.retain_grad()
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    y.sum().backward()
    return x.retains_grad, y.retains_grad, x.grad, y.grad


# --- post-accumulate, and many gradients ----------------------------------------------------------


@case
def post_accumulate_may_use_the_gradient_up(torch):
    x = leaf(torch, 1.0, 2.0)

    def step(t):
        with torch.no_grad():
            t -= 0.5 * t.grad
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    return x, x.grad


@case
def multi_grad_hooks(torch):
    graph, log = torch.autograd.graph, []
    x, y, z = (leaf(torch, k, 2.0) for k in (1.0, 3.0, 5.0))
    h = x * y
    handle = graph.register_multi_grad_hook((x, y, z, h), lambda gs: log.append(list(gs)))
    (h * h).sum().backward(retain_graph=True)
    (x * y * z).sum().backward()
    handle.remove()
    (x * y).sum().backward()
    with graph.register_multi_grad_hook((x, y, z), lambda g: log.append(("any", g)), mode="any"):
        (x * y).sum().backward()
        (y * z).sum().backward()
    (x * y).sum().backward()
    bad = raises(
        lambda: graph.register_multi_grad_hook((x,), print, mode="some"),
        "Expects mode to be one of ('all', 'any') but got some",
    )
    return log, bad


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_passes_are_plain_again_when_hooked_tensors_are_gone():
    gc.collect()
    before = any_hooks()
    x = lamina.ones(1, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: None)
    assert any_hooks()
    del x, y
    assert any_hooks() == before


def test_errors_name_the_hook():
    x = lamina.ones(2, requires_grad=True)

    def halve(gradient):
        return gradient[:1]

    x.register_hook(halve)
    with pytest.raises(RuntimeError, match=r"'halve' has changed the size") as caught:
        (x * 2).sum().backward()
    assert caught.value.places[0].expression == "def halve(gradient)"
