"""softmax of sparse tensors: that of dense ones with minus infinity where nothing is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina


def kept_and_filled(count):
    """Values of a sparse tensor, some of one place; the tensor, and the dense one it stands for."""
    random = np.random.default_rng(count)
    places = random.integers(0, (3, 2, 4), (count, 3)).T
    values = lamina.tensor(random.normal(size=count) * 3, requires_grad=True)
    sparse = lamina.sparse_coo_tensor(places, values, (3, 2, 4))
    filled = np.full((3, 2, 4), -np.inf)
    for place, value in zip(map(tuple, places.T), values.tolist(), strict=True):
        filled[place] = value + (0 if np.isinf(filled[place]) else filled[place])
    return values, sparse, filled


def dense_softmax(filled, dim):
    with np.errstate(invalid="ignore"):
        powers = np.exp(filled - filled.max(dim, keepdims=True))
        return np.nan_to_num(powers / powers.sum(dim, keepdims=True))


@given(st.integers(0, 20), st.integers(-3, 2))
def test_values(count, dim):
    _, sparse, filled = kept_and_filled(count)
    found = lamina.sparse.softmax(sparse, dim)
    assert found.is_coalesced()
    np.testing.assert_allclose(found.to_dense().tolist(), dense_softmax(filled, dim), rtol=1e-12)
    logs = lamina.sparse.log_softmax(sparse, dim)
    np.testing.assert_allclose(logs.values().exp().tolist(), found.values().tolist(), rtol=1e-12)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 2])
def test_derivatives(name, dim):
    values, sparse, _ = kept_and_filled(9)
    function, places = getattr(lamina.sparse, name), sparse._indices()

    def of_values(v):
        return function(lamina.sparse_coo_tensor(places, v, (3, 2, 4)), dim).to_dense()

    assert lamina.autograd.gradcheck(of_values, values)
    assert lamina.autograd.gradgradcheck(of_values, values)


def test_one_dimension():
    x = lamina.sparse_coo_tensor([[4, 1]], [0.0, 0.0], (6,))
    assert lamina.sparse.softmax(x, 0).to_dense().tolist() == [0, 0.5, 0, 0, 0.5, 0]


def test_a_dtype_is_converted_first():
    x = lamina.sparse_coo_tensor([[0, 1]], [3, 3], (2,))
    assert lamina.sparse.softmax(x, 0, dtype=lamina.float64).values().tolist() == [0.5, 0.5]
    with pytest.raises(lamina.errors.NotImplementedForDtype, match='"softmax" not implemented for'):
        lamina.sparse.softmax(x, 0)


def test_a_dense_tensor_is_refused():
    x = lamina.ones(2, 2)
    with pytest.raises(NotImplementedError, match=r"arguments from the 'CPU' backend") as caught:
        lamina.sparse.softmax(x, 1)
    assert "`x.to_sparse()`" in str(caught.value)


def test_in_a_program_of_pytorchs():
    with lamina.as_torch():
        import torch

        x = torch.sparse_coo_tensor([[0], [1]], [3.0], (1, 2))
        assert torch.sparse.softmax(x, 1).to_dense().tolist() == [[0, 1]]
