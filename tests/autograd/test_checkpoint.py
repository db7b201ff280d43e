"""Checkpointing: the same gradients, node names and random numbers; what goes wrong and how."""

from __future__ import annotations

import importlib
import itertools

import pytest

import lamina

from .recording import Cases, node_name, raises, warns

case = Cases(__file__)


def checkpoints(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


@case
def names_of_nodes(torch):
    x = leaf(torch, 1.0, 2.0)
    run = checkpoints(torch).checkpoint
    return (
        node_name(run(lambda a: a.sin(), x, use_reentrant=False)),
        node_name(run(lambda a: a.sin(), x, use_reentrant=True)),
        warns(
            lambda: node_name(run(lambda a: a.sin(), x)),
            "the use_reentrant parameter should be passed explicitly",
        ),
        warns(
            lambda: run(lambda a: a.sin(), x.detach(), use_reentrant=True).requires_grad,
            "None of the inputs have requires_grad=True. Gradients will be None",
        ),
    )


@case
def gradients(torch):
    run = checkpoints(torch).checkpoint
    found = []
    for reentrant in (False, True, None):
        x, w, calls = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), []

        def region(a, b, calls=calls):
            calls.append(1)
            return (a * b).exp().sin() * w  # noqa: B023

        y = region(x, w) if reentrant is None else run(region, x, w, use_reentrant=reentrant)
        (y * y).sum().backward()
        found.append((y, x.grad, w.grad, len(calls)))
    return found


@case
def other_arguments_and_results(torch):
    run = checkpoints(torch).checkpoint
    x = leaf(torch, 1.0, 2.0)

    def region(a, n, flag=False):
        return a * n, 3, (a > 0) & flag

    y, number, mask = run(region, x, 5, use_reentrant=False, flag=True)
    z, number_again, mask_again = run(region, x, 5, True, use_reentrant=True)
    (y + z).sum().backward()
    return number, mask, number_again, mask_again, x.grad


@case
def several_passes(torch):
    run = checkpoints(torch).checkpoint
    x, calls = leaf(torch, 1.0, 2.0), []

    def region(a):
        calls.append(1)
        return (a * a).exp()

    y = run(region, x, use_reentrant=False)
    s = y.sum()
    s.backward(retain_graph=True)
    s.backward()
    (g,) = torch.autograd.grad(run(region, x, use_reentrant=False).sum(), x, create_graph=True)
    return (
        x.grad,
        len(calls),
        g,
        torch.autograd.grad(g.sum(), x),
        raises(s.backward, "a second time"),
    )


@case
def chosen_inputs(torch):
    run = checkpoints(torch).checkpoint
    x = leaf(torch, 1.0, 2.0)
    return (
        torch.autograd.grad(run(lambda a: a.sin(), x, use_reentrant=False).sum(), x),
        raises(
            lambda: torch.autograd.grad(run(lambda a: a.sin(), x, use_reentrant=True).sum(), x),
            "is incompatible with .grad() or passing an `inputs` parameter to .backward()",
        ),
    )


@case
def checkpoints_nest(torch):
    run = checkpoints(torch).checkpoint
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)

    def inner(a, b):
        return (a * b).sin() * a

    def outer(a):
        return run(inner, a.cos(), w, use_reentrant=False).tanh() * a

    def outermost(a):
        return run(outer, a * a, use_reentrant=False).exp()

    return [
        torch.autograd.grad(call().sum(), [x, w])
        for call in (lambda: outermost(x), lambda: run(outermost, x, use_reentrant=False))
    ]


@case
def random_numbers_are_the_same_again(torch):
    run = checkpoints(torch).checkpoint
    found = []
    for reentrant in (False, True):
        torch.manual_seed(0)
        x = torch.ones(8, requires_grad=True)
        y = run(lambda a: a * torch.rand(8) * a, x, use_reentrant=reentrant)
        before = torch.rand(2)
        y.sum().backward()
        found.append((y, before, x.grad, torch.rand(2)))
    return found


@case
def regions_that_change(torch):
    run = checkpoints(torch).checkpoint
    x = leaf(torch, 1.0, 2.0)

    def changing(first, second, **kwargs):
        count = itertools.count()
        y = run(
            lambda a: (first if next(count) == 0 else second)(a), x, use_reentrant=False, **kwargs
        )
        return lambda: y.sum().backward()

    deep = lambda a: a.sin().exp().sin()  # noqa: E731
    return (
        raises(
            changing(deep, lambda a: a * 2),
            "A different number of tensors was saved during the original forward and recomputation",
        ),
        raises(
            changing(lambda a: a.exp(), lambda a: torch.cat([a, a]).exp()),
            "have different metadata than during the forward pass",
        ),
        raises(changing(lambda a: a.exp(), lambda a: a.exp().sin())),
        raises(
            lambda: run(deep, x, use_reentrant=False, determinism_check="bad"),
            "determinism_check should be one of ['default', 'none'], but got bad",
        ),
        raises(lambda: run(deep, x, use_reentrant=True, b=1), "Unexpected keyword arguments: b"),
        raises(
            lambda: run(lambda a: a.detach(), x, use_reentrant=True).sum().backward(),
            "none of output has requires_grad=True, this checkpoint() is not necessary",
        ),
    )


@case
def contexts_around_both_runs(torch):
    run, log = checkpoints(torch).checkpoint, []

    class Note:
        def __init__(self, word):
            self.word = word

        def __enter__(self):
            log.append(self.word)

        def __exit__(self, *_):
            log.append(self.word + " ends")

    x = leaf(torch, 1.0)
    y = run(
        lambda a: a.sin(),
        x,
        use_reentrant=False,
        context_fn=lambda: (Note("first"), Note("second")),
    )
    y.backward()
    with torch.no_grad():
        plain = run(lambda a: a.sin(), x, use_reentrant=False)
    return log, plain.requires_grad


@case
def early_stop(torch):
    module, log = checkpoints(torch), []

    def region(a):
        y = a.exp()
        log.append("saved")
        return y

    for stops in (True, False):
        x = leaf(torch, 1.0)
        with module.set_checkpoint_early_stop(stops):
            y = module.checkpoint(region, x, use_reentrant=False)
        y.backward()
        log.append("-")
    return log


@case
def sequences(torch):
    module = checkpoints(torch)
    x, calls = leaf(torch, 0.5, 2.0), []
    steps = [lambda a, k=k: calls.append(k) or (a * k).sin() for k in (1.0, 2.0, 3.0, 4.0, 5.0)]
    found = []
    for reentrant in (False, True):
        for segments in (1, 2, 3):
            x.grad = None
            module.checkpoint_sequential(
                steps, segments, x, use_reentrant=reentrant
            ).sum().backward()
            found.append((x.grad, len(calls)))
            calls.clear()
    return found


@case
def helpers(torch):
    module = checkpoints(torch)
    x = leaf(torch, 1.0)
    y, n = module.detach_variable((x, 3))
    return (
        y is x, y.requires_grad, y.is_leaf, n,
        raises(lambda: module.detach_variable(x), "Only tuple of tensors is supported"),
        len(module.noop_context_fn()), issubclass(module.CheckpointError, RuntimeError),
    )  # fmt: skip


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_inner_values_are_not_kept():
    kept = []

    def region(a):
        for _ in range(5):
            a = (a * 2).exp()
        return a

    x = lamina.ones(1, requires_grad=True)
    with lamina.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        lamina.utils.checkpoint.checkpoint(region, x, use_reentrant=False)
    assert len(kept) == 1
    assert kept[0] is x
