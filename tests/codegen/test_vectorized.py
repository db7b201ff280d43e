"""Functions of each element go through machine code where arrays are large, and nowhere else."""

import functools

import numpy as np
import pytest
from codegen.machines import graph_of, machine

import lamina
from lamina.codegen import vectorized as module
from lamina.codegen.vectorized import vectorized
from lamina.ops.error_function import erf_of

native = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")
LARGE = np.random.default_rng(0).standard_normal((64, 40, 16)).astype(np.float32)


def counted(name=None):
    """A function that is e^x + 1 or a named operation, vectorized, and how often it runs itself."""
    calls = []

    @vectorized(name)
    def function(x):
        calls.append(x)
        return np.exp(x) + 1

    return function, calls


@pytest.fixture
def at_once(monkeypatch):
    """Machine code is made for the first large array."""

    def declare(name=None):
        monkeypatch.setattr(module, "WORK_BEFORE", 0)
        return counted(name)

    return declare


@native
def test_large_arrays_go_through_one_loop_for_all_sizes(at_once):
    function, calls = at_once()
    for x in (LARGE, LARGE[:32], LARGE[:7].reshape(-1)):
        np.testing.assert_allclose(function(x), np.exp(x) + 1, rtol=3e-7)
    assert len(calls) == 1  # while it was recorded


@native
def test_little_work_is_not_worth_compiling():
    function, calls = counted()
    for _ in range(5):
        function(LARGE)
    assert len(calls) == 5


def test_small_arrays_and_whole_numbers_are_left_to_the_function(at_once):
    function, calls = at_once()
    function(LARGE[0, 0])
    function(np.ones((100, 100), np.int64))
    assert len(calls) == 2


@native
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.transpose(2, 0, 1), lambda x: x.T, lambda x: x[:, ::2], lambda x: x[::-1],
        lambda x: np.broadcast_to(x[:1], (4, *x.shape[1:])), lambda x: x.astype(np.float64),
    ],
)  # fmt: skip
def test_results_lie_as_numpy_lays_them(at_once, view):
    function, _ = at_once()
    x = view(LARGE)
    expected = np.exp(x) + 1
    found = function(x)
    np.testing.assert_allclose(found, expected, rtol=3e-7)
    assert (found.strides, found.dtype) == (expected.strides, expected.dtype)


def test_a_named_function_is_one_step_of_a_program_and_the_others_are_numpys():
    x = np.ones(8)
    assert [node.op for node in graph_of(erf_of, x).nodes] == ["erf"]
    unnamed, _ = counted()
    assert [node.op for node in graph_of(unnamed, x).nodes] == ["exp", "add"]


def test_vmap_runs_a_named_function_for_all_samples_at_once(monkeypatch):
    x = lamina.linspace(-3, 3, 12).reshape(4, 3)
    monkeypatch.setattr("lamina.devices.batched.looped", None)
    assert lamina.vmap(lamina.erf)(x).equal(lamina.erf(x))


@native
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    "name",
    ["erf", "sigmoid", "lgamma", "digamma", "tan", "sqrt", "nn.functional.mish", "special.ndtr",
     "special.log_ndtr", "special.erfcx", "special.ndtri", "nn.functional.logsigmoid"],
)  # fmt: skip
def test_large_and_small_tensors_agree(name, kind):
    function = functools.reduce(getattr, name.split("."), lamina)
    low, high = (0.01, 0.99) if name == "special.ndtri" else (0.1, 4)
    x = lamina.linspace(low, high, 1 << 17, dtype=getattr(lamina, kind))
    parts = lamina.cat([function(part) for part in x.split(1000)])
    near = 1e-6 if kind == "float32" else 2e-14
    for _ in range(10):  # the last ones by machine code
        found = function(x)
    lamina.testing.assert_close(found, parts, rtol=near, atol=near)
