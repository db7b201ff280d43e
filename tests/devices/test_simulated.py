"""A simulated GPU computes what NumPy computes, and refuses and counts what a real one would."""

from __future__ import annotations

import copy
import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import cuda
from lamina.devices import (
    CPU,
    MixedDevices,
    NoHostValues,
    backend_of,
    device,
    device_of,
    is_host,
    to_device,
)
from lamina.devices.simulated import SimulatedCudaArray
from lamina.errors import OutOfMemoryError

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

FIRST, SECOND = device("cuda:0"), device("cuda:1")


@pytest.fixture(autouse=True)
def two_gpus():
    with cuda.simulate(count=2):
        cuda.reset_transfers()
        yield


def on_gpu(array, place=FIRST):
    return to_device(np.asarray(array), place)


def check(expected, found):
    if is_error(expected):
        assert is_error(found)
        return
    for want, got in zip(leaves(expected), leaves(found), strict=True):
        if not isinstance(want, np.ndarray | np.generic):
            assert want == got
            continue
        assert type(got) is SimulatedCudaArray
        assert device_of(got) is FIRST
        host = to_device(got, CPU)
        assert host.dtype == want.dtype
        assert got.strides == want.strides or want.size <= 1 or isinstance(want, np.generic)
        np.testing.assert_array_equal(host, want)


@given(st.sampled_from(BINARY), arrays, arrays)
def test_binary_ufuncs_agree_with_numpy(ufunc, a, b):
    with cuda.simulate():
        check(run(ufunc, a, b), run(ufunc, on_gpu(a), on_gpu(b)))


@given(st.sampled_from(UNARY), arrays)
def test_unary_ufuncs_agree_with_numpy(ufunc, a):
    with cuda.simulate():
        check(run(ufunc, a), run(ufunc, on_gpu(a)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*CALLS, *WRITES])
def test_functions_agree_with_numpy(name, dtype):
    function = CALLS.get(name) or WRITES[name]
    expected = run(function, *operands(dtype))
    check(expected, run(function, *map(on_gpu, operands(dtype))))


def test_views_share_memory_and_know_their_base():
    x = on_gpu(np.zeros((2, 3)))
    for view in (x.T, x[0], x[0, 1], x.reshape(-1), np.broadcast_to(x, (4, 2, 3)), x.T[1:]):
        assert view.base is x
    x.T[0, 1] = 5
    assert x.tolist() == [[0, 0, 0], [5, 0, 0]]
    assert (x + 1).base is None


def test_moving_copies_and_staying_does_not():
    host = np.arange(3.0)
    x = on_gpu(host)
    host[0] = 9
    assert x.tolist() == [0, 1, 2]
    assert to_device(x, FIRST) is x
    y = to_device(x, SECOND)
    y[0] = 7
    assert x.tolist() == [0, 1, 2]
    back = to_device(x, CPU)
    back[1] = 5
    assert x.tolist() == [0, 1, 2]
    assert is_host(back)
    assert not is_host(x)


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, host, other: x + host,
        lambda x, host, other: host + x,
        lambda x, host, other: x + other,
        lambda x, host, other: x + other[0],
        lambda x, host, other: x[0] + host,
        lambda x, host, other: np.where(x > 0, x, host),
        lambda x, host, other: np.concatenate([x, host]),
        lambda x, host, other: np.add(host, host, out=x),
        lambda x, host, other: np.add(x, 1, out=host),
        lambda x, host, other: np.add(x, x, where=host > 0),
        lambda x, host, other: np.copyto(host, x),
        lambda x, host, other: np.copyto(x, host),
        lambda x, host, other: np.take(x, np.array([0])),
        lambda x, host, other: x.__setitem__(slice(None), host),
        lambda x, host, other: host.__iadd__(x),
        lambda x, host, other: np.array(1.0).__iadd__(x[0]),
    ],
)
def test_mixing_devices_raises(mix):
    with pytest.raises(MixedDevices):
        mix(on_gpu(np.ones(3)), np.ones(3), on_gpu(np.ones(3), SECOND))


def test_the_devices_found_are_named_in_order():
    with pytest.raises(MixedDevices) as caught:
        np.add(np.ones(3), on_gpu(np.ones(3)))
    assert caught.value.found == [CPU, FIRST]
    assert caught.value.role == "operands"


def test_numbers_and_zero_dimensional_host_arrays_may_mix():
    x = on_gpu(np.ones(3, np.float32))
    for number in (2, 2.0, np.float32(2), np.array(2, np.float32)):
        assert (x + number).tolist() == [3, 3, 3]
        assert (x + number).dtype == np.float32
    x += np.array(1.0, np.float32)
    x[0] = np.array(7.0)
    assert x.tolist() == [7, 2, 2]
    assert device_of(x[0] + np.array(1.0)) is FIRST


def test_an_index_may_be_on_the_host_or_the_same_device():
    x = on_gpu(np.arange(5))
    index = np.array([3, 1])
    assert x[index].tolist() == x[on_gpu(index)].tolist() == [3, 1]
    assert x[np.arange(5) > 2].tolist() == [3, 4]
    x[index] = -1
    np.add.at(x, index, 5)
    assert x.tolist() == [0, 4, 2, 4, 4]
    with pytest.raises(MixedDevices) as caught:
        x[on_gpu(index, SECOND)]
    assert caught.value.role == "index"
    with pytest.raises(NoHostValues):
        np.arange(5)[on_gpu(index)]


def test_numpy_cannot_read_it():
    x = on_gpu(np.ones(3))
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        np.asarray(x)
    with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
        np.ones(3)[:] = x


def test_python_reads_are_counted_as_waits():
    x = on_gpu(np.array([2.0, 3.0]))
    before = cuda.transfers().synchronizations
    assert x[0].item() == 2.0
    assert bool(x[0])
    assert float(x[1]) == 3.0
    assert x[x > 2].tolist() == [3.0]
    assert cuda.transfers().synchronizations == before + 5


def test_transfers_are_counted_with_their_bytes():
    cuda.reset_transfers()
    x = on_gpu(np.ones(100, np.float32))
    y = to_device(x, SECOND)
    to_device(y, CPU)
    to_device(x, CPU)
    x + x
    found = cuda.transfers()
    assert (found.host_to_device, found.host_to_device_bytes) == (1, 400)
    assert (found.device_to_device, found.device_to_device_bytes) == (1, 400)
    assert (found.device_to_host, found.device_to_host_bytes) == (2, 800)


def test_memory_is_counted_per_device_without_views_and_freed():
    x = on_gpu(np.ones(1000))
    views = [x.T, x[1:], x.reshape(10, 100)]
    assert cuda.memory_allocated(0) == 8192
    assert cuda.memory_allocated(1) == 0
    y = x * 2
    assert cuda.memory_allocated(0) == 16384
    x += y
    assert cuda.memory_allocated(0) == 16384
    del x, y
    gc.collect()
    assert cuda.memory_allocated(0) == 8192  # the views hold it
    del views
    gc.collect()
    assert cuda.memory_allocated(0) == 0
    assert cuda.max_memory_allocated(0) == 16384
    cuda.reset_peak_memory_stats(0)
    assert cuda.max_memory_allocated(0) == 0


def test_a_limit_raises_out_of_memory_and_leaves_the_account_right():
    with cuda.simulate(memory="1MiB"):
        backend = backend_of(device("cuda"))
        x = backend.empty((1000,), np.float64)
        x[...] = 0  # what an empty array holds may overflow, and warn
        with pytest.raises(OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 7.63"):
            np.add.outer(x, x)
        with pytest.raises(RuntimeError, match=r"GPU 0 has a total capacity of 1\.00 MiB"):
            backend.empty((10**9, 10**3), np.float64)
        gc.collect()
        assert cuda.memory_allocated() == 8192
        backend.empty((1000,), np.float64)


def test_as_strided_and_pointer():
    x = on_gpu(np.arange(6))
    backend = backend_of(FIRST)
    windows = backend.as_strided(x, (4, 3), (8, 8))
    assert windows.base is x
    assert windows[2].tolist() == [2, 3, 4]
    assert backend.pointer(x[2:]) - backend.pointer(x) == 16


def test_copies_are_independent_and_iteration_gives_views():
    x = on_gpu(np.zeros((2, 2)))
    for other in (x.copy(), copy.copy(x), copy.deepcopy(x)):
        other += 1
        assert x.tolist() == [[0, 0], [0, 0]]
    for row in x:
        row[0] = 3
    assert x.tolist() == [[3, 0], [3, 0]]
    assert len(x) == 2
