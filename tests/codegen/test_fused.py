"""Fused kernels give what their functions give, and only where that is sure."""

import math
import threading
import tracemalloc
import zlib

import all_chapters  # noqa: F401  the whole catalogue
import numpy as np
import pytest
from codegen.machines import machine

import lamina
from lamina.codegen import fused as module
from lamina.codegen.fused import fused
from lamina.core.op import catalogue, traced
from lamina.core.samples import Make
from lamina.core.tensor import Tensor

native = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")
WORK_BEFORE = module.WORK_BEFORE
X = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)


@pytest.fixture(autouse=True)
def little_work_is_enough(monkeypatch):
    monkeypatch.setattr(module, "WORK_BEFORE", 0)


def softmax(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def counted(function):
    """The function, fused, and a list that grows whenever the function itself runs."""
    calls = []

    @fused
    def inner(*args):
        calls.append(args)
        return function(*args)

    return inner, calls


@native
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_arrays_are_compiled_after_some_calls(axis, order, monkeypatch):
    monkeypatch.setattr(module, "WORK_BEFORE", WORK_BEFORE)
    x = np.asarray(X, order=order)
    run, calls = counted(softmax)
    before = math.ceil(WORK_BEFORE / x.size)
    for _ in range(before + 4):
        np.testing.assert_allclose(run(x, axis), softmax(x, axis), rtol=1e-5)
    assert before * 0.9 < len(calls) <= before


@native
def test_huge_arrays_are_compiled_when_they_come_again():
    run, calls = counted(softmax)
    for _ in range(6):
        run(X, 1)
    assert len(calls) == module.CALLS_BEFORE


def test_small_arrays_are_not():
    run, calls = counted(softmax)
    for _ in range(6):
        run(X[:5], 1)
    assert len(calls) == 6


@native
def test_shapes_dtypes_strides_and_values_have_programs_of_their_own():
    run, _ = counted(softmax)
    wide = X.astype(np.float64)
    for _ in range(4):
        for x, axis in [(X, 0), (X, 1), (X[::2], 1), (X.T, 1), (wide, 1), (X[:, ::-1], 0)]:
            np.testing.assert_allclose(run(x, axis), softmax(x, axis), rtol=1e-5)
            assert run(x, axis).dtype == x.dtype


@native
def test_keywords_belong_to_the_kind_of_call():
    @fused
    def scaled(x, *, factor):
        return x * factor + 1

    for factor in (2.0, 3.0, 0.0, -0.0):
        for _ in range(4):
            expected = X * np.float32(factor) + 1
            np.testing.assert_array_equal(scaled(X, factor=factor), expected)


@native
def test_an_array_given_twice_is_one():
    run, _ = counted(lambda x, y: x * y + np.sum(x))
    other = X[::-1].copy()
    for _ in range(4):
        for x, y in [(X, X), (X, other), (other, X)]:
            np.testing.assert_allclose(run(x, y), x * y + np.sum(x), rtol=1e-4, atol=1e-4)


@native
def test_results_are_arrays_of_their_own():
    run, _ = counted(lambda x: (x * 2, None, [x + 1]))
    kept = [run(X) for _ in range(5)]
    for double, nothing, (more,) in kept:
        np.testing.assert_array_equal(double, X * 2)
        np.testing.assert_array_equal(more, X + 1)
        assert nothing is None
    addresses = {double.ctypes.data for double, _, _ in kept}
    assert len(addresses) == 5


@native
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sort(x),  # no loop
        lambda x: x * 2 if x[0, 0] > 0 else x,  # decides by a value
        lambda x: x * OUTSIDE,  # an array that is no argument
    ],
)
def test_what_cannot_be_compiled_runs_as_it_is(function):
    run, calls = counted(function)
    for _ in range(5):
        np.testing.assert_array_equal(run(X), function(X))
    assert len(calls) >= 5


OUTSIDE = np.linspace(0, 1, 200, dtype=np.float32)


@native
def test_errors_are_those_of_the_function():
    run, _ = counted(lambda x, y: x + y)
    for _ in range(4):
        with pytest.raises(ValueError, match="broadcast"):
            run(X, X[:, :7])


@native
def test_several_threads_at_once():
    run, _ = counted(softmax)
    expected, wrong = softmax(X, 1), []

    def work():
        for _ in range(50):
            if not np.allclose(run(X, 1), expected, rtol=1e-5):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@native
def test_the_number_of_programs_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_KERNELS", 3)
    run, calls = counted(lambda x, k: x * k)
    for k in range(9):
        for _ in range(3):
            np.testing.assert_array_equal(run(X, k), X * k)
    run(X, 0)
    assert len(calls) == 9 * module.CALLS_BEFORE + 1


# --- the catalogue -------------------------------------------------------------------------------


def is_fused(op):
    """Whether a kernel or rule is fused, or calls one that is."""
    waiting = [*op.rules.values(), op.kernel]
    for function in waiting:
        if function.__code__.co_filename == module.__file__:
            return True
        if hasattr(function, "__wrapped__"):
            waiting.append(function.__wrapped__)
    return op.name == "scaled_dot_product_attention"


NAMES = sorted(n for n, op in catalogue.items() if op.samples is not None and is_fused(op))


def results_of(name, sample):
    """Results of a sample, and the gradients of all inputs that have a rule."""
    op = catalogue[name]

    def placed(value, position):
        if not isinstance(value, np.ndarray):
            return value
        tensor = lamina.tensor(value)
        wants = position in op.rules and tensor.dtype.is_differentiable
        return tensor.requires_grad_() if wants else tensor

    args = [placed(a, k) for k, a in enumerate(sample.args)]
    kwargs = {key: placed(v, op.names.index(key)) for key, v in sample.kwargs.items()}
    found = getattr(traced, name)(*args, **kwargs)
    found = found if isinstance(found, tuple | list) else [found]
    wanted = [r for r in found if r.requires_grad]
    lamina.autograd.backward(wanted, [lamina.ones_like(r) * 0.5 for r in wanted])
    leaves = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    return [*found, *(leaf.grad for leaf in leaves if leaf.grad is not None)]


@native
@pytest.mark.parametrize("name", NAMES)
def test_fused_operations_give_what_numpy_gives(name, monkeypatch):
    for sample in catalogue[name].samples(Make(zlib.crc32(name.encode()))):
        expected = results_of(name, sample)
        with monkeypatch.context() as patch:
            patch.setattr(module, "LEAST_SIZE", 0)
            for _ in range(module.CALLS_BEFORE + 1):
                actual = results_of(name, sample)
        for a, e in zip(actual, expected, strict=True):
            assert a.dtype == e.dtype
            np.testing.assert_allclose(a.detach().numpy(), e.detach().numpy(), rtol=1e-5, atol=1e-6)


@native
def test_large_memory_is_not_kept_between_calls():
    """Products between two loops: what they give lies in the arena while the program runs."""

    @fused
    def chain(x):
        return np.tanh((x @ x.T) * 2) @ x

    x = np.random.default_rng(1).standard_normal((700, 100)).astype(np.float32)
    expected = chain.__wrapped__(x)
    for _ in range(4):
        np.testing.assert_allclose(chain(x), expected, rtol=1e-3, atol=1e-3)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            chain(x)
        kept = tracemalloc.get_traced_memory()[0] - before
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak > 700 * 700 * 4
    assert kept < 100_000
