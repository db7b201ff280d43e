"""Kept values: version checks, hooks on saved tensors, and handles on what a node keeps."""

from __future__ import annotations

import pytest

import lamina

from .recording import Cases, raises

case = Cases(__file__)


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def same(tensor):
    return tensor


def squared_gradient(torch, pack, unpack=same):
    """The gradient of x * x, saved through hooks."""
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    return torch.autograd.grad(y.sum(), x)[0]


@case
def a_tensor_changed_by_itself(torch):
    def pulled(change):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        y = x * 1
        change(y)
        return lambda: torch.autograd.grad(y.sum(), x)

    return (
        raises(pulled(lambda y: y.mul_(y)), "modified by an inplace operation"),
        raises(pulled(lambda y: y.div_(y)), "modified by an inplace operation"),
        raises(pulled(lambda y: y[0].mul_(y[1])), "modified by an inplace operation"),
        raises(pulled(lambda y: y.add_(y))),
        raises(pulled(lambda y: y.copy_(y))),
        raises(pulled(lambda y: y.mul_(y.clone()))),
    )


@case
def what_pack_hooks_see(torch):
    x, seen = leaf(torch, 1.0, 2.0), []

    def pack(t):
        seen.append(
            (tuple(t.shape), t.is_leaf, t.requires_grad, t is x, torch.is_grad_enabled(),
             None if t.grad_fn is None else type(t.grad_fn).__name__)
        )  # fmt: skip
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, same):
        (x.exp() * 3.0).tanh()
        x * x.detach()
    return seen


@case
def mode_in_unpack_hooks(torch):
    x, seen = leaf(torch, 1.0, 2.0), []
    with torch.autograd.graph.saved_tensors_hooks(
        same, lambda t: seen.append(torch.is_grad_enabled()) or t
    ):
        y = x.exp()
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x, create_graph=True)
    return seen


@case
def any_content(torch):
    return (
        squared_gradient(torch, lambda t: ("k", t.detach().clone()), lambda p: p[1] * 10),
        squared_gradient(torch, lambda t: t.tolist(), torch.tensor),
        squared_gradient(torch, same, lambda t: t[0]),
        squared_gradient(torch, same, lambda t: t.double()),
    )


@case
def second_derivative_through_hooks(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    found = []
    for pack in (same, lambda t: t.detach().clone()):
        with torch.autograd.graph.saved_tensors_hooks(pack, same):
            y = (x * w).exp() * x
            (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append((g, torch.autograd.grad(g.sum(), [x, w])))
    return found


@case
def mistakes_in_hooks(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    return (
        raises(
            lambda: squared_gradient(torch, lambda t: t.detach().add_(1)),
            "A saved tensor pack hook is modifying its input in place",
        ),
        raises(
            lambda: squared_gradient(torch, same, lambda t: 3),
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type int",
        ),
        raises(lambda: squared_gradient(torch, lambda t: 1 / 0), "division by zero"),
        raises(lambda: squared_gradient(torch, same, lambda t: 1 / 0), "division by zero"),
        raises(lambda: hooks(1, 2).__enter__()),
    )


@case
def hooks_nest(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    x = leaf(torch, 1.0, 2.0)
    found = []
    with hooks(lambda t: t + 1, same):
        with hooks(lambda t: t * 10, same):
            found.append(torch.autograd.grad((x * x).sum(), x))
        found.append(torch.autograd.grad((x * x).sum(), x))
    found.append(torch.autograd.grad((x * x).sum(), x))
    return found


@case
def hooks_can_be_disabled(torch):
    graph = torch.autograd.graph

    def within():
        with graph.saved_tensors_hooks(same, same), graph.disable_saved_tensors_hooks("not here"):
            pass

    def around():
        with graph.disable_saved_tensors_hooks("not here"), graph.saved_tensors_hooks(same, same):
            pass

    return raises(within, "not here"), raises(around, "not here"), squared_gradient(torch, same)


@case
def versions(torch):
    x = leaf(torch, 1.0, 2.0)
    message = "modified by an inplace operation"

    def change(make):
        h = x * 1
        y = make(h)
        h.add_(1)
        return raises(lambda: y.sum().backward(), message)

    def change_result():
        y = x.exp()
        y.add_(1)
        return raises(lambda: y.sum().backward(), message)

    def hooked():
        h = x * 1
        with torch.autograd.graph.saved_tensors_hooks(same, same):
            y = h * h
        h.add_(1)
        return torch.autograd.grad(y.sum(), x)

    return (
        change(lambda h: h * h),
        change(lambda h: h + 1),
        change(lambda h: h.exp()),
        change_result(),
        hooked(),
    )


@case
def what_nodes_show(torch):
    x, w = leaf(torch, 1.0, 2.0), torch.ones(2)
    y = x * w
    z = y.exp()
    return (
        y.grad_fn._saved_self, y.grad_fn._saved_other is w, z.grad_fn._saved_result,
        z.grad_fn._saved_result is z,
        hasattr(y.grad_fn, "_saved_nothing"),
    )  # fmt: skip


@case
def hooks_on_one_saved_tensor(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    saved = y.grad_fn._raw_saved_self
    seen = []
    saved.register_hooks(lambda t: seen.append((t is x, t.requires_grad, t.grad_fn)) or t * 2, same)
    first = torch.autograd.grad(y.sum(), x, retain_graph=True)
    again = raises(
        lambda: saved.register_hooks(same, same),
        "Calling register_hooks on a saved tensor whose hooks have already been set",
    )
    y.sum().backward()
    freed = raises(
        lambda: saved.register_hooks(same, same),
        "Calling register_hooks on a saved tensor after it has been freed",
    )
    nothing = raises(
        lambda: (x * torch.ones(2)).grad_fn._raw_saved_self.register_hooks(same, same),
        "Calling register_hooks on a saved tensor with value None is forbidden",
    )
    z = x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, same)
    return seen, first, again, freed, nothing, torch.autograd.grad(z.sum(), x)


@case
def saving_on_the_cpu(torch):
    graph = torch.autograd.graph
    x = leaf(torch, 1.0, 2.0)
    with graph.save_on_cpu():
        y = (x * x).exp()
    with graph.save_on_cpu(pin_memory=False):
        z = x.sin() * x
    return torch.autograd.grad(y.sum(), x), torch.autograd.grad(z.sum(), x)


@case
def changing_saved_tensors(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = x.clone()
        out = a.sin().exp() * a
        a.sin_()
        out.mul_(2)
        found = torch.autograd.grad(out.sum(), x)
        context.clear()
    return found


@case
def versions_counted_by_hand(torch):
    graph = torch.autograd.graph
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    graph.increment_version(x)
    graph.increment_version([x, y])
    with torch.inference_mode():
        plain = torch.ones(1)
    graph.increment_version(plain)
    return (
        x._version,
        y._version,
        raises(lambda: y.sum().backward(), "modified by an inplace operation"),
    )


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_nodes_are_nodes():
    x = lamina.ones(1, requires_grad=True)
    y = x * 2
    node = lamina.autograd.graph.Node
    assert isinstance(y.grad_fn, node)
    assert isinstance(y.grad_fn.next_functions[0][0], node)
    assert not isinstance(x, node)
