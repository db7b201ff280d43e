"""Sorting large tensors, compared with PyTorch: order, ties, NaN, both zeros."""

import numpy as np
import pytest
import torch

import lamina
from lamina.ops import sorting_kernels

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"]


@pytest.fixture(params=["any", "numpy"])
def way(request, monkeypatch):
    """With machine code, and with NumPy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(sorting_kernels.sorting, "can_sort", lambda array: False)


def both(shape, kind):
    """The same numbers as tensors of both, with ties and, if they can be, strange ones."""
    generator = np.random.default_rng(5)
    made = (generator.standard_normal(shape) * 50).astype("float32")
    is_float = getattr(torch, kind).is_floating_point
    if is_float:
        for number in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0):
            made[generator.random(shape) < 0.05] = number
    made = made if is_float else np.clip(np.rint(made), 0 if kind == "uint8" else -128, 127)
    return lamina.tensor(made).to(getattr(lamina, kind)), torch.tensor(made).to(
        getattr(torch, kind)
    )


def bits(tensor):
    return np.ascontiguousarray(tensor.numpy()).tobytes()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(("shape", "dim"), [((140_000,), 0), ((400, 100), 1), ((300, 140), 0)])
def test_sort_is_stable_sort(kind, shape, dim):
    ours, theirs = both(shape, kind)
    for descending in (False, True):
        found = ours.sort(dim=dim, descending=descending, stable=True)
        expected = theirs.sort(dim=dim, descending=descending, stable=True)
        assert np.array_equal(found.indices.numpy(), expected.indices.numpy())
        if kind in ("float16", "bfloat16"):  # rounding to float32 and back may change NaN's bits
            same = found.values.float().numpy(), expected.values.float().numpy()
            assert np.array_equal(*same, equal_nan=True)
        else:
            assert bits(found.values) == bits(expected.values)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("k", [1, 10, 100])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("shape", [(50_000,), (100, 700)])
def test_topk_and_kthvalue(shape, k, largest):
    ours, theirs = both(shape, "float32")
    found, expected = ours.topk(k, largest=largest), theirs.topk(k, largest=largest)
    assert np.array_equal(found.values.numpy(), expected.values.numpy(), equal_nan=True)
    chosen = ours.take_along_dim(found.indices, -1)
    assert np.array_equal(chosen.numpy(), found.values.numpy(), equal_nan=True)
    one, other = ours.kthvalue(k).values, theirs.kthvalue(k).values
    assert np.array_equal(one.numpy(), other.numpy(), equal_nan=True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["float32", "int64", "uint8"])
def test_different_elements(kind):
    ours, theirs = both((50_000,), kind)
    found = ours.unique(return_inverse=True, return_counts=True)
    expected = theirs.unique(return_inverse=True, return_counts=True)
    values, inverse, counts = (each.numpy() for each in found)
    assert np.array_equal(values, expected[0].numpy(), equal_nan=kind == "float32")
    assert np.array_equal(counts, expected[2].numpy())
    # Each NaN is another one; in which order they are numbered is PyTorch's chance.
    is_number = ours.numpy() == ours.numpy()
    assert np.array_equal(inverse[is_number], expected[1].numpy()[is_number])
    assert np.array_equal(np.sort(inverse), np.sort(expected[1].numpy()))
    assert np.array_equal(values[inverse], ours.numpy(), equal_nan=kind == "float32")


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize(("shape", "dim"), [((140_000,), 0), ((400, 101), 1), ((300, 140), 0)])
def test_running_extremes(kind, shape, dim):
    ours, theirs = both(shape, kind)
    for name in ("cummax", "cummin"):
        found, expected = getattr(ours, name)(dim), getattr(theirs, name)(dim)
        assert np.array_equal(found.indices.numpy(), expected.indices.numpy())
        assert bits(found.values) == bits(expected.values)
