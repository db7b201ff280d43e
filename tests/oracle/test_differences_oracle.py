"""The differences that docs/differences.md names are there: both libraries answer as it says."""

import contextlib
import gc
import re
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from mpmath import mp

import lamina

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"


def failure(call):
    """The class of what a call raises; None if it raises nothing."""
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def failing_pass(t):
    class Bad(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("on purpose")

    reached, other = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    with contextlib.suppress(ValueError):
        (Bad.apply(other) + reached * 2).sum().backward()
    return reached.grad is None


def create_graph(t):
    class Tag:
        pass

    leaf, tag = t.ones(2, requires_grad=True), Tag()
    leaf.tag, alive = tag, weakref.ref(tag)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (leaf * leaf * leaf).sum().backward(create_graph=True)
    del leaf, tag
    gc.collect()
    return alive() is None


def ctx(t):
    seen = []

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    return Twice.apply(t.ones(2, requires_grad=True)).grad_fn is seen[0]


def subclass(t):
    class Special(t.Tensor):
        pass

    return type(Special([1.0, 2.0]) + 1) is Special


def channels_last(t):
    return t.ones(1, 3, 4, 4).to(memory_format=t.channels_last).stride()


def small_integers(t):
    return t.ones(2, dtype=t.uint16) + t.ones(2, dtype=t.uint16)


def worker_kind(t):
    class Asked(t.utils.data.Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return t.utils.data.get_worker_info().worker_method

    return next(iter(t.utils.data.DataLoader(Asked(), None, num_workers=1)))


def mapped_choice(t):
    found = t.vmap(lambda x: x if x.sum() > 0 else -x)(t.tensor([[1.0], [-2.0]]))
    return found.tolist()


def captured(t):
    total = t.zeros(2)
    return t.func.grad(lambda x: total.add_(x).sum())(t.ones(2)).tolist()


def mapped_function(t):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    return t.vmap(Twice.apply)(t.ones(2)).tolist()


def sparse_gradient(t):
    """Whether the gradient of a sparse leaf is sparse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaf = t.eye(2).to_sparse().requires_grad_()
        t.sparse.mm(leaf, t.ones(2, 2)).sum().backward()
        return leaf.grad.is_sparse


def wishart(t):
    """Whether a sample of a Wishart distribution comes with a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        t.distributions.Wishart(t.tensor(4.0), t.eye(2)).sample()
    return bool(caught)


def bessel(t):
    """Whether J0 at 5.05 is right by mpmath, and J0 at infinity, None for NaN."""
    near, far = t.special.bessel_j0(t.tensor([5.05, float("inf")], dtype=t.float64)).tolist()
    with mp.workdps(30):
        return bool(abs(near - mp.besselj(0, 5.05)) < 1e-12), None if far != far else far


def tangent_of_itself(t):
    def square(x):
        copy = x.clone()
        return copy.mul_(copy)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's first jvp compiles things it has deprecated
        return t.func.jvp(square, (t.tensor([2.0, 3.0]),), (t.ones(2),))[1].tolist()


# name on the page: (program, Lamina's answer, PyTorch's answer)
DIFFERENCES = {
    "error-class": (
        lambda t: failure(lambda: t.ones(2) + t.ones(3)) is RuntimeError, False, True,
    ),
    "failing-pass": (failing_pass, True, False),
    "create-graph": (create_graph, True, False),
    "ctx": (ctx, False, True),
    "numpy-input": (lambda t: failure(lambda: t.exp(np.zeros(2))), None, TypeError),
    "stable-sort": (
        lambda t: t.sort(t.tensor([1.0, 1, 1, 0, 0] * 5), descending=True)[1][:3].tolist()
        == [0, 1, 2], True, False,
    ),
    "unsigned": (lambda t: failure(lambda: small_integers(t)), None, NotImplementedError),
    "memory-format": (channels_last, (48, 16, 4, 1), (48, 1, 12, 3)),
    "conj": (lambda t: t.tensor([1 + 2j]).conj().is_conj(), False, True),
    "subclass": (subclass, False, True),
    "bessel": (bessel, (True, 0.0), (False, None)),
    "vmap-values": (
        lambda t: failure(lambda: mapped_choice(t)) or mapped_choice(t),
        [[1.0], [2.0]], RuntimeError,
    ),
    "grad-captured": (
        lambda t: failure(lambda: captured(t)) or captured(t), [1.0, 1.0], RuntimeError,
    ),
    "forward-itself": (tangent_of_itself, [4.0, 6.0], [6.0, 12.0]),
    "vmap-function": (
        lambda t: failure(lambda: mapped_function(t)) or mapped_function(t),
        [2.0, 2.0], RuntimeError,
    ),
    "workers": (worker_kind, "thread", "multiprocessing"),
    "kumaraswamy": (
        lambda t: bool(t.distributions.Kumaraswamy(2.5, 3.0).mode.isnan()), False, True,
    ),
    "sparse-gradient": (sparse_gradient, False, True),
    "wishart": (wishart, False, True),
    "continuous-bernoulli": (
        lambda t: bool(
            t.distributions.kl_divergence(
                t.distributions.ContinuousBernoulli(0.3), t.distributions.Uniform(0.0, 1.0)
            ).isinf()
        ),
        False, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENCES)
def test_both_answer_as_the_page_says(name):
    program, ours, theirs = DIFFERENCES[name]

    assert program(lamina) == ours
    assert program(torch) == theirs


def test_the_page_names_each_of_them():
    named = set(re.findall(r"\[([a-z-]+)\]", PAGE.read_text(encoding="utf-8")))

    assert named == DIFFERENCES.keys()
