"""Attention of sizes that machine code serves, against the real PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

CASES = {
    "whole": ((2, 4, 256, 64), (2, 4, 256, 64), (2, 4, 256, 64), {}),
    "causal": ((1, 4, 300, 32), (1, 4, 300, 32), (1, 4, 300, 32), {"is_causal": True}),
    "causal, more keys": ((1, 2, 270, 16), (1, 2, 400, 16), (1, 2, 400, 16), {"is_causal": True}),
    "causal, more queries": ((1, 2, 400, 8), (1, 2, 270, 8), (1, 2, 270, 8), {"is_causal": True}),
    "other values": ((2, 2, 260, 20), (2, 2, 300, 20), (2, 2, 300, 33), {"scale": 0.4}),
    "three dimensions": ((3, 260, 16), (3, 300, 16), (3, 300, 16), {}),
    "shared heads": ((1, 6, 260, 16), (1, 2, 300, 16), (1, 2, 300, 16), {"enable_gqa": True}),
    "shared, few": ((2, 4, 20, 16), (2, 2, 30, 16), (2, 2, 30, 16), {"enable_gqa": True}),
    "shared, causal": (
        (2, 4, 280, 16), (2, 1, 280, 16), (2, 1, 280, 16),
        {"enable_gqa": True, "is_causal": True},
    ),
}  # fmt: skip


def both(arrays, mask, options):
    """Results, gradients and strides of a call in each library."""
    found = []
    for library in (lamina, torch):
        tensors = [library.tensor(array).requires_grad_() for array in arrays]
        given = None if mask is None else library.tensor(mask)
        attend = library.nn.functional.scaled_dot_product_attention
        y = attend(*tensors, given, **options)
        weights = np.random.default_rng(1).normal(size=tuple(y.shape)).astype(arrays[0].dtype)
        y.backward(library.tensor(weights))
        found.append([y.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors)])
    return zip(*found, strict=True)


def assert_same(arrays, mask, options):
    tolerance = 2e-5 if arrays[0].dtype == np.float32 else 1e-12
    for ours, theirs in both(arrays, mask, options):
        assert ours.shape == theirs.shape
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))
        is_number = ~np.isnan(theirs)
        assert np.abs(ours - theirs)[is_number].max() <= tolerance * np.abs(theirs[is_number]).max()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_attention(name, kind):
    *shapes, options = CASES[name]
    random = np.random.default_rng(0)
    assert_same([random.normal(size=shape).astype(kind) for shape in shapes], None, options)


MASKS = {
    "added": lambda random: random.normal(size=(270, 300)).astype(np.float32),
    "added to each head": lambda random: random.normal(size=(2, 3, 270, 300)).astype(np.float32),
    "of truth": lambda random: random.random((1, 3, 270, 300)) > 0.4,
    "of padding": lambda random: random.random((2, 1, 1, 300)) > 0.4,
    "queries without keys": lambda random: np.repeat(random.random((270, 1)) > 0.3, 300, 1),
    "no key at all": lambda _: np.zeros((270, 300), bool),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    random = np.random.default_rng(0)
    shapes = (2, 3, 270, 32), (2, 3, 300, 32), (2, 3, 300, 32)
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    assert_same(arrays, MASKS[name](random), {})


@pytest.mark.parametrize(
    "shape",
    [(270, 300), (2, 3, 270, 300), (1, 3, 270, 300), (2, 1, 1, 300), (270, 1), (2, 1, 1, 1)],
)
def test_gradients_of_masks(shape):
    found = []
    for library in (lamina, torch):
        random = np.random.default_rng(0)
        q = library.tensor(random.normal(size=(2, 3, 270, 32)).astype(np.float32))
        k, v = (library.tensor(random.normal(size=(2, 3, 300, 32)).astype("f")) for _ in range(2))
        mask = library.tensor(random.normal(size=shape).astype("f"), requires_grad=True)
        y = library.nn.functional.scaled_dot_product_attention(q, k, v, mask)
        (y * y).sum().backward()
        found.append(mask.grad.numpy())
    ours, theirs = found
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 2e-5 * max(np.abs(theirs).max(), 5)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("way", ["whole", "causal", "shared heads", "masked"])
def test_dropout_drops_the_same_weights(way, kind):
    """On Intel processors PyTorch takes these numbers from another stream."""
    found = []
    heads = 2 if way == "shared heads" else 4
    for library in (lamina, torch):
        random = np.random.default_rng(0)
        shapes = (2, 4, 270, 16), (2, heads, 300, 16), (2, heads, 300, 16)
        tensors = [
            library.tensor(random.normal(size=shape).astype(kind), requires_grad=True)
            for shape in shapes
        ]
        mask = library.tensor(random.random((270, 300)) > 0.3) if way == "masked" else None
        library.manual_seed(7)
        y = library.nn.functional.scaled_dot_product_attention(
            *tensors, mask, 0.1, way == "causal", enable_gqa=heads == 2
        )
        (y * y).sum().backward()
        state = library.rand(3)
        found.append([y.detach(), state, *(tensor.grad for tensor in tensors)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(
            ours.numpy(), theirs.numpy(), rtol=0, atol=2e-5 * float(theirs.abs().max())
        )


@pytest.mark.parametrize("heads", [1, 4])
def test_a_mask_of_heads_that_share(heads):
    random = np.random.default_rng(0)
    shapes = (2, 4, 270, 16), (2, 2, 300, 16), (2, 2, 300, 16)
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    assert_same(arrays, random.random((2, heads, 270, 300)) > 0.4, {"enable_gqa": True})


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", range(3))
def test_what_is_not_finite(which, value):
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(1, 2, 256, 16)).astype(np.float32) for _ in range(3)]
    arrays[which][0, 1, 100, 3] = value
    mask = np.ones((256, 256), bool)
    mask[:, 100] = False
    for given in (None, mask):
        ours, theirs = next(both(arrays, given, {}))
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))
        assert np.array_equal(np.isinf(ours), np.isinf(theirs))


@pytest.mark.parametrize("is_projected", [False, True])
def test_results_lie_as_queries_do(is_projected):
    found = []
    for library in (lamina, torch):
        x = library.ones(2, 256, 3, 16) if is_projected else library.ones(2, 3, 256, 16)
        x = x.transpose(1, 2) if is_projected else x
        found.append(library.nn.functional.scaled_dot_product_attention(x, x, x).stride())
    assert found[0] == found[1]
