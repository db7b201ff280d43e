"""Convolution and pooling of sizes that machine code serves, against the real PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def both(call, *arrays):
    """Results and gradients of a call in each library, as arrays."""
    found = []
    for library in (lamina, torch):
        tensors = [library.tensor(array).requires_grad_() for array in arrays]
        y = call(library.nn.functional, *tensors)
        y, *more = y if isinstance(y, tuple) else (y,)
        weights = np.random.default_rng(1).normal(size=tuple(y.shape)).astype(arrays[0].dtype)
        (y * library.tensor(weights)).sum().backward()
        grads = [tensor.grad.numpy() for tensor in tensors]
        found.append([y.detach().numpy(), *(m.numpy() for m in more), *grads])
    return zip(*found, strict=True)


def assert_same(call, *arrays):
    tolerance = 2e-5 if arrays[0].dtype == np.float32 else 1e-12
    for ours, theirs in both(call, *arrays):
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= tolerance * max(np.abs(theirs).max(), 1)


CONVOLUTIONS = {
    "first layer": ("conv2d", (8, 3, 32, 32), (64, 3, 3, 3), {"padding": 1}),
    "middle layer": ("conv2d", (4, 32, 14, 14), (48, 32, 3, 3), {"padding": 1}),
    "last layer": ("conv2d", (4, 64, 7, 7), (64, 64, 3, 3), {"padding": 1}),
    "strided": ("conv2d", (4, 16, 33, 30), (24, 16, 3, 3), {"stride": 2, "padding": 1}),
    "one by one": ("conv2d", (4, 32, 15, 15), (20, 32, 1, 1), {"stride": 2}),
    "dilated": ("conv2d", (2, 8, 40, 40), (8, 8, 3, 3), {"dilation": 3, "padding": "same"}),
    "even kernel": ("conv2d", (2, 8, 21, 20), (8, 8, 4, 2), {"padding": "same"}),
    "groups": ("conv2d", (4, 24, 20, 20), (36, 8, 3, 3), {"groups": 3, "padding": (1, 2)}),
    "depthwise": ("conv2d", (4, 32, 32, 32), (32, 1, 3, 3), {"groups": 32, "padding": 1}),
    "depthwise, strided": ("conv2d", (4, 32, 31, 31), (32, 1, 5, 5), {"groups": 32, "stride": 2}),
    "line": ("conv1d", (4, 16, 300), (32, 16, 5), {"stride": 3, "padding": 2}),
    "space": ("conv3d", (2, 4, 9, 10, 11), (8, 4, 3, 2, 3), {"padding": 1}),
    "back": ("conv_transpose2d", (4, 24, 14, 14), (24, 16, 3, 3), {"padding": 1}),
    "back, strided": (
        "conv_transpose2d", (4, 24, 13, 15), (24, 8, 4, 3),
        {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2},
    ),
    "back on a line": ("conv_transpose1d", (4, 24, 50), (24, 8, 4), {"stride": 3, "dilation": 2}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch's own, about a copy
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name, kind):
    function, shape, kernel, settings = CONVOLUTIONS[name]
    random = np.random.default_rng(0)
    outputs = kernel[0]
    if "transpose" in function:
        outputs = kernel[1] * settings.get("groups", 1)
    sizes = (shape, kernel, (outputs,))
    arrays = [random.normal(size=size).astype(kind) for size in sizes]
    assert_same(lambda space, x, w, b: getattr(space, function)(x, w, b, **settings), *arrays)


POOLS = {
    "halves": ("max_pool2d", (8, 16, 28, 28), (2,), {}),
    "overlapping": ("max_pool2d", (8, 16, 29, 27), (3, 2, 1), {"return_indices": True}),
    "dilated": ("max_pool2d", (8, 16, 29, 27), (3, 2, 1, 2), {"ceil_mode": True}),
    "line": ("max_pool1d", (8, 16, 301), (3, 2, 1), {"return_indices": True}),
    "space": ("max_pool3d", (4, 8, 9, 12, 17), ((2, 3, 2), (1, 2, 3), 1), {}),
    "no batch": ("max_pool2d", (64, 28, 28), (2,), {}),
    "means": ("avg_pool2d", (8, 16, 28, 28), (2,), {}),
    "means with padding": ("avg_pool2d", (8, 16, 29, 27), (3, 2, 1), {}),
    "means without padding": (
        "avg_pool2d", (8, 16, 29, 27), (3, 2, 1), {"count_include_pad": False},
    ),
    "means over the end": ("avg_pool2d", (8, 16, 30, 27), (3, 2, 1), {"ceil_mode": True}),
    "means of a line": ("avg_pool1d", (8, 16, 301), (3, 2, 1), {}),
    "means of space": ("avg_pool3d", (4, 8, 9, 12, 17), ((2, 3, 2), (1, 2, 3), 1), {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", POOLS)
def test_pooling(name, kind):
    function, shape, args, settings = POOLS[name]
    x = np.random.default_rng(0).integers(-9, 10, shape).astype(kind)
    assert_same(lambda space, x: getattr(space, function)(x, *args, **settings), x)


def test_a_compiled_step_of_a_network_is_the_eager_one():
    random = np.random.default_rng(0)
    x = random.normal(size=(8, 3, 28, 28)).astype(np.float32)
    w = random.normal(size=(16, 3, 3, 3)).astype(np.float32)

    def loss(x, w):
        hidden = lamina.nn.functional.conv2d(x, w, padding=1).relu()
        return lamina.nn.functional.max_pool2d(hidden, 2).square().mean()

    def step(x, w):
        value = loss(x, w)
        return (value, *lamina.autograd.grad(value, (x, w)))

    tensors = [lamina.tensor(array, requires_grad=True) for array in (x, w)]
    compiled = lamina.compile(step)(*tensors)
    for ours, eager in zip(compiled, step(*tensors), strict=True):
        assert np.allclose(ours.detach().numpy(), eager.detach().numpy(), rtol=1e-5, atol=1e-7)
