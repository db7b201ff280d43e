"""Convolutions by minimal filtering, against their definition and against the direct way."""

from contextlib import contextmanager

import numpy as np
import pytest
from codegen import references
from codegen.convolutions import by, laid_out
from codegen.machines import WAYS, compiled
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import lamina
from lamina.ops import convolution_kernels as kernels
from lamina.ops.convolution_kernels import Geometry

if not WAYS[-1]:
    pytest.skip("needs llvmlite", allow_module_level=True)

from lamina.codegen.kernels import convolution, products, winograd, winograd_weights

if not products.has_tiles("f"):
    pytest.skip("other machines convolve directly", allow_module_level=True)

LEAST = [
    *((winograd, f"LEAST_{name}") for name in ("CHANNELS", "RESULTS", "FILLED")),
    *((winograd_weights, f"LEAST_{name}") for name in ("CHANNELS", "KERNELS", "SQUARES")),
]
EVERYWHERE, NOWHERE = dict.fromkeys(LEAST, 0), dict.fromkeys(LEAST, 1 << 60)


@contextmanager
def having(values):
    """Names of modules have other values."""
    before = {(module, name): getattr(module, name) for module, name in values}
    try:
        for (module, name), value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def refused(*_):
    raise AssertionError("this was to be done by minimal filtering")


MINIMAL = EVERYWHERE | {
    (convolution, "convolve_by_products"): refused,
    (convolution, "weigh_by_products"): refused,
}


def results(x, w, g, padding, bias=None):
    """A convolution, and both its gradients."""
    geometry = Geometry((1, 1), padding, (1, 1), 1)
    with by(True), np.errstate(all="ignore"):
        return (
            kernels.convolve(x, w, bias, geometry),
            kernels.convolve_transposed(g, w, None, geometry, (0, 0)),
            kernels.convolve_for_weight(x, g, geometry, (3, 3)),
        )


def arrays(batch, channels, outputs, sizes, padding, seed=0):
    """An input, a weight, and a gradient of the result."""
    random = np.random.default_rng(seed)
    counts = [size + 2 * p - 2 for size, p in zip(sizes, padding, strict=True)]
    shapes = (batch, channels, *sizes), (outputs, channels, 3, 3), (batch, outputs, *counts)
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


def definitions(x, w, g, padding):
    """The same by their definitions, in float64."""
    how = (1, 1), padding, (1, 1), 1
    return (
        references.convolution(x, w, *how),
        references.input_gradient(g, w, x.shape[2:], *how),
        references.weight_gradient(x, g, (3, 3), *how),
    )


def assert_near(made, expected):
    """No further apart than rounding explains, relative to the largest result."""
    for actual, exact in zip(made, expected, strict=True):
        assert actual.shape == exact.shape
        assert actual.flags.c_contiguous
        assert np.abs(actual - exact).max() <= 3e-6 * np.abs(exact).max()


@st.composite
def convolutions(draw):
    """Sizes and paddings that fit together, with memory in several layouts."""
    batch, channels = draw(st.integers(1, 5)), draw(st.sampled_from([1, 3, 15, 16, 17, 33]))
    outputs = draw(st.sampled_from([1, 4, 12, 13, 17, 25]))
    sizes = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    padding = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    counts = [size + 2 * p - 2 for size, p in zip(sizes, padding, strict=True)]
    assume(min(counts) > 0)
    made = arrays(batch, channels, outputs, sizes, padding, draw(st.integers(0, 99)))
    layouts = st.sampled_from(["dense", "turned", "apart", "backwards", "read-only"])
    return [laid_out(array, draw(layouts)) for array in made], padding


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(convolutions(), st.sampled_from([1, 100_000, 16 << 20]), st.sampled_from([0, 1 << 30]))
def test_any_convolution_and_its_gradients_are_their_definition(case, most, own):
    (x, w, g), padding = case
    sizes = {"MOST_SQUARES": most, "MOST_OWN_SQUARES": most, "MOST_OWN_SUMS": own}
    with having(MINIMAL | {(winograd_weights, name): size for name, size in sizes.items()}):
        made = results(x, w, g, padding)
    assert_near(made, definitions(x, w, g, padding))


@pytest.mark.parametrize(
    "sizes",
    [(1, 64, 64, (1, 1)), (33, 24, 40, (5, 3)), (2, 48, 32, (9, 70)), (8, 129, 128, (14, 14))],
)
def test_convolutions_of_many_channels(sizes):
    x, w, g = arrays(*sizes, (1, 1))
    bias = np.random.default_rng(1).normal(size=2 * len(w)).astype(np.float32)[::2]
    with having(MINIMAL):
        forward, *gradients = results(x, w, g, (1, 1), bias)
    expected, *others = definitions(x, w, g, (1, 1))
    assert_near((forward, *gradients), (expected + bias[:, None, None], *others))


def test_errors_are_about_those_of_the_direct_way():
    x, w, g = arrays(4, 128, 128, (16, 16), (1, 1))
    exact = definitions(x, w, g, (1, 1))
    errors = []
    for how in (MINIMAL, NOWHERE):
        with having(how):
            made = results(x, w, g, (1, 1))
        errors.append([np.std(one - other) for one, other in zip(made, exact, strict=True)])
    for minimal, direct in zip(*errors, strict=True):
        assert minimal < 3 * direct


def test_whole_numbers_are_convolved_without_an_error():
    x, w, g = (np.rint(3 * each) for each in arrays(2, 40, 24, (11, 9), (1, 1)))
    with having(MINIMAL):
        made = results(x, w, g, (1, 1))
    for actual, exact in zip(made, definitions(x, w, g, (1, 1)), strict=True):
        assert np.array_equal(actual, exact)


def _with(array, place, number):
    array[place] = number


@pytest.mark.parametrize(
    "change",
    [
        lambda x, w, g: _with(x, (0, 3, 4, 5), np.inf),
        lambda x, w, g: _with(x, (1, 0, 0, 0), np.nan),
        lambda x, w, g: _with(w, (7, 3, 1, 1), -np.inf),
        lambda x, w, g: _with(g, (1, 2, 6, 6), np.nan),
        lambda x, w, g: _with(x, (0, 3, 4, slice(4, 6)), 3e38),
        lambda x, w, g: _with(g, (0, 3, 4, slice(4, 6)), -3e38),
        lambda x, w, g: _with(w, (slice(None), 0), 2e38),
    ],
)
def test_results_that_are_not_finite_are_those_of_the_direct_way(change):
    x, w, g = arrays(2, 24, 26, (9, 8), (1, 1))
    change(x, w, g)
    with having(NOWHERE):
        expected = results(x, w, g, (1, 1))
    with having(EVERYWHERE):
        made = results(x, w, g, (1, 1))
    assert not all(np.isfinite(each).all() for each in made)
    for actual, direct in zip(made, expected, strict=True):
        if not np.isfinite(actual).all():
            assert np.array_equal(actual, direct, equal_nan=True)


def test_an_infinite_bias_reaches_one_channel_alone():
    x, w, g = arrays(1, 24, 24, (6, 6), (1, 1))
    bias = np.zeros(24, np.float32)
    bias[5] = np.inf
    with having(EVERYWHERE):
        made = results(x, w, g, (1, 1), bias)[0]
    assert np.array_equal(np.isfinite(made).all((0, 2, 3)), np.isfinite(bias))


@pytest.mark.parametrize("own", [0, 1 << 30])
def test_the_number_of_threads_changes_no_bit(own):
    x, w, g = arrays(5, 34, 130, (17, 20), (1, 1))
    before = lamina.get_num_threads()
    made = []
    try:
        for count in (1, 2):
            lamina.set_num_threads(count)
            with having(MINIMAL | {(winograd_weights, "MOST_OWN_SUMS"): own}):
                made.append(results(x, w, g, (1, 1)))
    finally:
        lamina.set_num_threads(before)
    for one, two in zip(*made, strict=True):
        assert np.array_equal(one, two)


def test_a_compiled_convolution_gives_the_same_bits():
    x, w, _ = arrays(2, 32, 32, (12, 12), (1, 1))
    geometry = Geometry((1, 1), (1, 1), (1, 1), 1)
    with having(MINIMAL):
        run = compiled(lambda x, w: kernels.convolve(x, w, None, geometry), x, w, native=True)
        (made,) = run(x, w)
        assert np.array_equal(made, kernels.convolve(x, w, None, geometry))


@pytest.mark.parametrize("sizes", [(2, 64, 64, (1, 40)), (9, 64, 64, (1, 1)), (1, 8, 64, (9, 9))])
def test_what_gains_nothing_is_convolved_directly(sizes):
    arguments = arrays(*sizes, (1, 1))
    made = results(*arguments, (1, 1))
    with having(NOWHERE):
        expected = results(*arguments, (1, 1))
    for actual, direct in zip(made, expected, strict=True):
        assert np.array_equal(actual, direct)


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "groups"),
    [((3, 3), 2, 1, 1), ((3, 3), 1, 2, 1), ((3, 3), 1, 1, 2), ((3, 2), 1, 1, 1), ((3,), 1, 1, 1)],
)
def test_other_forms_are_convolved_directly(kernel, stride, dilation, groups):
    rank = len(kernel)
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 32, *[11] * rank)).astype(np.float32)
    w = random.normal(size=(32, 32 // groups, *kernel)).astype(np.float32)
    geometry = Geometry((stride,) * rank, (1,) * rank, (dilation,) * rank, groups)
    with having(EVERYWHERE), by(True):
        made = kernels.convolve(x, w, None, geometry)
    exact = references.convolution(x, w, *geometry)
    assert np.allclose(made, exact, rtol=1e-4, atol=1e-4)
