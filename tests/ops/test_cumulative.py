"""Running sums and products of large tensors, in each of the ways they can be computed."""

import numpy as np
import pytest

import lamina
from lamina.codegen.kernels import scans as native
from lamina.ops import cumulative_kernels

DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64"]
# Lines in one piece, of whole vectors and not; short ones; lines side by side, many and few.
CASES = [
    ((70, 1000), 1), ((4000, 11), 1), ((50_001,), 0), ((300, 130), 0), ((9, 1000, 7), 1),
    ((5, 3, 4000), 1), ((3, 4), 1), ((0, 4), 0), ((4, 0), 1),
]  # fmt: skip


@pytest.fixture(params=["any", "numpy"])
def way(request, monkeypatch):
    """With machine code where it is installed, and with NumPy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(cumulative_kernels.scans, "can_scan", lambda array, wide: False)
        monkeypatch.setattr(
            cumulative_kernels.scans, "can_scan_extremes", lambda array, axis: False
        )


def numbers(shape, kind):
    generator = np.random.default_rng(1)
    made = generator.standard_normal(shape) * 20
    if kind == "complex64":
        made = made + 1j * generator.standard_normal(shape)
    return (made > 0 if kind == "bool" else np.abs(made) if kind == "uint8" else made).astype(kind)


def expected_of(ufunc, array, axis):
    """NumPy's running result, in a wide dtype."""
    wide = np.int64 if array.dtype.kind in "biu" else np.result_type(array.dtype, np.float64)
    return ufunc.accumulate(array.astype(wide), axis=axis)


def assert_equal(found, expected):
    """Equal if whole numbers; else up to rounding once, and the order of additions."""
    if expected.dtype.kind == "i":
        assert found.dtype == np.int64
        assert np.array_equal(found, expected)
    else:
        limit = 2e-7 if found.dtype.name in ("float32", "complex64") else 1e-12
        size = np.maximum(np.maximum.accumulate(np.abs(expected), axis=0), 1)
        assert np.all(np.abs(found - expected) <= limit * np.max(size, initial=0))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_running_sums(shape, axis, kind):
    array = numbers(shape, kind)
    assert_equal(lamina.tensor(array).cumsum(axis).numpy(), expected_of(np.add, array, axis))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["float32", "float64", "int16", "complex64"])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_running_products(shape, axis, kind):
    array = numbers(shape, "float64")
    array = np.sign(array) if kind == "int16" else np.exp(array / 1e5)
    array = array.astype(kind)
    expected = expected_of(np.multiply, array, axis)
    assert_equal(lamina.tensor(array).cumprod(axis).numpy(), expected)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_the_gradient_is_the_sum_from_the_end(shape, axis, kind):
    x = lamina.tensor(numbers(shape, kind), requires_grad=True)
    g = numbers(shape, kind) + numbers(shape, kind)[::-1]
    x.cumsum(axis).backward(lamina.from_numpy(g.copy()))
    expected = np.flip(expected_of(np.add, np.flip(g, axis), axis), axis)
    assert_equal(x.grad.numpy(), expected)
    assert x.grad.is_contiguous()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_not_finite_spreads_only_onwards(axis):
    array = np.ones((256, 200), np.float32)
    array[100, 50], array[130, 150], array[200, 170] = np.inf, -np.inf, np.nan
    x = lamina.tensor(array, requires_grad=True)
    found = x.cumsum(axis)
    with np.errstate(all="ignore"):
        assert np.array_equal(found.detach(), np.cumsum(array, axis, float), equal_nan=True)
        found.backward(x.detach())
        turned = np.flip(np.cumsum(np.flip(array, axis), axis, float), axis)
    assert np.array_equal(x.grad, turned, equal_nan=True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("length", [3, 70_000])
def test_sums_start_from_zero_and_products_from_one(length):
    zeros = lamina.from_numpy(np.full(length, -0.0, np.float32))
    assert not np.signbit(zeros.cumsum(0).numpy()).any()
    assert np.array_equal(np.signbit(zeros.cumprod(0).numpy()), np.arange(length) % 2 == 0)


@pytest.mark.usefixtures("way")
def test_float32_is_added_up_in_float64():
    array = np.full(1 << 17, 0.1, np.float32)
    found = lamina.tensor(array).cumsum(0)[-1].item()
    assert found == pytest.approx(float(np.float32(0.1)) * array.size, rel=1e-7)
    large = lamina.tensor([1e38, 3e38, -3e38]).repeat(20_000)[:50_000]
    assert np.isinf(large.cumsum(0)[1].item())
    assert large.cumsum(0)[2].item() == pytest.approx(1e38)


@pytest.mark.usefixtures("way")
def test_whole_numbers_wrap_round_in_the_dtype_asked_for():
    array = np.full((2, 40_000), 100, np.int64)
    found = lamina.tensor(array).cumsum(1, dtype=lamina.int8)
    assert found.dtype is lamina.int8
    assert np.array_equal(found.numpy(), np.cumsum(array, 1).astype(np.int8))


@pytest.mark.usefixtures("way")
def test_strided_broadcast_and_read_only_inputs():
    array = numbers((200, 400), "float32")
    x = lamina.tensor(array)
    for axis in (0, 1):
        assert_equal(x.T.cumsum(axis).numpy(), expected_of(np.add, array.T, axis))
        wide = x[:, ::2].expand(3, 200, 200)
        expected = expected_of(np.add, np.broadcast_to(array[:, ::2], (3, 200, 200)), axis)
        assert_equal(wide.cumsum(axis).numpy(), expected)


def running_extremes(array, axis, is_better):
    """The extremes so far and their places, one row after another; NaN is the best of all."""
    rows = np.moveaxis(array, axis, 0)
    values, places = rows.copy(), np.zeros(rows.shape, np.int64)
    for k in range(1, len(rows)):
        wins = is_better(rows[k], values[k - 1]) | (rows[k] != rows[k])
        values[k] = np.where(wins, rows[k], values[k - 1])
        places[k] = np.where(wins, k, places[k - 1])
    return np.moveaxis(values, 0, axis), np.moveaxis(places, 0, axis)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_running_extremes_and_their_places(shape, axis, kind):
    array = numbers(shape, kind)
    if array.dtype.kind == "f":
        generator = np.random.default_rng(9)
        array = np.round(array)  # so that some are equal
        for number, share in ((np.inf, 0.01), (-np.inf, 0.1), (np.nan, 0.001), (0.0, 0.1)):
            array[generator.random(shape) < share] = number
    for name, is_better in (("cummax", np.greater_equal), ("cummin", np.less_equal)):
        found = getattr(lamina.tensor(array), name)(axis)
        values, places = running_extremes(array, axis, is_better)
        assert np.array_equal(found.values.numpy(), values, equal_nan=array.dtype.kind == "f")
        assert np.array_equal(found.indices.numpy(), places)


def test_compiled_programs_take_one_step():
    array = numbers((100, 700), "float32")
    step = lamina.compile(lambda x: x.cumsum(1))
    for found in (step(lamina.tensor(array)), step(lamina.tensor(array))):
        assert_equal(found.numpy(), expected_of(np.add, array, 1))
    assert "running(" in str(step.program())


@pytest.mark.skipif(not native.is_available(), reason="machine code needs llvmlite")
def test_large_arrays_are_added_up_by_machine_code():
    wide = np.dtype("float64")
    assert native.can_scan(np.zeros((256, 256), "float32"), wide)
    assert not native.can_scan(np.zeros((4, 4), "float32"), wide)
    assert not native.can_scan(np.zeros((256, 256), "complex64"), np.dtype("complex128"))
