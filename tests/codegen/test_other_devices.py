"""Large arrays elsewhere than in host memory never go to machine code that reads host memory."""

import numpy as np
import pytest

import lamina
from lamina import cuda
from lamina.nn import functional as F

SIDE = 224
PROGRAMS = {
    "a @ b": lambda a, b: a @ b,
    "mm": lambda a, b: lamina.mm(a, b.t()),
    "linear": lambda a, b: F.linear(a, b, b[0]),
    "addmm": lambda a, b: lamina.addmm(a, a, b),
    "bmm": lambda a, b: lamina.bmm(a.expand(9, SIDE, SIDE), b.expand(9, SIDE, SIDE)),
    "matmul of stacks": lambda a, b: a.reshape(56, 4, SIDE) @ b,
    "einsum": lambda a, b: lamina.einsum("ij,jk->ik", a, b),
    "a @ vector": lambda a, b: a @ b[0],
    "sum": lambda a, b: a.sum(0),
    "mean": lambda a, b: b.mean(1),
    "cumsum": lambda a, b: a.cumsum(0),
    "sort": lambda a, b: a.sort(-1)[0],
    "topk": lambda a, b: a.topk(5)[0],
    "max": lambda a, b: a.max(1)[0],
    "argmax": lambda a, b: a.argmax(1).to(a.dtype),
    "exp": lambda a, b: a.exp(),
    "gelu": lambda a, b: F.gelu(a),
    "erf": lambda a, b: lamina.erf(a),
    "softmax": lambda a, b: a.softmax(0),
    "log_softmax": lambda a, b: a.log_softmax(-1),
    "layer_norm": lambda a, b: F.layer_norm(a, (SIDE,)),
    "cross_entropy": lambda a, b: F.cross_entropy(a, b.abs().argmax(1)),
    "index_select": lambda a, b: a[b.argmax(1)],
    "embedding": lambda a, b: F.embedding(b.argmax(1), a),
    "conv2d": lambda a, b: F.conv2d(a[None, None], b[None, None, :3, :3]),
    "conv_transpose2d": lambda a, b: F.conv_transpose2d(a[None, None], b[None, None, :3, :3]),
    "max_pool2d": lambda a, b: F.max_pool2d(a[None, None], 2),
    "avg_pool2d": lambda a, b: F.avg_pool2d(a[None, None], 2),
    "attention": lambda a, b: F.scaled_dot_product_attention(a[None], b[None], a[None]),
    "in place": lambda a, b: a.clone().mul_(b).add_(1.0),
    "cat": lambda a, b: lamina.cat([a, b], 1),
    "where": lambda a, b: lamina.where(a > 0, a, b),
}  # fmt: skip


def factors(seed=3):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((SIDE, SIDE), dtype=np.float32) for _ in range(2)]


def result_and_gradients(program, inputs):
    result = program(*inputs)
    if result.requires_grad:
        result.sum().backward()
    return result, [x.grad for x in inputs if x.grad is not None]


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_simulated_gpu(name):
    on_host = [lamina.tensor(x, requires_grad=True) for x in factors()]
    expected, wanted = result_and_gradients(PROGRAMS[name], on_host)
    with cuda.simulate():
        there = [lamina.tensor(x, device="cuda", requires_grad=True) for x in factors()]
        found, got = result_and_gradients(PROGRAMS[name], there)
        assert found.is_cuda
        assert type(found._array) is type(there[0]._array)
        assert all(gradient.is_cuda for gradient in got)
        assert len(got) == len(wanted)
        for ours, theirs in zip([found, *got], [expected, *wanted], strict=True):
            np.testing.assert_allclose(
                ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=2e-4, atol=2e-4
            )


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_elements(name):
    inputs = [lamina.empty(SIDE, SIDE, device="meta", requires_grad=True) for _ in range(2)]
    on_host = [lamina.tensor(x, requires_grad=True) for x in factors()]
    found, gradients = result_and_gradients(PROGRAMS[name], inputs)
    expected, wanted = result_and_gradients(PROGRAMS[name], on_host)
    assert found.is_meta
    assert found.shape == expected.shape
    assert [g.shape for g in gradients] == [g.shape for g in wanted]
    assert all(gradient.is_meta for gradient in gradients)


def test_a_large_sparse_factor():
    """It has a shape and a dtype, and few of the elements that they promise."""
    rng = np.random.default_rng(0)
    dense = (rng.random((400, 600)) < 0.01) * rng.standard_normal((400, 600))
    factor = lamina.tensor(rng.standard_normal((600, 300)))
    sparse = lamina.tensor(dense).to_sparse()
    expected = dense @ factor.numpy()
    for product in (lamina.mm, lamina.dsmm, lamina.sparse.mm, lamina.matmul):
        np.testing.assert_allclose(
            product(sparse, factor).numpy(), expected, rtol=1e-12, atol=1e-12
        )


def test_a_sparse_argument_of_a_function():
    class Product(lamina.autograd.Function):
        @staticmethod
        def forward(ctx, sparse, dense):
            ctx.sparse = sparse
            return lamina.mm(sparse, dense)

        @staticmethod
        def backward(ctx, g):
            return None, lamina.mm(ctx.sparse.t(), g)

    sparse = lamina.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    x = lamina.ones(2, 1, requires_grad=True)
    Product.apply(sparse, x).sum().backward()
    assert x.grad.tolist() == [[3.0], [2.0]]
