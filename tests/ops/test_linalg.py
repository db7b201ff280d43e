"""Linear algebra: factors that give the matrix back, derivatives, and what cannot be computed."""

import numpy as np
import pytest

import lamina
from lamina import errors

L = lamina.linalg


def matrices(*shape, seed=0, is_complex=False):
    random = np.random.default_rng(seed)
    values = random.normal(size=shape)
    if is_complex:
        values = values + 1j * random.normal(size=shape)
    return lamina.from_numpy(values)


def positive(*shape, seed=0, is_complex=False):
    root = matrices(*shape, seed=seed, is_complex=is_complex)
    return root @ root.mH + shape[-1] * lamina.eye(shape[-1], dtype=root.dtype)


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4)])
def test_factors_give_the_matrix_back(shape, is_complex):
    A = matrices(*shape, is_complex=is_complex)
    Q, R = L.qr(A)
    close(Q @ R, A)
    U, S, Vh = L.svd(A, full_matrices=False)
    close(U @ lamina.diag_embed(S).to(A.dtype) @ Vh, A)
    P, lower, upper = L.lu(A)
    close(P @ lower @ upper, A)
    close(lamina.lu_unpack(*L.lu_factor(A))[1], lower)


@pytest.mark.parametrize("is_complex", [False, True])
def test_factors_of_symmetric_matrices(is_complex):
    A = positive(2, 4, 4, is_complex=is_complex)
    lower = L.cholesky(A)
    close(lower @ lower.mH, A)
    close(L.cholesky(A, upper=True), lower.mH)
    values, vectors = L.eigh(A)
    close(vectors @ lamina.diag_embed(values).to(A.dtype) @ vectors.mH, A)
    close(lamina.cholesky_inverse(lower), L.inv(A))


SYMMETRIC = {
    "cholesky": L.cholesky,
    "upper cholesky": lambda A: L.cholesky(A, upper=True),
    "eigenvalues": L.eigvalsh,
    "eigenvectors": lambda A: L.eigh(A).eigenvectors ** 2,
    "inverse by factors": lambda A: lamina.cholesky_inverse(L.cholesky(A)),
    "solution by factors": lambda A: lamina.cholesky_solve(matrices(3, 2), L.cholesky(A)),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_derivatives_along_symmetric_directions(name):
    function, step = SYMMETRIC[name], 1e-5
    A, change = positive(3, 3), positive(3, 3, seed=1)
    weights = matrices(*function(A).shape, seed=2)

    def value(t):
        return (function(A + t * change) * weights).sum()

    t = lamina.tensor(0.0, dtype=lamina.float64, requires_grad=True)
    (slope,) = lamina.autograd.grad(value(t), t, create_graph=True)
    (bend,) = lamina.autograd.grad(slope, t)
    above, here, below = (value(x).item() for x in (step, 0.0, -step))
    assert slope.item() == pytest.approx((above - below) / (2 * step), rel=1e-6)
    assert bend.item() == pytest.approx((above - 2 * here + below) / step**2, rel=1e-3, abs=1e-4)


def test_the_determinant_of_a_singular_matrix_has_a_derivative():
    A = lamina.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=lamina.float64, requires_grad=True)
    L.det(A).backward()
    close(A.grad, lamina.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=lamina.float64))


def test_exponential_of_a_nilpotent_matrix_and_of_a_large_one():
    A = lamina.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=lamina.float64)
    close(lamina.matrix_exp(A), lamina.eye(2, dtype=lamina.float64) + A)
    close(lamina.matrix_exp(A * 0 + 20 * lamina.eye(2)), lamina.exp(20 * A.new_ones(2)).diag())


def test_least_squares_and_pseudoinverse_agree():
    A, B = matrices(5, 3), matrices(5, 2, seed=1)
    close(L.lstsq(A, B).solution, L.pinv(A) @ B)
    assert L.matrix_rank(A @ A.mT).item() == 3


SINGULAR = {
    "inv": ("The diagonal element 2 is zero", lambda A: L.inv(A)),
    "solve": ("Batch element 1", lambda A: L.solve(lamina.stack([lamina.eye(2), A]), A)),
    "cholesky": ("leading minor of order 2 is not positive", lambda A: L.cholesky(A)),
    "lu_factor": (r"U\[2,2\] is zero", lambda A: L.lu_factor(A)),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices_are_refused(name):
    text, function = SINGULAR[name]
    with pytest.raises(errors.LinAlgError, match=text):
        function(lamina.tensor([[1.0, 0.0], [0.0, 0.0]]))


def test_the_ex_forms_report_instead_of_raising():
    A = lamina.tensor([[1.0, 0.0], [0.0, 0.0]])
    assert L.inv_ex(A).info.item() == 2
    assert L.cholesky_ex(A).info.item() == 2
    assert L.solve_ex(A, A).info.item() == 2


def test_triangular_equations_with_a_zero_give_inf():
    A = lamina.tensor([[1.0, 0.0], [1.0, 0.0]])
    X = L.solve_triangular(A, lamina.tensor([[1.0], [2.0]]), upper=False)
    assert X.tolist() == [[1.0], [float("inf")]]


def test_only_square_matrices_of_floats_have_inverses():
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        L.inv(lamina.ones(2, 3))
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor"):
        L.inv(lamina.ones(2, 2, dtype=lamina.int64))


def test_low_rank_factors_find_the_rank():
    lamina.manual_seed(0)
    A = matrices(20, 3) @ matrices(3, 15)
    U, S, V = lamina.svd_lowrank(A, q=5)
    close(U @ S.diag() @ V.mT, A)
