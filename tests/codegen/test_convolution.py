"""Convolutions by machine code and with NumPy alone, against their definition."""

import math

import numpy as np
import pytest
from codegen import references
from codegen.convolutions import by, check, laid_out
from codegen.machines import WAYS, compiled
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import lamina
from lamina.devices.traced import Recorder
from lamina.ops import convolution_kernels as kernels
from lamina.ops.convolution_kernels import Geometry


@st.composite
def convolutions(draw):
    """Arrays and a geometry that fit together."""
    rank = draw(st.integers(1, 3))
    most = {1: 70, 2: 20, 3: 7}[rank]
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    channels, outputs = draw(st.integers(1, 5)), draw(st.sampled_from([1, 2, 5, 12, 13, 25]))
    sizes, kernel, stride, padding, dilation = (
        tuple(draw(st.lists(st.integers(*ends), min_size=rank, max_size=rank)))
        for ends in ((1, most), (1, 4), (1, 3), (0, 3), (1, 2))
    )
    assume(min(references.counts_of(sizes, kernel, stride, padding, dilation)) > 0)
    kind = draw(st.sampled_from([np.float32, np.float64]))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    x = random.normal(size=(draw(st.integers(0, 5)), channels * groups, *sizes)).astype(kind)
    w = random.normal(size=(outputs * groups, channels, *kernel)).astype(kind)
    layouts = st.sampled_from(["dense", "turned", "apart", "backwards", "read-only"])
    x, w = laid_out(x, draw(layouts)), laid_out(w, draw(layouts))
    return x, w, Geometry(stride, padding, dilation, groups)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(convolutions())
def test_any_convolution_and_its_gradients_are_their_definition(way, case):
    check(*case, way)


CASES = {
    "first layer": ((3, 3, 32, 32), (64, 3, 3, 3), 1, 1, 1, 1),
    "rows longer than vectors": ((2, 4, 9, 70), (14, 4, 3, 3), 1, 1, 1, 1),
    "small images": ((6, 20, 7, 7), (40, 20, 3, 3), 1, 1, 1, 1),
    "many channels": ((1, 130, 6, 6), (30, 130, 2, 2), 1, 0, 1, 1),
    "strided": ((2, 6, 30, 31), (26, 3, 3, 4), 2, 1, 1, 2),
    "stride beyond the kernel": ((2, 3, 20, 20), (5, 3, 2, 2), 3, 0, 1, 1),
    "padding beyond the kernel": ((2, 3, 9, 9), (5, 3, 1, 1), 1, 2, 1, 1),
    "depthwise": ((3, 20, 17, 35), (20, 1, 3, 3), 1, 1, 1, 20),
    "depthwise, strided": ((3, 5, 33, 20), (5, 1, 5, 4), 2, 2, 2, 5),
    "depthwise, several results": ((3, 5, 12, 20), (10, 1, 3, 3), 1, 1, 1, 5),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_convolutions_of_many_shapes(name, kind, way):
    shape, kernel, stride, padding, dilation, groups = CASES[name]
    random = np.random.default_rng(0)
    x, w = (random.normal(size=size).astype(kind) for size in (shape, kernel))
    rank = len(shape) - 2
    check(x, w, Geometry((stride,) * rank, (padding,) * rank, (dilation,) * rank, groups), way)


@pytest.mark.parametrize("way", WAYS)
def test_results_of_a_broadcast_input_and_a_bias(way):
    random = np.random.default_rng(0)
    plane = random.normal(size=(1, 1, 12, 12)).astype(np.float32)
    x, w = np.broadcast_to(plane, (2, 3, 12, 12)), random.normal(size=(4, 3, 3, 3))
    w, bias = w.astype(np.float32), random.normal(size=8).astype(np.float32)[::2]
    geometry = Geometry((1, 1), (0, 0), (1, 1), 1)
    with by(way):
        made = kernels.convolve(x, w, bias, geometry)
    expected = references.convolution(x, w, *geometry) + bias[:, None, None]
    assert np.allclose(made, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("groups", [1, 4])
def test_what_is_not_finite_stays_where_it_belongs(way, groups):
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 4, 9, 21)).astype(np.float32)
    x[0, 1, 4, 5], x[1, 2, 0, 20] = np.inf, np.nan
    w = random.normal(size=(4, 4 // groups, 3, 3)).astype(np.float32)
    geometry = Geometry((1, 1), (1, 1), (1, 1), groups)
    g = random.normal(size=(2, 4, 9, 21)).astype(np.float32)
    with by(way), np.errstate(all="ignore"):
        made = kernels.convolve(x, w, None, geometry)
        weight = kernels.convolve_for_weight(x, g, geometry, (3, 3))
        expected = references.convolution(x, w, *geometry)
        expected_weight = references.weight_gradient(x, g, (3, 3), *geometry)
    assert np.array_equal(np.isfinite(made), np.isfinite(expected))
    assert np.array_equal(np.isfinite(weight), np.isfinite(expected_weight))


@pytest.mark.parametrize("way", WAYS)
def test_an_empty_batch_gives_zeros_for_the_weight(way):
    x, g = np.empty((0, 2, 5, 5), np.float32), np.empty((0, 3, 3, 3), np.float32)
    geometry = Geometry((1, 1), (0, 0), (1, 1), 1)
    with by(way):
        assert kernels.convolve(x, np.ones((3, 2, 3, 3), np.float32), None, geometry).size == 0
        made = kernels.convolve_for_weight(x, g, geometry, (3, 3))
    assert made.shape == (3, 2, 3, 3)
    assert not made.any()


def test_the_number_of_threads_changes_no_bit():
    random = np.random.default_rng(0)
    x = random.normal(size=(9, 6, 20, 20)).astype(np.float32)
    w = random.normal(size=(10, 6, 3, 3)).astype(np.float32)
    geometry = Geometry((1, 1), (1, 1), (1, 1), 1)
    before = lamina.get_num_threads()
    made = []
    try:
        with by(True):
            for count in (1, 2):
                lamina.set_num_threads(count)
                y = kernels.convolve(x, w, None, geometry)
                made.append((y, kernels.convolve_for_weight(x, y, geometry, (3, 3))))
    finally:
        lamina.set_num_threads(before)
    for one, two in zip(*made, strict=True):
        assert np.array_equal(one, two)


def test_a_convolution_is_one_step_of_a_program():
    recorder = Recorder()
    with recorder:
        x = recorder.input(np.ones((2, 3, 8, 8), np.float32))
        w = recorder.input(np.ones((4, 3, 3, 3), np.float32))
        y = kernels.convolve(x, w, None, Geometry((1, 1), (0, 0), (1, 1), 1))
    assert y.shape == (2, 4, 6, 6)
    assert [step.function for step in recorder.program.steps] == [kernels.convolve]
    (again,) = recorder.replay(recorder.inputs, [y])
    assert np.array_equal(again, np.full((2, 4, 6, 6), 27.0))


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_convolution_gives_new_results_each_time(way):
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 1, 2, 8, 8)).astype(np.float32)
    w = random.normal(size=(3, 2, 3, 3)).astype(np.float32)
    geometry = Geometry((1, 1), (0, 0), (1, 1), 1)
    with by(way):
        run = compiled(lambda x, w: kernels.convolve(x, w, None, geometry), first, w, native=way)
        (kept,), (other,) = run(first, w), run(second, w)
    for x, y in ((first, kept), (second, other)):
        assert np.allclose(y, references.convolution(x, w, *geometry), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_second_derivatives_are_those_of_finite_differences(way):
    lamina.manual_seed(0)
    x, w = (lamina.randn(*size, dtype=lamina.float64) for size in ((2, 2, 5, 6), (3, 2, 3, 2)))
    x.requires_grad_()
    w.requires_grad_()

    def function(x, w):
        return lamina.nn.functional.conv2d(x, w, stride=(2, 1), padding=1)

    with by(way):
        assert lamina.autograd.gradcheck(function, (x, w))
        assert lamina.autograd.gradgradcheck(function, (x, w))


@pytest.mark.parametrize("way", WAYS)
def test_halves_are_convolved_in_float32_and_rounded_once(way):
    random = np.random.default_rng(0)
    x, w = (random.normal(size=size).astype(np.float16) for size in ((1, 3, 9, 9), (4, 3, 3, 3)))
    with by(way):
        made = lamina.conv2d(lamina.from_numpy(x), lamina.from_numpy(w)).numpy()
    exact = references.convolution(x, w, (1, 1), (0, 0), (1, 1), 1)
    assert np.abs(made - exact).max() <= 0.5 * np.spacing(np.float16(math.ceil(abs(exact).max())))
