"""Sorting, in each of the ways it can be done: order, ties, NaN, zeros, layouts."""

import numpy as np
import pytest

import lamina
from lamina.codegen.kernels import sorting as native
from lamina.ops import sorting_kernels

DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
# Short lines are ranked, long ones moved by digits; a single long one is shared by threads.
SHAPES = [(3000, 11), (512, 128), (300, 129), (20, 2500), (140_000,)]
FEW = [(5,), (3, 4), (2, 2100), (17_000,), (0,), (3, 0), (0, 3)]  # left to NumPy


@pytest.fixture(params=["any", "numpy"])
def way(request, monkeypatch):
    """With machine code where it is installed, and with NumPy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(sorting_kernels.sorting, "can_sort", lambda array: False)


def numbers(shape, kind, seed=0):
    """Numbers with ties; floats have NaN with different bits, infinities and both zeros as well."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(kind)
    if kind.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        if seed % 2:
            return generator.integers(0, 9, shape).astype(kind)
        return generator.integers(limits.min, limits.max, shape, kind, endpoint=True)
    made = generator.standard_normal(shape).astype(kind)
    strange = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, np.finfo(kind).tiny / 8]
    chosen = generator.integers(0, 5 * len(strange), shape)
    for k, number in enumerate(strange):
        made[chosen == k] = number
    return made


def places_of(array, axis, descending):
    """The places in order, by NumPy's stable sort (which has NaN last, and zeros equal)."""
    if not descending:
        return np.argsort(array, axis=axis, kind="stable")
    turned = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
    return array.shape[axis] - 1 - np.flip(turned, axis)


def same_bits(found, expected):
    return np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", SHAPES + FEW)
def test_sorted_lines_and_their_places(shape, kind, descending):
    for seed in (0, 1):
        array = numbers(shape, kind, seed)
        values, places = lamina.tensor(array).sort(dim=-1, descending=descending)
        expected = places_of(array, -1, descending)
        assert np.array_equal(places.numpy(), expected)
        assert same_bits(values.numpy(), np.take_along_axis(array, expected, -1))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lines_along_any_dimension_of_any_layout(axis):
    whole = numbers((60, 62, 64), "float32")
    for array in (whole, whole.transpose(2, 0, 1), whole[::2, ::-1, ::3], whole[:, :1]):
        found = lamina.from_numpy(array.copy()) if array.strides[1] < 0 else lamina.tensor(array)
        values, places = found.sort(dim=axis)
        expected = places_of(array, axis, False)
        assert np.array_equal(places.numpy(), expected)
        assert same_bits(values.numpy(), np.take_along_axis(array, expected, axis))
        assert values.is_contiguous()
        assert places.is_contiguous()


@pytest.mark.usefixtures("way")
def test_strided_and_read_only_arrays():
    array = numbers((100_000, 2), "float32")
    array.flags.writeable = False
    _, places = sorting_kernels.sorted_along(array[:, 1], 0)
    assert np.array_equal(places, places_of(array[:, 1], 0, False))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_a_line_of_equal_numbers_stays_as_it_is(kind):
    array = np.full(200_000, 7, kind)
    values, places = lamina.tensor(array).sort(descending=True)
    assert np.array_equal(values.numpy(), array)
    assert np.array_equal(places.numpy(), np.arange(200_000))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_threads_gives_the_same(count):
    array = numbers((2, 150_000), "float64")
    before = lamina.get_num_threads()
    lamina.set_num_threads(count)
    try:
        _, places = lamina.tensor(array).sort()
    finally:
        lamina.set_num_threads(before)
    assert np.array_equal(places.numpy(), places_of(array, -1, False))


@pytest.mark.usefixtures("way")
def test_order_statistics_of_large_tensors():
    array = numbers((300, 200), "float32")
    array[np.isnan(array)] = 0.5
    ranked, x = np.sort(array, axis=1), lamina.tensor(array)
    for found, expected in (
        (x.median(dim=1), ranked[:, 99]),
        (x.kthvalue(17, dim=1), ranked[:, 16]),
        (x.nanmedian(dim=1), ranked[:, 99]),
    ):
        assert np.array_equal(found.values.numpy(), expected)
        places = found.indices.numpy()[:, None]
        assert np.array_equal(np.take_along_axis(array, places, 1)[:, 0], expected)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 7, 60])
@pytest.mark.parametrize("kind", DTYPES)
def test_the_first_few(kind, k, largest):
    shapes = [(100_000,), (300, 150), (40, 64), (9, 1000), (0, 300), (16, 60)]
    for seed, shape in enumerate(shapes):
        array = numbers(shape, kind, seed)
        for axis in range(len(shape)):
            if k > shape[axis]:
                continue
            values, places = lamina.tensor(array).topk(k, dim=axis, largest=largest)
            expected = np.take(places_of(array, axis, largest), np.arange(k), axis)
            assert np.array_equal(places.numpy(), expected)
            assert same_bits(values.numpy(), np.take_along_axis(array, expected, axis))
            assert values.is_contiguous()


@pytest.mark.usefixtures("way")
def test_the_first_few_of_elements_that_are_all_bad_or_all_the_same():
    for number in (np.nan, -np.inf, np.inf, 1.0):
        x = lamina.full((3, 1000), number)
        for largest in (False, True):
            values, places = x.topk(5, largest=largest)
            assert np.array_equal(values.numpy(), np.full((3, 5), number), equal_nan=True)
            assert places.tolist() == [[0, 1, 2, 3, 4]] * 3


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", DTYPES)
def test_different_elements(kind):
    for shape in ((200, 300), (7,), (0,), ()):
        array = numbers(shape, kind, 1)
        found = lamina.tensor(array).unique(return_inverse=True, return_counts=True)
        values, inverse, counts = (each.numpy() for each in found)
        expected, often = np.unique(array, return_counts=True, equal_nan=False)
        assert np.array_equal(values, expected, equal_nan=array.dtype.kind == "f")
        assert np.array_equal(counts, often)
        assert inverse.shape == array.shape
        assert np.array_equal(np.bincount(inverse.ravel(), minlength=len(values)), counts)
        assert np.array_equal(values[inverse], array, equal_nan=array.dtype.kind == "f")


@pytest.mark.usefixtures("way")
def test_gradients_go_back_to_the_places():
    array = numbers((40, 1000), "float32", 3)
    weights = np.arange(40_000, dtype=np.float32).reshape(40, 1000)
    x = lamina.tensor(array, requires_grad=True)
    (x.sort(dim=1, descending=True).values * lamina.tensor(weights)).sum().backward()
    expected = np.empty_like(weights)
    np.put_along_axis(expected, places_of(array, 1, True), weights, 1)
    assert np.array_equal(np.nan_to_num(x.grad.numpy()), expected)


def test_compiled_programs_sort_in_one_step():
    array = numbers((64, 1024), "float32")
    step = lamina.compile(lambda x: x.sort(dim=0, descending=True))
    for values, places in (step(lamina.tensor(array)), step(lamina.tensor(array))):
        expected = places_of(array, 0, True)
        assert np.array_equal(places.numpy(), expected)
        assert same_bits(values.numpy(), np.take_along_axis(array, expected, 0))
    assert "sorted_along" in str(step.program())


@pytest.mark.skipif(not native.is_available(), reason="machine code needs llvmlite")
def test_large_arrays_are_sorted_by_machine_code():
    for kind in DTYPES:
        assert native.can_sort(np.zeros((256, 256), kind))
    assert not native.can_sort(np.zeros((4, 4), "float32"))
    assert not native.can_sort(np.zeros((256, 256), ">f4"))
    assert not native.can_sort(np.zeros((256, 256), "complex64"))
