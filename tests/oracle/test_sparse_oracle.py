"""Sparse tensors beside PyTorch: texts, values, gradients, and the training of a graph network."""

import numpy as np
import pytest
import torch

import lamina

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning"),
]
EXPRESSIONS = """
x|x.coalesce()|y + y|x * 2|x / 2|-y|x.t()|x.sum()|m.sparse.sum(x)|m.sparse.sum(x, 0)|d + x|y * y
x.to_dense()|x @ f|m.spmm(x, f)|x @ f[:, 0]|f.t() @ x.t()|m.sparse.mm(x, x.t())|x.double()|x.clone()
m.sparse.softmax(x, 1)|m.sparse.log_softmax(x, 0)|m.sparse.softmax(y.double(), -1)
m.sparse.softmax(x.detach(), 0, m.float64)
m.sparse.addmm(d[:, :2], x, f)|x.abs()|m.eye(3).to_sparse()|m.tensor([True, False]).to_sparse()
d.sparse_mask(x.coalesce())|m.zeros(3).to_sparse()|x.half()|x.long()|m.sparse_coo_tensor((2, 2))
m.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0])|x.coalesce().indices()|x.coalesce().values()
x.detach().requires_grad_()|m.sparse_coo_tensor([[0], [1]], m.ones(1, requires_grad=True), (2, 2))
(x.layout, x.is_sparse, x.shape, x._nnz(), x.sparse_dim(), x.dense_dim(), x.is_coalesced())
"""


@pytest.mark.parametrize(
    "text", [e for row in EXPRESSIONS.split("\n") for e in row.split("|") if e]
)
def test_expressions_print_the_same(text):
    texts = []
    for m in (lamina, torch):
        values = m.tensor([3.0, 4.0, 5.0, 6.0])
        x = m.sparse_coo_tensor(m.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), values, (2, 3))
        y = x.coalesce()
        d, f = m.arange(6.0).reshape(2, 3), m.arange(6.0).reshape(3, 2)
        texts.append(repr(eval(text, {"m": m, "x": x, "y": y, "d": d, "f": f})))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_softmax(name):
    found = []
    for m in (lamina, torch):
        values = m.tensor([3.0, 4.0, 5.0, 6.0], requires_grad=True)
        x = m.sparse_coo_tensor(m.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), values, (2, 3))
        y = getattr(m.sparse, name)(x, 1)
        (y.to_dense() * m.arange(6.0).reshape(2, 3)).sum().backward()
        found.append((values.grad.tolist(), type(y.grad_fn).__name__))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    assert found[0][1] == found[1][1]


def trained(m):
    """The losses of a graph network with a sparse adjacency matrix that has weights of its own."""
    random = np.random.default_rng(0)
    edges = m.tensor(random.integers(0, 20, (2, 60)))
    weights = m.tensor(random.uniform(0.1, 1, 60), requires_grad=True)
    features = m.tensor(random.normal(size=(20, 8)))
    labels = m.tensor(random.integers(0, 3, 20))
    layers = [m.tensor(random.normal(size=s) * 0.3, requires_grad=True) for s in ((8, 16), (16, 3))]
    optimizer = m.optim.Adam([weights, *layers], lr=0.05)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        adjacency = m.sparse_coo_tensor(edges, weights, (20, 20))
        hidden = m.relu(m.spmm(adjacency, features @ layers[0]))
        output = m.sparse.mm(adjacency, hidden @ layers[1])
        loss = m.nn.functional.nll_loss(m.log_softmax(output, 1), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_graph_network_learns_the_same():
    np.testing.assert_allclose(trained(lamina), trained(torch), rtol=1e-8)
