"""Sums of large tensors: accuracy, layouts, axes, what is not finite, any number of threads."""

import math

import numpy as np
import pytest

import lamina
from lamina.codegen.kernels import totals as native
from lamina.ops import reduced

# Shapes, and the dimensions that are summed: lines in one piece and side by side, long and short,
# of whole vectors and not, all in one.
CASES = [
    ((800, 700), 0), ((700, 801), 1), ((700, 801), None), ((600_001,), 0), ((40, 15_000), 0),
    ((8, 9, 7, 1201), (1, 2)), ((3, 200_001), 0), ((60_000, 10), 1), ((60_000, 10), 0),
    ((900, 600), (0, 1)), ((30, 6, 3000), (0, 2)), ((5000, 2, 64), 0), ((4, 0), 0), ((0, 3), 0),
]  # fmt: skip


@pytest.fixture(params=["any", "numpy"])
def way(request, monkeypatch):
    """With machine code where it is installed, and with NumPy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(reduced.totals, "can_sum", lambda array, axes: False)


def numbers(shape, kind):
    return (np.random.default_rng(3).standard_normal(shape) + 0.25).astype(kind)


def assert_close(found, array, dim, digits=1):
    """Close to the exact sum, by the sum of sizes."""
    axes = tuple(range(array.ndim)) if dim is None else dim
    wide = array.astype(np.float64)
    size = np.sum(np.abs(wide), axis=axes)
    limit = digits * (4e-7 if array.dtype == np.float32 else 1e-14)
    assert found.shape == size.shape
    assert found.dtype == array.dtype
    assert np.all(np.abs(found - np.sum(wide, axis=axes)) <= limit * size)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "dim"), CASES)
def test_sums_along_dimensions(shape, dim, kind):
    array = numbers(shape, kind)
    x = lamina.tensor(array)
    assert_close((x.sum() if dim is None else x.sum(dim)).numpy(), array, dim)
    kept = x.sum(dim, keepdim=True)
    assert kept.numpy().shape == np.sum(array, axis=dim, keepdims=True).shape
    assert kept.is_contiguous()


@pytest.mark.usefixtures("way")
def test_means_and_gradients_of_large_tensors():
    array = numbers((1000, 700), "float32")
    x = lamina.tensor(array, requires_grad=True)
    g = np.arange(700, dtype=np.float32)
    x.mean(0).backward(lamina.tensor(g))
    assert np.allclose(x.grad.numpy(), np.broadcast_to(g / 1000, (1000, 700)))
    assert x.grad.is_contiguous()
    assert np.allclose(x.mean(0).detach().numpy(), array.mean(0, dtype=float), atol=1e-6)


@pytest.mark.usefixtures("way")
def test_ten_million_small_numbers_lose_no_digits():
    x = lamina.full((10_000_000,), 0.1)
    assert x.sum().item() == pytest.approx(10_000_000 * float(np.float32(0.1)), rel=1e-6)
    assert x.reshape(10_000, 1000).sum(0)[0].item() == pytest.approx(1000.0, rel=1e-6)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dim", [0, 1])
def test_what_is_not_finite_spoils_its_own_sum_alone(dim):
    array = np.ones((900, 800), np.float32)
    array[100, 200], array[300, 400], array[500, 600] = np.nan, np.inf, -np.inf
    array[301, 401], array[302, 401] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.sum(array, axis=dim)
    assert np.array_equal(lamina.tensor(array).sum(dim).numpy(), expected, equal_nan=True)


@pytest.mark.usefixtures("way")
def test_sums_beyond_the_largest_number_are_infinite():
    x = lamina.full((1000, 700), 1e38)
    assert x.sum(0).tolist() == [math.inf] * 700
    assert x.sum().item() == math.inf


@pytest.mark.usefixtures("way")
def test_strided_broadcast_and_read_only_arrays():
    array = numbers((1000, 1400), "float32")
    array.flags.writeable = False
    turned = lamina.tensor(array).T
    assert_close(turned.sum(0).numpy(), array.T, 0)
    assert_close(turned[::2].sum(1).numpy(), array.T[::2], 1, digits=10)  # added one by one
    wide = lamina.tensor(array[:1]).expand(1000, 1400)
    assert_close(wide.sum(0).numpy(), np.broadcast_to(array[:1], (1000, 1400)), 0, digits=10)
    assert_close(reduced.add_up(array, (0,), False), array, 0)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_bits(count):
    x = lamina.tensor(numbers((1000, 999), "float32"))
    expected = [x.sum(0), x.sum(1), x.sum()]
    before = lamina.get_num_threads()
    lamina.set_num_threads(count)
    try:
        found = [x.sum(0), x.sum(1), x.sum()]
    finally:
        lamina.set_num_threads(before)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.numpy(), other.numpy())


@pytest.mark.skipif(not native.is_available(), reason="machine code needs llvmlite")
def test_large_arrays_are_summed_by_machine_code():
    assert native.can_sum(np.zeros((1000, 1000), "float32"), (0,))
    assert native.can_sum(np.zeros((1000, 1000), "float64"), (0, 1))
    assert not native.can_sum(np.zeros((10, 10), "float32"), (0,))
    assert not native.can_sum(np.zeros((1000, 1000), "float32").T, (0,))
    assert not native.can_sum(np.zeros((100, 100, 100), "float32"), (0, 2))
    assert not native.can_sum(np.zeros((1000, 1000), "int64"), (0,))
