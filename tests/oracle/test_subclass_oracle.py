"""Classes that programs derive from Tensor and Parameter: what they are, and what they stay."""

import copy
import pickle

import pytest
import torch

import lamina


def classes(library):
    class Marked(library.Tensor):
        def hello(self):
            return "hello"

    class Weight(library.nn.Parameter):
        def hello(self):
            return "hello"

    class Both(Marked, library.nn.Parameter):
        def __new__(cls, data, requires_grad=True):
            made = library.Tensor._make_subclass(cls, data, requires_grad)
            made.extra = 5
            return made

    return Marked, Weight, Both


PROGRAMS = {
    "a parameter": lambda T, M, W, B: (
        type(w := W(T.ones(2))).__name__, isinstance(w, T.nn.Parameter), isinstance(w, W),
        w.hello(), w.requires_grad, repr(w),
    ),
    "of both": lambda T, M, W, B: (
        type(b := B(T.ones(2))).__name__, isinstance(b, T.nn.Parameter), isinstance(b, M),
        b.hello(), b.extra, repr(b),
    ),
    "a tensor": lambda T, M, W, B: (
        type(m := T.ones(2).as_subclass(M)).__name__, m.hello(), repr(m),
        type(copy.copy(m)).__name__,
    ),
    "questions": lambda T, M, W, B: (
        isinstance(T.nn.Parameter(T.ones(1)), W), isinstance(T.ones(1), W),
        issubclass(W, T.nn.Parameter), isinstance(W(T.ones(1)) * 1, T.nn.Parameter),
    ),
    "deepcopy": lambda T, M, W, B: (
        type(copy.deepcopy(W(T.ones(2)))).__name__, copy.deepcopy(B(T.ones(2))).extra,
    ),
    "a gradient": lambda T, M, W, B: (
        (x := T.ones(3).as_subclass(M).requires_grad_()), (x * 2 + x).sum().backward(),
        x.grad.tolist(),
    )[2],
    "without gradient": lambda T, M, W, B: W(T.ones(2), requires_grad=False).requires_grad,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_libraries_answer_alike(name):
    ours, theirs = (PROGRAMS[name](library, *classes(library)) for library in (lamina, torch))
    assert ours == theirs


def trained(library):
    _, Weight, Both = classes(library)

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Weight(library.ones(2))
            self.second = Both(library.full((2,), 3.0))

        def forward(self, x):
            return (x * self.first * self.second).sum()

    net = Net()
    optimizer = library.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        net(library.ones(2)).backward()
        optimizer.step()
    net.double()
    return [
        (name, type(p).__name__, str(p.dtype), p.tolist()) for name, p in net.named_parameters()
    ]


def test_a_network_of_them_is_trained():
    ours, theirs = trained(lamina), trained(torch)
    assert [row[:3] for row in ours] == [row[:3] for row in theirs]
    for row, other in zip(ours, theirs, strict=True):
        assert row[3] == pytest.approx(other[3], rel=1e-6)


class Kept(lamina.Tensor):
    """At the top, so that `pickle` finds it."""


def test_pickle_keeps_the_class():
    made = lamina.ones(2).as_subclass(Kept)
    made.note = "kept"
    again = pickle.loads(pickle.dumps(made))
    assert (type(again), again.note, again.tolist()) == (Kept, "kept", [1.0, 1.0])
