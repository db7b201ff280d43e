"""Pooling by machine code and with NumPy alone, against windows written out."""

import math
from contextlib import contextmanager

import numpy as np
import pytest
from codegen import references
from codegen.machines import WAYS
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lamina.ops import planes, pooling_means, pooling_windows
from lamina.ops.pooling_windows import Windows


@contextmanager
def by(way):
    """Kernels run by machine code whatever their size, or never."""
    least = 0 if way else 1 << 62
    before = pooling_windows.LEAST_WORK
    for module in (pooling_windows, pooling_means, planes):
        module.LEAST_WORK = least
    try:
        yield
    finally:
        for module in (pooling_windows, pooling_means, planes):
            module.LEAST_WORK = before


@st.composite
def pools(draw):
    """An array with ties, and some elements that are no numbers, and windows that fit."""
    rank = draw(st.integers(1, 3))
    most = {1: 50, 2: 20, 3: 7}[rank]
    sizes, size, stride, dilation = (
        tuple(draw(st.lists(st.integers(*ends), min_size=rank, max_size=rank)))
        for ends in ((1, most), (1, 4), (1, 3), (1, 2))
    )
    reach = [d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True)]
    padding = tuple(draw(st.integers(0, r // 2)) for r in reach)
    windows = Windows(size, stride, padding, dilation, draw(st.booleans()))
    assume(min(windows.counts(sizes)) > 0)
    assume(all(n + 2 * p >= r for n, p, r in zip(sizes, padding, reach, strict=True)))
    lead = draw(st.sampled_from([(3,), (2, 3), (1, 1), (0, 2)]))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    kind = draw(st.sampled_from([np.float32, np.float64]))
    x = random.integers(-3, 4, (*lead, *sizes)).astype(kind)
    if draw(st.booleans()):
        x[random.random(x.shape) < 0.05] = np.nan
        x[random.random(x.shape) < 0.3] = -np.inf
    return x.swapaxes(0, -1).copy().swapaxes(0, -1) if draw(st.booleans()) else x, windows


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(pools())
def test_the_largest_elements_and_their_places(way, case):
    x, windows = case
    sizes = x.shape[x.ndim - len(windows.size) :]
    counts = windows.counts(sizes)
    lead = x.shape[: x.ndim - len(sizes)]
    values, places = np.empty((*lead, *counts), x.dtype), np.empty((*lead, *counts), np.int64)
    flat = x.reshape(*lead, math.prod(sizes))
    for at, position, inside in references.windows(x, *windows[:4], counts):
        assume(inside)  # a dilated window may step over all there is
        best = inside[0]
        for place in inside:
            if flat[at][place] > flat[at][best] or np.isnan(flat[at][place]):
                best = place
        values[(*at, *position)], places[(*at, *position)] = flat[at][best], best
    with by(way):
        assert np.array_equal(pooling_windows.position_of_maximum(x, windows), places)
        found = pooling_windows.maximum_in(x, windows)
    assert np.array_equal(found, values, equal_nan=True)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(pools(), st.booleans(), st.sampled_from([None, 3]))
def test_means_of_windows_and_their_gradients(way, case, include_pad, divisor):
    x, windows = case
    x = np.nan_to_num(x, neginf=7.0)
    windows = windows._replace(dilation=(1,) * len(windows.size))
    sizes = x.shape[x.ndim - len(windows.size) :]
    assume(all(p <= k // 2 for p, k in zip(windows.padding, windows.size, strict=True)))
    counts = windows.counts(sizes)
    lead = x.shape[: x.ndim - len(sizes)]
    flat, means = x.reshape(*lead, math.prod(sizes)), np.zeros((*lead, *counts))
    g = np.random.default_rng(0).normal(size=means.shape).astype(x.dtype)
    back = np.zeros((*lead, math.prod(sizes)))
    for at, position, inside in references.windows(x, *windows[:4], counts):
        covered = np.prod(
            [
                min(t * s - p + k, n + p) - (t * s - p)
                for t, s, p, k, n in zip(
                    position, windows.stride, windows.padding, windows.size, sizes, strict=True
                )
            ]
        )
        count = divisor or (covered if include_pad else len(inside))
        means[(*at, *position)] = sum(float(flat[at][place]) for place in inside) / count
        for place in inside:
            back[(*at, place)] += g[(*at, *position)] / count
    with by(way):
        made = pooling_means.means_in(x, windows, include_pad, divisor)
        spread = pooling_means.spread_means(g, windows, include_pad, divisor, sizes)
    assert np.allclose(made, means, rtol=1e-6, atol=1e-6)
    assert np.allclose(spread, back.reshape(*lead, *sizes), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_elements_are_added_at_their_places(way):
    values = np.arange(1, 7, dtype=np.float32).reshape(2, 1, 3)
    with by(way):
        made = planes.scatter_in_planes(values, np.array([[[0, 2, 0]], [[5, 5, 5]]]), (2, 3))
    assert made.tolist() == [[[4, 0, 2], [0, 0, 0]], [[0, 0, 0], [0, 0, 15]]]


@pytest.mark.parametrize("way", WAYS)
def test_a_place_outside_is_an_error(way):
    values = np.ones((1, 1, 2), np.float32)
    with by(way), pytest.raises(IndexError):
        planes.scatter_in_planes(values, np.array([[[0, 99]]]), (2, 3))
