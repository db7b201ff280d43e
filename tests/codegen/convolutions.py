"""What the tests of convolutions share: kernels by machine code or NumPy, and their definition."""

from contextlib import contextmanager

import numpy as np
from codegen import references

from lamina.ops import convolution_kernels as kernels

EPSILON = {"f": 1e-5, "d": 1e-13}


@contextmanager
def by(way):
    """Kernels run by machine code whatever their size, or never."""
    before = kernels.LEAST_WORK
    kernels.LEAST_WORK = 0 if way else 1 << 62
    try:
        yield
    finally:
        kernels.LEAST_WORK = before


def laid_out(array, layout):
    """The same numbers, lying differently in memory."""
    if layout == "turned":
        return np.asfortranarray(array)
    if layout == "apart":
        room = np.full((*array.shape[:-1], 2 * array.shape[-1]), np.nan, array.dtype)
        room[..., ::2] = array
        return room[..., ::2]
    if layout == "backwards":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if layout == "read-only":
        array = array.copy()
        array.flags.writeable = False
    return array


def assert_near(actual, expected, size):
    """No further apart than rounding explains; `size` is the result for absolute values."""
    assert actual.shape == expected.shape
    assert actual.flags.c_contiguous
    assert np.all(np.abs(actual - expected) <= EPSILON[actual.dtype.char] * size)


def check(x, w, geometry, way):
    """All three kernels, for one geometry."""
    stride, padding, dilation, groups = geometry
    how = stride, padding, dilation, groups
    with by(way):
        y = kernels.convolve(x, w, None, geometry)
        assert_near(
            y,
            references.convolution(x, w, *how),
            references.convolution(abs(x), abs(w), *how),
        )
        g = np.random.default_rng(1).normal(size=y.shape).astype(x.dtype)
        sizes = x.shape[2:]
        least = geometry.transposed_output(g.shape[2:], w.shape[2:], (0,) * len(sizes))
        extra = tuple(n - m for n, m in zip(sizes, least, strict=True))
        assert_near(
            kernels.convolve_transposed(g, w, None, geometry, extra),
            references.input_gradient(g, w, sizes, *how),
            references.input_gradient(abs(g), abs(w), sizes, *how),
        )
        kernel = w.shape[2:]
        assert_near(
            kernels.convolve_for_weight(x, g, geometry, kernel),
            references.weight_gradient(x, g, kernel, *how),
            references.weight_gradient(abs(x), abs(g), kernel, *how),
        )
