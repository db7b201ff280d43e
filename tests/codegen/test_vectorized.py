"""Functions of each element go through machine code where arrays are large, and nowhere else."""

import functools

import numpy as np
import pytest
from codegen.machines import graph_of, machine

import lamina
from lamina.codegen import vectorized as module
from lamina.codegen.flat import FlatKernel
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


# --- two arrays ---------------------------------------------------------------------------------

PAIR = [np.random.default_rng(k).standard_normal((1024, 300)).astype(np.float32) for k in (1, 2)]


@native
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.true_divide])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_threads_share_arithmetic_of_large_arrays_to_the_same_bits(monkeypatch, ufunc, kind):
    monkeypatch.setattr(module, "WORK_BEFORE", 0)
    function = module.shared.__wrapped__(ufunc)
    runs = counted_runs(monkeypatch)
    x, y = (array.astype(kind) for array in PAIR)
    for first, second in ((x, y), (x.T, y.T), (x, x), (x, 0.3), (x, 3), (x.reshape(-1)[7:], 1e-3)):
        made, expected = function(first, second), ufunc(first, second)
        np.testing.assert_array_equal(made, expected)
        assert made.dtype == expected.dtype
        assert made.strides == expected.strides
    assert len(runs) == 6


@native
def test_pairs_of_other_kinds_are_left_to_the_ufunc(monkeypatch):
    monkeypatch.setattr(module, "WORK_BEFORE", 0)
    function = module.shared.__wrapped__(np.add)
    runs = counted_runs(monkeypatch)
    x, y = PAIR
    for first, second in (
        (x, y[0]), (x, y[:1]), (x, y.astype(np.float64)), (x[:, ::2], y[:, ::2]), (x, y.T.copy().T),
        (x, np.float64(2)), (x, np.array(2, np.float32)), (x.astype(np.int64), 3), (x, True),
        (np.broadcast_to(x[0], x.shape), y),
    ):  # fmt: skip
        made, expected = function(first, second), np.add(first, second)
        np.testing.assert_array_equal(made, expected)
        assert made.dtype == expected.dtype
    assert runs == []


def counted_runs(monkeypatch):
    """The sizes of the arrays that machine code goes through from now on."""
    runs = []
    run = FlatKernel.run_one

    def noted(kernel, arrays, numbers):
        runs.append(arrays[0].size)
        run(kernel, arrays, numbers)

    monkeypatch.setattr(FlatKernel, "run_one", noted)
    return runs


@native
def test_arithmetic_in_place_has_the_same_bits(monkeypatch):
    monkeypatch.setattr(module, "WORK_BEFORE", 0)
    multiply = module.shared.__wrapped__(np.multiply)
    runs = counted_runs(monkeypatch)
    x, y = PAIR
    for other in (y, 0.3, x):
        made = x.copy()
        multiply(made, made if other is x else other, made)
        np.testing.assert_array_equal(made, x * other)
    assert len(runs) == 3
    made.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        multiply(made, 2, made)


@native
def test_changes_and_gradients_of_large_tensors_are_as_numpy_makes_them():
    x, y = (lamina.tensor(array) for array in PAIR)
    for _ in range(8):
        z = x.clone()
        z += y
        z.mul_(0.5).sub_(1)
    np.testing.assert_array_equal(z.numpy(), (PAIR[0] + PAIR[1]) * np.float32(0.5) - 1)
    w, weights = x.clone().requires_grad_(), lamina.linspace(1, 2, 1024)
    for _ in range(8):
        w.grad = None
        w.sum(1).backward(weights)
    assert w.grad.numpy().flags.writeable
    np.testing.assert_array_equal(
        w.grad.numpy(), np.broadcast_to(weights.numpy()[:, None], w.shape)
    )
    w.sum(1).backward(weights)
    np.testing.assert_array_equal(w.grad.numpy()[:, 7], 2 * weights.numpy())


@native
def test_large_tensors_have_the_sums_of_numpy():
    x, y = (lamina.tensor(array) for array in PAIR)
    for _ in range(12):
        found = (x + y, x - 2, x * 0.1, x / y)
    expected = (PAIR[0] + PAIR[1], PAIR[0] - 2, PAIR[0] * np.float32(0.1), PAIR[0] / PAIR[1])
    for made, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(made.numpy(), right)
