"""Traced arrays have NumPy's shapes and dtypes; recorded programs give its values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.devices import (
    CPU,
    META,
    MixedDevices,
    NoValues,
    backend_of,
    current_recorder,
    device,
    device_of,
    to_device,
)
from lamina.devices.layouts import fresh
from lamina.devices.traced import Recorder, TracedArray
from lamina.errors import NotSupported

from .samples import (
    BINARY,
    CALLS,
    DTYPES,
    UNARY,
    WRITES,
    arrays,
    is_error,
    leaves,
    operands,
    run,
)


def traced(array):
    """A meta array with the layout of a concrete one."""
    return TracedArray(fresh(array.shape, array.dtype, array.strides))


def check_layout(expected, found):
    if is_error(expected):
        return  # what depends on values, NumPy alone can refuse
    assert not is_error(found), found
    for want, got in zip(leaves(expected), leaves(found), strict=True):
        if not isinstance(want, np.ndarray | np.generic):
            assert want == got
            continue
        assert type(got) is TracedArray
        assert (got.shape, got.dtype) == (want.shape, want.dtype)


def check_strides(expected, found):
    for want, got in zip(leaves(expected), leaves(found), strict=True):
        if isinstance(want, np.ndarray) and want.size > 1:
            real = [s for s, n in zip(want.strides, want.shape, strict=True) if n > 1]
            assert [s for s, n in zip(got.strides, got.shape, strict=True) if n > 1] == real


@given(st.sampled_from(BINARY), arrays, arrays)
def test_binary_ufuncs_have_numpys_shapes(ufunc, a, b):
    expected = run(ufunc, a, b)
    found = run(ufunc, traced(a), traced(b))
    assert is_error(expected) or not is_error(found)
    check_layout(expected, found)


@given(st.sampled_from(BINARY), arrays, st.sampled_from([2, 2.5, True, 1j, np.float32(2)]))
def test_python_numbers_are_weak(ufunc, a, number):
    expected = run(ufunc, a, number)
    found = run(ufunc, traced(a), number)
    assert is_error(expected) or not is_error(found)
    check_layout(expected, found)


@given(st.sampled_from(UNARY), arrays)
def test_unary_ufuncs_have_numpys_shapes(ufunc, a):
    check_layout(run(ufunc, a), run(ufunc, traced(a)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_functions_have_numpys_shapes_and_strides(name, dtype):
    expected = run(CALLS[name], *operands(dtype))
    found = run(CALLS[name], *map(traced, operands(dtype)))
    check_layout(expected, found)
    if not is_error(expected):
        check_strides(expected, found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*CALLS, *WRITES])
def test_a_replayed_program_gives_numpys_values(name, dtype):
    function = CALLS.get(name) or WRITES[name]
    expected = run(function, *operands(dtype))
    if is_error(expected):
        return
    recorder = Recorder()
    found = function(*(recorder.input(array) for array in operands(dtype)))
    wanted = [leaf for leaf in leaves(found) if isinstance(leaf, TracedArray)]
    for _ in range(2):
        fresh_inputs = [array.copy("K") for array in recorder.inputs]
        with np.errstate(all="ignore"):
            values = recorder.replay(fresh_inputs, wanted)
        plain = [x for x in leaves(expected) if isinstance(x, np.ndarray | np.generic)]
        for want, got in zip(plain, values, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def huge(*shape, dtype=np.float32):
    return backend_of(META).empty(shape, dtype)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda m: m + 1, (10**6, 10**6)),
        (lambda m: m @ m, (10**6, 10**6)),
        (lambda m: np.einsum("ij,kj->ik", m, m), (10**6, 10**6)),
        (lambda m: m.sum(axis=0), (10**6,)),
        (lambda m: np.var(m, axis=1, keepdims=True), (10**6, 1)),
        (lambda m: np.concatenate([m, m], 1), (10**6, 2 * 10**6)),
        (lambda m: np.stack([m, m]), (2, 10**6, 10**6)),
        (lambda m: np.where(m > 0, m, 0), (10**6, 10**6)),
        (lambda m: m.T[::3].reshape(-1), (333334 * 10**6,)),
        (lambda m: m[np.array([1, 2])], (2, 10**6)),
        (lambda m: np.sort(m), (10**6, 10**6)),
        (lambda m: np.pad(m, 1), (10**6 + 2, 10**6 + 2)),
        (lambda m: m.astype(np.float64).imag, (10**6, 10**6)),
    ],
)
def test_huge_arrays_cost_nothing(function, shape):
    assert function(huge(10**6, 10**6)).shape == shape


def test_views_have_strides_and_a_base():
    x = huge(4, 6)
    assert x.strides == (24, 4)
    assert x.T.strides == (4, 24)
    assert x[::2, 1:].base is x
    assert x[0].T.base is x
    assert (x + 1).base is None
    pointer = backend_of(META).pointer
    assert pointer(x[1, 2:]) - pointer(x) == 32
    windows = backend_of(META).as_strided(x, (3, 2), (4, 4))
    assert (windows.shape, windows.strides, windows.base) == ((3, 2), (4, 4), x)


@pytest.mark.parametrize(
    ("operation", "read"),
    [
        (".item()", lambda x: x[0].item()),
        (".tolist()", lambda x: x.tolist()),
        ("bool()", lambda x: bool(x[0])),
        ("float()", lambda x: float(x[0])),
        ("an index", lambda x: range(x[0])),
        ("conversion to a NumPy array", np.asarray),
        ("numpy.nonzero", lambda x: x.nonzero()),
        ("numpy.where with a condition alone", lambda x: np.where(x)),
        ("boolean-mask indexing", lambda x: x[x > 0]),
        ("numpy.unique", np.unique),
        ("numpy.allclose", lambda x: np.allclose(x, x)),
        ("numpy.repeat with counts of unknown value", lambda x: np.repeat(x, x)),
        ("copying out of the meta device", lambda x: to_device(x, CPU)),
    ],
)
def test_reading_values_names_the_operation(operation, read):
    with pytest.raises(NoValues) as caught:
        read(huge(3))
    assert caught.value.operation == operation


def test_a_large_function_without_a_rule_is_refused():
    with pytest.raises(NotSupported, match=r"shape of fft\.fft's result is not known"):
        np.fft.fft(huge(10**9))
    assert np.fft.fft(huge(8)).shape == (8,)


def test_meta_arrays_mix_as_on_any_device():
    x = huge(3)
    assert device_of(x) is META
    assert (x + np.array(1.0, np.float32)).shape == (3,)
    assert x[np.array([0, 1])].shape == (2,)
    for mix in (lambda: x + np.ones(3), lambda: np.ones(3) + x, lambda: np.add(x, 1, np.ones(3))):
        with pytest.raises(MixedDevices):
            mix()
    assert to_device(np.ones((2, 3)), device("meta")).shape == (2, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, y: x + y[:2],
        lambda x, y: x @ y.T[:2],
        lambda x, y: np.concatenate([x, y[:, :1]]),
        lambda x, y: x.reshape(5),
        lambda x, y: x[7],
        lambda x, y: x[[7]],
        lambda x, y: x.sum(axis=3),
        lambda x, y: x.__setitem__(0, np.ones(2)),
        lambda x, y: np.add(x, y, out=y[:, :1]),
        lambda x, y: np.add(x, 1.5, out=x.astype(np.int64)),
        lambda x, y: np.broadcast_to(x, (2, 3, 4)).__iadd__(1),
        lambda x, y: x.max(axis=1) if x[:, :0].max(axis=1) is None else None,
    ],
)
def test_errors_about_shapes_are_numpys(wrong):
    x, y = np.ones((3, 4)), np.ones((3, 4))
    expected = run(wrong, x, y)
    assert is_error(expected)
    recorder = Recorder()
    found = run(wrong, recorder.input(x), recorder.input(y))
    assert is_error(found)
    assert issubclass(expected, found) or issubclass(found, expected)


def step(x, w, state):
    """Something like a training step: views, writes into inputs, numbers."""
    h = np.maximum(x @ w, 0)
    h[:, 0] += 1
    grad = x.T @ (h - h.mean(axis=0))
    state *= 0.9
    state += 0.1 * grad
    w -= state / np.sqrt(np.abs(state).max())
    return (h * h).sum()


def test_a_training_step_replays_with_writes_into_its_inputs():
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape) for shape in ((5, 4), (4, 3), (4, 3))]
    before = [array.copy() for array in inputs]
    recorder = Recorder()
    loss = step(*(recorder.input(array) for array in inputs))
    for array, kept in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, kept)
    plain = [array.copy() for array in before]
    replayed = [array.copy() for array in before]
    for _ in range(3):
        want = step(*plain)
        (got,) = recorder.replay(replayed, [loss])
        assert want == got
        for a, b in zip(plain, replayed, strict=True):
            np.testing.assert_array_equal(a, b)


def test_arrays_that_are_reached_become_inputs_once():
    recorder = Recorder()
    x = recorder.input(np.ones(3))
    weight = np.arange(3.0)
    y = x * weight + weight
    assert recorder.input(weight) is recorder.input(weight)
    assert [array is weight for array in recorder.inputs] == [False, True]
    (value,) = recorder.replay([np.ones(3), np.full(3, 2.0)], [y])
    assert value.tolist() == [4, 4, 4]


def test_the_listing_is_readable():
    recorder = Recorder()
    x = recorder.input(np.ones((64, 64), np.float32))
    w = recorder.input(np.ones((64, 10), np.float32))
    y = x @ w
    y[0, 1:3] = 2.0
    z = np.add.reduce(y[..., None], axis=0)
    z += 1
    np.split(z, 2)
    assert str(recorder).splitlines() == [
        "%0: float32[64,64] = input",
        "%1: float32[64,10] = input",
        "%2: float32[64,10] = matmul(%0, %1)",
        "%2[0, 1:3] = 2.0",
        "%3: float32[64,10,1] = %2[..., None]",
        "%4: float32[10,1] = add.reduce(%3, axis=0)",
        "add(%4, 1, out=%4)",
        "%5: float32[5,1], %6: float32[5,1] = split(%4, 2)",
    ]


def test_creation_and_foreign_functions_are_recorded():
    recorder = Recorder()
    with recorder:
        assert current_recorder() is recorder
        zeros = current_recorder().create(np.zeros, (2, 3), dtype=np.float32)
    assert current_recorder() is None
    assert (zeros.shape, zeros.dtype) == ((2, 3), np.float32)
    normal = np.random.default_rng(0).standard_normal
    draw = recorder.call(normal, ((2, 3),), {}, fresh((2, 3), float))
    zeros += draw.astype(np.float32)
    counted = recorder.create(np.arange, 3)
    values = recorder.replay([], [zeros, counted])
    expected = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(values[0], expected)
    assert values[1].tolist() == [0, 1, 2]


def test_inputs_of_another_kind_are_refused_at_replay():
    recorder = Recorder()
    y = recorder.input(np.ones((2, 3))) + 1
    for wrong in (np.ones((3, 2)), np.ones((2, 3), np.float32), np.ones((3, 2)).T):
        with pytest.raises(ValueError, match="was recorded as float64"):
            recorder.replay([wrong], [y])
    with pytest.raises(ValueError, match="has 1 inputs, not 0"):
        recorder.replay([], [y])


def test_two_recordings_do_not_mix():
    first, second = Recorder().input(np.ones(2)), Recorder().input(np.ones(2))
    with pytest.raises(ValueError, match="two recordings"):
        first + second
    with pytest.raises(MixedDevices):
        first + huge(2)
