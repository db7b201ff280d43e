"""Products: shapes, names of nodes, what is kept, and errors that name the culprit."""

import itertools

import numpy as np
import pytest

import lamina
from lamina import errors

F = lamina.nn.functional


def leaf(*shape, dtype=lamina.float64):
    return lamina.randn(*shape, dtype=dtype).requires_grad_()


def array(tensor):
    return tensor.detach().numpy()


SHAPES = [(3,), (2, 3), (3, 3), (5, 2, 3), (5, 3, 3), (1, 3, 3), (4, 1, 2, 3), (4, 5, 3, 3)]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(SHAPES, SHAPES)))
def test_matmul_is_numpys(first, second):
    a, b = leaf(*first), leaf(*second)
    try:
        expected = np.matmul(array(a), array(b))
    except ValueError:
        with pytest.raises(RuntimeError):
            a @ b
        return
    result = a @ b
    np.testing.assert_allclose(array(result), expected, rtol=1e-12)
    result.sum().backward()
    assert (a.grad.shape, b.grad.shape) == (a.shape, b.shape)


NODES = {
    "DotBackward0": lambda: leaf(3) @ leaf(3),
    "MvBackward0": lambda: leaf(2, 3) @ leaf(3),
    "MmBackward0": lambda: leaf(2, 3) @ leaf(3, 4),
    "SqueezeBackward4": lambda: leaf(3) @ leaf(3, 4),
    "UnsafeViewBackward0": lambda: leaf(5, 2, 3) @ leaf(3, 4),
    "BmmBackward0": lambda: lamina.bmm(leaf(5, 2, 3), leaf(5, 3, 4)),
    "AddmmBackward0": lambda: F.linear(leaf(2, 3), leaf(4, 3), leaf(4)),
    "ViewBackward0": lambda: F.linear(leaf(5, 2, 3), leaf(4, 3), leaf(4)),
    "VdotBackward0": lambda: lamina.vdot(leaf(3), leaf(3)),
    "AddrBackward0": lambda: lamina.addr(leaf(2, 3), leaf(2), leaf(3)),
}


@pytest.mark.parametrize("name", NODES)
def test_nodes_have_pytorchs_names(name):
    assert type(NODES[name]().grad_fn).__name__ == name


def test_a_product_keeps_only_what_the_wanted_gradient_needs():
    x, w = lamina.randn(2, 3), leaf(3, 4, dtype=lamina.float32)
    node = (x @ w).grad_fn
    assert node.saved[0] is x
    assert node.saved[1] is None


def test_linear_leads_to_bias_input_and_weight_in_this_order():
    x, w, b = leaf(2, 3), leaf(4, 3), leaf(4)
    leaves = [edge[0].variable for edge in F.linear(x, w, b).grad_fn.next_functions]
    assert [found is wanted for found, wanted in zip(leaves, (b, x, w), strict=True)] == [True] * 3


def test_gradients_of_a_weight_are_row_major():
    w, v = leaf(4, 3), leaf(3, 5)
    (F.linear(leaf(7, 3), w) @ leaf(4, 3) @ v).sum().backward()
    assert w.grad.is_contiguous()
    assert v.grad.is_contiguous()


def test_products_do_not_promote():
    with pytest.raises(errors.DtypeError, match="to have the same dtype, but got: float != double"):
        lamina.ones(2, 2) @ lamina.ones(2, 2, dtype=lamina.float64)
    with pytest.raises(RuntimeError, match="found Float and Double"):
        lamina.dot(lamina.ones(2), lamina.ones(2, dtype=lamina.float64))


def test_a_mismatch_names_the_tensors_and_the_repair():
    weight, data = lamina.ones(4, 3), lamina.ones(2, 3)
    with pytest.raises(errors.MatmulShapeMismatch) as caught:
        data @ weight
    text = str(caught.value)
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x3)" in text
    assert "`data @ weight.T`" in text


def test_halves_are_multiplied_in_single_precision():
    x = lamina.full((1, 4096), 0.1, dtype=lamina.float16)
    assert (x @ x.t()).item() == pytest.approx(40.94, abs=0.04)
    assert (x @ x.t()).dtype is lamina.float16


def test_without_beta_the_input_is_not_read():
    nothing = lamina.full((2, 2), float("nan"))
    result = lamina.addmm(nothing, lamina.ones(2, 2), lamina.ones(2, 2), beta=0)
    assert result.tolist() == [[2.0, 2.0], [2.0, 2.0]]


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bij,bkj->bik", (5, 2, 3), (5, 4, 3)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ij", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("ba,cd", (2, 3), (4, 5)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ijk,k", (2, 3, 4), (4,)),
    ("aab,bc->ac", (3, 3, 2), (2, 4)),
]


@pytest.mark.parametrize("equation", EQUATIONS, ids=[e[0] for e in EQUATIONS])
def test_einsum_is_numpys(equation):
    text, *shapes = equation
    operands = [leaf(*shape) for shape in shapes]
    result = lamina.einsum(text, *operands)
    expected = np.einsum(text, *(array(x) for x in operands))
    np.testing.assert_allclose(array(result), expected, rtol=1e-12, atol=1e-12)
    result.sum().backward()
    assert all(x.grad.shape == x.shape for x in operands)


def test_einsum_takes_lists_of_dimensions():
    x, y = leaf(2, 3), leaf(3, 4)
    assert lamina.einsum(x, [0, 1], y, [1, 2], [0, 2]).tolist() == (x @ y).tolist()


def test_chains_are_multiplied_in_the_cheapest_order():
    a, b, c = leaf(20, 2), leaf(2, 20), leaf(20)
    result = lamina.linalg.multi_dot([a, b, c])
    np.testing.assert_allclose(array(result), array(a @ (b @ c)), rtol=1e-10)


def test_einsum_promotes_where_nothing_is_summed():
    double, single = lamina.ones(2, 3, dtype=lamina.float64), lamina.ones(3, 4)
    single.requires_grad_()
    product = lamina.einsum("bd,dn->bdn", double, single)
    assert product.dtype is lamina.float64
    product.sum().backward()
    assert single.grad.dtype is lamina.float32
    assert lamina.einsum("bd,bd,dn->bdn", double, double, single).dtype is lamina.float64
    with pytest.raises(RuntimeError, match="expected scalar type Double but found Float"):
        lamina.einsum("bd,dn->bn", double, single)
