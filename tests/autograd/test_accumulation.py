"""How gradients are added to `.grad`: in place or not, in whose memory, in which layout."""

from __future__ import annotations

import pytest

import lamina

from .recording import Cases

case = Cases(__file__)


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


@case
def second_pass_adds_in_place(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    return x.grad is first, x.grad


@case
def assigned_grad_is_added_to(torch):
    x = leaf(torch, 1.0, 2.0)
    mine = torch.tensor([10.0, 20.0])
    x.grad = mine
    (x * 2).sum().backward()
    return x.grad is mine, mine


@case
def create_graph_adds_out_of_place(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    return x.grad is first, first, x.grad, x.grad.requires_grad


@case
def grad_of_recorded_pass_is_a_copy(torch):
    x, v = leaf(torch, 1.0, 2.0), torch.ones(2)
    (x + 0).backward(v, create_graph=True)
    v.mul_(5)
    return x.grad, x.grad is v, x.grad.requires_grad


@case
def users_gradient_is_not_aliased(torch):
    x, v = leaf(torch, 1.0, 2.0), torch.ones(2)
    x.backward(v)
    x.backward(v)
    (x + 0).backward(v)
    return x.grad, v, x.grad is v


@case
def two_leaves_do_not_share_their_grad(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    (x + y).backward(torch.ones(2))
    x.grad.mul_(5)
    return x.grad, y.grad


@case
def accumulation_counts_as_change(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * x).sum().backward()
    before = x.grad._version
    (x * x).sum().backward()
    return x.grad._version > before


@case
def layout_of_grad(torch):
    found = []
    for w in (
        torch.ones(2, 3).t(),
        torch.ones(3, 1).expand(3, 2),
        torch.ones(2, 3, 4).permute(2, 0, 1),
    ):
        w = w.detach().requires_grad_()
        (w * 2).sum().backward()
        found.append(w.grad.stride())
        w.grad = None
        (w + torch.ones(tuple(w.shape))).backward(torch.ones(tuple(w.shape)))
        found.append(w.grad.stride())
        (w * 3).sum().backward()
        found.append(w.grad.stride())
    return found


@case
def grad_never_touches_dot_grad(torch):
    x = leaf(torch, 1.0, 2.0)
    found = torch.autograd.grad((x * x).sum(), x)
    return found, x.grad


@case
def root_gradient_is_cast(torch):
    x = leaf(torch, 1.0, 2.0)
    found = [
        torch.autograd.grad(x * 2, x, torch.ones(2, dtype=kind))[0]
        for kind in (torch.float64, torch.int64)
    ]
    return [(str(g.dtype), g) for g in found]


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)
