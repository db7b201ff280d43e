"""Random tensors of every size against PyTorch's, by machine code and with NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.codegen.later import is_available
from lamina.core import generator_words

torch = pytest.importorskip("torch")

SIZES = (0, 1, 2, 15, 16, 17, 128, 1000, 5003, 140_001)

PROGRAMS = {
    "rand": lambda t, n, kind: t.rand(n, dtype=kind),
    "randn": lambda t, n, kind: t.randn(n, dtype=kind),
    "uniform_": lambda t, n, kind: t.empty(n, dtype=kind).uniform_(-0.3, 0.7),
    "normal_": lambda t, n, kind: t.empty(n, dtype=kind).normal_(0.1, 1.7),
    "normal_ across": lambda t, n, kind: t.zeros(n, 2, dtype=kind).t().normal_(0.1, 1.7),
    "normal": lambda t, n, kind: t.normal(t.ones(n, dtype=kind), t.full((n,), 0.3, dtype=kind)),
    "normal of a number": lambda t, n, kind: t.normal(0.5, t.full((n,), 0.3, dtype=kind)),
    "exponential_": lambda t, n, kind: t.empty(n, dtype=kind).exponential_(1.7),
    "log_normal_": lambda t, n, kind: t.empty(n, dtype=kind).log_normal_(0.3, 0.7),
    "bernoulli_": lambda t, n, kind: t.empty(n, dtype=kind).bernoulli_(0.3),
    "bernoulli": lambda t, n, kind: t.bernoulli(t.linspace(0, 1, n, dtype=kind)),
    "bernoulli of bytes": lambda t, n, kind: t.empty(n, dtype=t.uint8).bernoulli_(0.3),
    "dropout": lambda t, n, kind: t.nn.functional.dropout(t.ones(n, dtype=kind), 0.3),
    "dropout2d": lambda t, n, kind: t.nn.functional.dropout2d(t.ones(1, n, 1, 2, dtype=kind), 0.7),
    "alpha_dropout": lambda t, n, kind: t.nn.functional.alpha_dropout(
        t.ones(n, dtype=kind), 0.3, training=True
    ),
    "randint": lambda t, n, kind: t.randint(-3, 8, (n,)),
    "randint, size by name": lambda t, n, kind: t.randint(8, size=(n,)),
    "randint, all by name": lambda t, n, kind: t.randint(high=8, low=-3, size=(n,)),
    "randint of int32": lambda t, n, kind: t.randint(-3, 2**27, (n,), dtype=t.int32),
    "randint, wide": lambda t, n, kind: t.randint(-3, 2**40, (n,)),
    "random_": lambda t, n, kind: t.empty(n, dtype=t.int64).random_(),
    "randperm": lambda t, n, kind: t.randperm(n),
    "multinomial": lambda t, n, kind: t.multinomial(t.linspace(0.1, 1, n + 2, dtype=kind), n + 1),
    "multinomial, one": lambda t, n, kind: t.multinomial(t.ones(n, 3, dtype=kind), 1),
    "multinomial, again": lambda t, n, kind: t.multinomial(
        t.linspace(0.1, 1, 50, dtype=kind), n + 1, True
    ),
    "Categorical": lambda t, n, kind: t.distributions.Categorical(
        t.full((n + 1, 3), 0.5, dtype=kind)
    ).sample(),
}


def _dropout_and_gradient(t: Any, kind: Any) -> list[Any]:
    x = t.arange(40_001, dtype=kind).requires_grad_()
    y = t.nn.Dropout(0.3)(x)
    (y * y).sum().backward()
    return [y.detach(), x.grad]


@pytest.fixture(params=["machine code", "NumPy"])
def _way(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers come from machine code, however few there are, or from NumPy alone."""
    if request.param == "machine code" and not is_available():
        pytest.skip("needs llvmlite")
    work = 0 if request.param == "machine code" else 1 << 62
    monkeypatch.setattr(generator_words, "WORTH", work)
    monkeypatch.setattr(lamina.default_generator.stream, "_draws", None)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_and_states_are_pytorchs(name: str, kind: str) -> None:
    for seed, size in enumerate(SIZES):
        if name == "alpha_dropout" and size > 2:
            continue  # values of many steps: the mask is that of dropout
        if name == "multinomial" and size > 1000:
            continue  # equal weights / waiting times may be ordered otherwise
        if name in ("log_normal_", "multinomial, one") and size > 6000:
            continue  # takes NumPy long
        answers = []
        for library in (torch, lamina):
            library.manual_seed(seed)
            answers.append(PROGRAMS[name](library, size, getattr(library, kind)))
        expected, found = answers
        assert str(found.dtype) == str(expected.dtype)
        np.testing.assert_array_equal(found.numpy(), expected.numpy(), err_msg=f"{size}")
        state = torch.get_rng_state().numpy()
        np.testing.assert_array_equal(lamina.get_rng_state().numpy(), state)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_dropout_and_its_gradient(kind: str) -> None:
    answers = []
    for library in (torch, lamina):
        library.manual_seed(5)
        answers.append(_dropout_and_gradient(library, getattr(library, kind)))
    for expected, found in zip(*answers, strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
