"""Sparse tensors: each operation gives what the dense tensors give, gradients too."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import lamina

PLACES = [[0, 1, 1, 0], [2, 0, 2, 2]]
ROWS, COLUMNS = 2, 3


def made(**options):
    """A tensor in which one place stands twice."""
    return lamina.sparse_coo_tensor(PLACES, lamina.tensor([3.0, 4.0, 5.0, 6.0], **options), (2, 3))


DENSE = np.array([[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]])
FACTOR = lamina.tensor(np.arange(6.0).reshape(3, 2) - 2, dtype=lamina.float32)


def test_facts_of_a_sparse_tensor():
    x = made()
    assert (x.is_sparse, x.layout, x.shape, x.numel()) == (True, lamina.sparse_coo, (2, 3), 6)
    assert (x._nnz(), x.sparse_dim(), x.dense_dim(), x.is_coalesced()) == (4, 2, 0, False)
    assert not lamina.ones(2).is_sparse
    y = x.coalesce()
    assert y.is_coalesced()
    assert y.coalesce() is y
    assert y.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert y.values().tolist() == [9.0, 4.0, 5.0]
    assert x._indices().tolist() == PLACES


def test_a_sparse_tensor_is_printed_with_places_and_values():
    assert repr(made()) == (
        "tensor(indices=tensor([[0, 1, 1, 0],\n"
        "                       [2, 0, 2, 2]]),\n"
        "       values=tensor([3., 4., 5., 6.]),\n"
        "       size=(2, 3), nnz=4, layout=torch.sparse_coo)"
    )


EXPRESSIONS = {
    "x + x": 2 * DENSE, "x - x": 0 * DENSE, "x * 2": 2 * DENSE, "2 * x": 2 * DENSE,
    "x / 2": DENSE / 2, "-x": -DENSE, "x * x": DENSE**2, "x * d": DENSE * (DENSE + 1),
    "x.t()": DENSE.T, "x.transpose(0, 1)": DENSE.T, "x.sqrt()": np.sqrt(DENSE),
    "x.erf()": np.vectorize(math.erf)(DENSE), "(x * 0.1).erfinv().erf()": 0.1 * DENSE,
    "x.double()": DENSE, "x.clone()": DENSE, "x.sum()": DENSE.sum(), "d + x": 2 * DENSE + 1,
    "lamina.sparse.sum(x)": DENSE.sum(), "lamina.sparse.sum(x, 0)": DENSE.sum(0),
    "x @ f": DENSE @ FACTOR.numpy(), "lamina.mm(x, f)": DENSE @ FACTOR.numpy(),
    "lamina.spmm(x, f)": DENSE @ FACTOR.numpy(), "lamina.dsmm(x, f)": DENSE @ FACTOR.numpy(),
    "x @ f[:, 0]": DENSE @ FACTOR.numpy()[:, 0],
    "lamina.sparse.mm(x, x.t())": DENSE @ DENSE.T, "f.t() @ x.t()": FACTOR.numpy().T @ DENSE.T,
    "lamina.sparse.addmm(lamina.ones(2, 2), x, f, alpha=2)": 1 + 2 * DENSE @ FACTOR.numpy(),
    "d.sparse_mask(x)": (DENSE + 1) * (DENSE != 0), "d.to_sparse()": DENSE + 1,
    "x.coalesce()": DENSE, "copy.deepcopy(x)": DENSE, "x.detach()": DENSE,
}  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_operations_give_what_dense_ones_give(text):
    dense = lamina.tensor(DENSE + 1, dtype=lamina.float32)
    names = {"lamina": lamina, "copy": copy, "x": made(), "d": dense, "f": FACTOR}
    got = eval(text, names)
    np.testing.assert_allclose(got.to_dense().numpy(), EXPRESSIONS[text], rtol=1e-6)


matrices = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    elements=st.sampled_from([0.0, 0.0, 1.5, -2.0]),
)


@given(matrix=matrices, columns=st.integers(1, 4))
def test_products_and_their_gradients(matrix, columns):
    factor = np.random.default_rng(0).normal(size=(matrix.shape[1], columns))
    whole, first = (
        lamina.tensor(matrix, requires_grad=True),
        lamina.tensor(factor, requires_grad=True),
    )
    sparse = lamina.tensor(matrix).to_sparse()
    values, second = sparse.values().requires_grad_(), lamina.tensor(factor, requires_grad=True)
    again = lamina.sparse_coo_tensor(sparse.indices(), values, sparse.shape)
    wanted, got = whole @ first, lamina.sparse.mm(again, second)
    np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), atol=1e-12)
    (wanted**2).sum().backward()
    (got**2).sum().backward()
    np.testing.assert_allclose(second.grad.numpy(), first.grad.numpy(), atol=1e-12)
    kept = whole.grad.numpy()[tuple(sparse.indices().numpy())]
    np.testing.assert_allclose(values.grad.numpy(), kept, atol=1e-12)


def test_large_products_go_block_by_block(monkeypatch):
    monkeypatch.setattr("lamina.devices.sparse._BLOCK", 6)
    random = np.random.default_rng(0)
    matrix = random.normal(size=(9, 7)) * (random.uniform(size=(9, 7)) < 0.6)
    factor = random.normal(size=(7, 2))
    got = lamina.tensor(matrix).to_sparse() @ lamina.tensor(factor)
    np.testing.assert_allclose(got.numpy(), matrix @ factor, atol=1e-12)


def test_gradients_flow_through_coalescing_transposing_and_densifying():
    values = lamina.tensor([3.0, 4.0, 5.0, 6.0], dtype=lamina.float64, requires_grad=True)

    def through(values):
        x = lamina.sparse_coo_tensor(PLACES, values, (2, 3))
        return x.coalesce().values().sum() * x.t().to_dense() + (x * 2).to_dense().T

    assert lamina.autograd.gradcheck(through, values)


def test_gradients_flow_into_what_was_made_sparse():
    dense = lamina.tensor(DENSE, requires_grad=True)
    dense.to_sparse().to_dense().sum().backward()
    assert dense.grad.tolist() == np.ones((2, 3)).tolist()
    masked = lamina.tensor(DENSE + 1, requires_grad=True)
    masked.sparse_mask(made()).to_dense().sum().backward()
    assert masked.grad.tolist() == (DENSE != 0).astype(float).tolist()


def test_the_gradient_of_a_sparse_leaf_is_dense():
    for use in (lambda x: x.sum(), lambda x: lamina.sparse.mm(x, lamina.ones(3, 1)).sum()):
        leaf = made().coalesce().requires_grad_()
        use(leaf).backward()
        assert leaf.grad.tolist() == np.ones((2, 3)).tolist()


def test_sparse_tensors_stay_in_host_memory():
    with lamina.cuda.simulate(), pytest.raises(NotImplementedError, match="stay in host memory"):
        made().cuda()


def test_older_ways_to_make_one():
    places, values = lamina.tensor(PLACES), lamina.tensor([3, 4, 5, 6])
    x = lamina.sparse.DoubleTensor(places, values, lamina.Size([2, 3]))
    assert x.dtype is lamina.float64
    np.testing.assert_array_equal(x.to_dense().numpy(), DENSE)
    assert lamina.sparse.FloatTensor(2, 3)._nnz() == lamina.sparse_coo_tensor((2, 3))._nnz() == 0
    assert lamina.sparse_coo_tensor(PLACES, [1.0] * 4).shape == (2, 3)


def test_modules_hold_sparse_buffers():
    class Holder(lamina.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("heads", lamina.eye(3).bool().to_sparse(), persistent=False)

    holder = Holder().double().to("cpu")
    assert holder.heads.dtype is lamina.bool
    assert holder.heads.indices().T.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert holder.state_dict() == {}


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: made().exp(), NotImplementedError, "exp is not implemented for the sparse layout"),
        (lambda: made()[0], NotImplementedError, "indexing is not implemented"),
        (lambda: made() + 1, NotImplementedError, "a sum with a number is not implemented"),
        (lambda: made().numpy(), TypeError, "Use Tensor.to_dense"),
        (lambda: made().indices(), RuntimeError, "please call .coalesce"),
        (lambda: lamina.ones(2).coalesce(), RuntimeError, "expected sparse coordinate tensor"),
        (lambda: lamina.sparse_coo_tensor([[-1]], [1.0]), RuntimeError, "found negative index -1"),
        (lambda: lamina.sparse_coo_tensor([[1]], [1.0], (1,)), RuntimeError, "inconsistent with"),
        (lambda: lamina.sparse_coo_tensor([[1]], [1.0, 2.0]), RuntimeError, "must have same nnz"),
        (lambda: lamina.sparse_coo_tensor([[1]], [[1.0]]), NotImplementedError, "hybrid tensors"),
        (lambda: lamina.ones(2, 2).to_sparse(1), NotImplementedError, "without dense"),
        (lambda: lamina.ones(()).to_sparse(), NotImplementedError, "for one dimension or more"),
        (lambda: made() @ lamina.ones(2, 3, 3), NotImplementedError, "a product of batches"),
        (lambda: made() @ lamina.ones(2, 3), RuntimeError, "cannot be multiplied"),
    ],
)
def test_what_is_not_there_is_refused_in_words(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
