"""Eigenvalues, singular values, and the QR factorization."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.op import NOT_WRITTEN, traced
from lamina.core.samples import sample
from lamina.ops.linalg_checks import check_matrices, check_square_matrices, failed
from lamina.ops.product_checks import refuse
from lamina.ops.results import named_result

__all__ = ["geqrf", "qr", "svd"]


def _columns(F: Any, numbers: Any) -> Any:
    """Numbers, to multiply the columns of matrices by."""
    return F.unsqueeze(numbers, -2)


def _rows(F: Any, numbers: Any) -> Any:
    """Numbers, to multiply the rows of matrices by."""
    return F.unsqueeze(numbers, -1)


def _not_converged(name: str, A: Any) -> Any:
    finite = np.isfinite(A).all(axis=(-2, -1))
    index = None if A.ndim == 2 or finite.all() else int(np.argmax(~finite.reshape(-1)))
    return failed(
        name,
        "The algorithm failed to converge because the input matrix contained non-finite values."
        if not finite.all()
        else "The algorithm failed to converge because the input matrix is ill-conditioned or has "
        "too many repeated values.",
        index,
        "find out where the NaN or inf comes from: torch.isfinite(A).all()",
    )


# --- symmetric matrices ------------------------------------------------------------------------


def _eigh(A: Any, UPLO: str = "L") -> Any:
    check_square_matrices("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise refuse(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    try:
        return tuple(np.linalg.eigh(A, "U" if UPLO in ("U", "u") else "L"))
    except np.linalg.LinAlgError:
        raise _not_converged("linalg.eigh", A) from None


def _eigh_rule(F: Any, g: Any, out0: Any, out1: Any, A_dtype: Any) -> Any:
    values, vectors = out0, out1
    turned = F.conj_transpose(vectors)
    inner = None
    if g[1] is not None:
        apart = F.without_diagonal(_columns(F, values) - _rows(F, values), 1.0)
        # Of a change of eigenvectors, only rotations keep them orthogonal.
        inner = F.without_diagonal(_skew(F, turned @ g[1])) / (apart * 2)
    if g[0] is not None:
        size = values.shape[-1]
        diagonal = F.diagonal_matrix(g[0], size, size)
        inner = diagonal if inner is None else inner + diagonal
    if g[1] is None:
        return (vectors * _columns(F, g[0])) @ turned
    return vectors @ F.cast_like_input(inner, A_dtype) @ turned


linalg_eigh = operation(
    "linalg_eigh",
    _eigh,
    grad={"A": _eigh_rule},
    result=named_result("linalg_eigh", "eigenvalues eigenvectors"),
    doc="Eigenvalues (in order of size) and eigenvectors of symmetric or Hermitian matrices.",
)


def _eigvalsh(A: Any, UPLO: str = "L") -> Any:
    check_square_matrices("linalg.eigvalsh", A)
    try:
        return np.linalg.eigvalsh(A, "U" if UPLO in ("U", "u") else "L")
    except np.linalg.LinAlgError:
        raise _not_converged("linalg.eigvalsh", A) from None


def _eigvalsh_rule(F: Any, g: Any, A: Any, UPLO: str) -> Any:
    _, vectors = F.linalg_eigh(A, UPLO)
    return (vectors * _columns(F, g)) @ F.conj_transpose(vectors)


linalg_eigvalsh = operation(
    "linalg_eigvalsh",
    _eigvalsh,
    grad={"A": _eigvalsh_rule},
    node_name="LinalgEighBackward0",
    doc="The eigenvalues of symmetric or Hermitian matrices, in order of size.",
)

# --- any square matrix -------------------------------------------------------------------------


def _eig(A: Any) -> Any:
    check_square_matrices("linalg.eig", A)
    if not np.isfinite(A).all():
        raise errors.InvalidArgument(
            "torch.linalg.eig: input tensor should not contain infs or NaNs.",
            [(this_place(), "called here")],
        )
    values, vectors = np.linalg.eig(A)
    kind = np.result_type(A.dtype, np.complex64)
    return values.astype(kind), vectors.astype(kind)


def _eig_rule(F: Any, g: Any, out0: Any, out1: Any, A_dtype: Any) -> Any:
    values, vectors = out0, out1
    turned = F.conj_transpose(vectors)
    inner = None
    if g[1] is not None:
        product = turned @ g[1]
        diagonal = F.diagonal_part(product)
        size = (diagonal + F.conj(diagonal)) * 0.5
        part = product - (turned @ vectors) * _columns(F, size)
        apart = F.conj(_columns(F, values) - _rows(F, values))
        inner = F.without_diagonal(part) / F.without_diagonal(apart, 1.0)
    if g[0] is not None:
        count = values.shape[-1]
        diagonal = F.diagonal_matrix(g[0], count, count)
        inner = diagonal if inner is None else inner + diagonal
    return F.cast_like_input(F.linalg_solve(turned, inner @ turned), A_dtype)


linalg_eig = operation(
    "linalg_eig",
    _eig,
    grad={"A": _eig_rule},
    result=named_result("linalg_eig", "eigenvalues eigenvectors"),
    doc="Eigenvalues and eigenvectors of square matrices; complex, in no special order.",
)


def _eigvals(A: Any) -> Any:
    return _eig(A)[0]


def _eigvals_rule(F: Any, g: Any, A: Any, A_dtype: Any) -> Any:
    _, vectors = F.linalg_eig(A)
    turned = F.conj_transpose(vectors)
    return F.cast_like_input(F.linalg_solve(turned, _rows(F, g) * turned), A_dtype)


linalg_eigvals = operation(
    "linalg_eigvals",
    _eigvals,
    grad={"A": _eigvals_rule},
    node_name="LinalgEigBackward0",
    doc="The eigenvalues of square matrices; complex, in no special order.",
)

# --- singular values ---------------------------------------------------------------------------


def _svd(A: Any, full_matrices: bool = True, *, driver: Any = None) -> Any:
    check_matrices("linalg.svd", A)
    try:
        U, S, Vh = np.linalg.svd(A, full_matrices)
        return U, S, Vh.swapaxes(-1, -2).copy("C").swapaxes(-1, -2)  # then V lies row by row
    except np.linalg.LinAlgError:
        raise _not_converged("linalg.svd", A) from None


def _skew(F: Any, x: Any) -> Any:
    return x - F.conj_transpose(x)


def _svd_rule(F: Any, g: Any, out0: Any, out1: Any, out2: Any, A_dtype: Any) -> Any:
    S = out1
    rows, columns, count = out0.shape[-2], out2.shape[-1], S.shape[-1]
    U, Vh = out0[..., :count], out2[..., :count, :]
    gU, gS, gVh = g
    if gU is None and gVh is None:
        return (U * _columns(F, gS)) @ Vh
    squares = S * S
    apart = F.without_diagonal(_columns(F, squares) - _rows(F, squares), 1.0)
    inner = None
    if gU is not None:
        gU = gU[..., :count]
        product = F.conj_transpose(U) @ gU
        turning = _skew(F, product)
        inner = F.without_diagonal(turning) / apart * _columns(F, S)
        # A common phase of a pair of singular vectors (zero for real matrices).
        phase = F.diagonal_part(turning) / (2 * S)
        inner = inner + F.diagonal_matrix(phase, count, count)
    if gVh is not None:
        gVh = gVh[..., :count, :]
        turning = F.without_diagonal(_skew(F, Vh @ F.conj_transpose(gVh)))
        part = _rows(F, S) * (turning / apart)
        inner = part if inner is None else inner + part
    if gS is not None:
        inner = inner + F.diagonal_matrix(gS, count, count)
    result = U @ F.cast_like_input(inner, A_dtype) @ Vh
    if gU is not None and rows > count:
        outside = gU - U @ (F.conj_transpose(U) @ gU)
        result = result + (outside / _columns(F, S)) @ Vh
    if gVh is not None and columns > count:
        outside = gVh - (gVh @ F.conj_transpose(Vh)) @ Vh
        result = result + U @ (outside / _rows(F, S))
    return result


linalg_svd = operation(
    "linalg_svd",
    _svd,
    grad={"A": _svd_rule},
    result=named_result("linalg_svd", "U S Vh"),
    samples=lambda make: [
        sample(make(4, 3), False),
        sample(make(2, 3, 3)),
        sample(make(3, 5), False),
    ],
    doc="The factors of $A = U \\operatorname{diag}(S) V^H$; S is in descending order.",
)


def _svdvals(A: Any, *, driver: Any = None) -> Any:
    check_matrices("linalg.svdvals", A)
    try:
        return np.linalg.svd(A, compute_uv=False)
    except np.linalg.LinAlgError:
        raise _not_converged("linalg.svdvals", A) from None


def _svdvals_rule(F: Any, g: Any, A: Any) -> Any:
    U, _, Vh = F.linalg_svd(A, False)
    return (U * _columns(F, g)) @ Vh


linalg_svdvals = operation(
    "linalg_svdvals",
    _svdvals,
    grad={"A": _svdvals_rule},
    node_name="LinalgSvdBackward0",
    samples=lambda make: [sample(make(2, 3, 4)), sample(make(4, 3))],
    doc="The singular values of each matrix, in descending order.",
)
_svd_result = named_result("svd", "U S V")


@native
def svd(input: Any, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """The older form of `linalg.svd`: it returns V, not its conjugate transpose."""
    U, S, Vh = linalg_svd(input, not some)
    if not compute_uv:
        size = input.shape[:-2]
        U = traced.zeros_like(input).new_zeros((*size, input.shape[-2], input.shape[-2]))
        return _svd_result(U, S, input.new_zeros((*size, input.shape[-1], input.shape[-1])))
    return _svd_result(U, S, traced.conj_transpose(Vh))


# --- QR ----------------------------------------------------------------------------------------


def _qr(A: Any, mode: str = "reduced") -> Any:
    check_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise refuse(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    if mode == "r":
        return np.zeros_like(A, shape=(0,)), np.linalg.qr(A, "r")
    return tuple(np.linalg.qr(A, "complete" if mode == "complete" else "reduced"))


def _qr_rule(F: Any, g: Any, out0: Any, out1: Any, mode: str) -> Any:
    Q, R = out0, out1
    rows, columns = Q.shape[-2], R.shape[-1]
    if mode == "r":
        raise refuse(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'.",
            "linalg.qr(A, mode='reduced') is differentiable",
        )
    if mode == "complete" and rows > columns:
        raise refuse(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    gQ = F.zeros_like(Q) if g[0] is None else g[0]
    gR = F.zeros_like(R) if g[1] is None else g[1]
    if rows >= columns:
        return _tall_rule(F, Q, R, gQ, gR)
    # A = [X Y] with X = Q U and Y = Q V: Y's part of R is Q^H Y.
    V, gV = R[..., rows:], gR[..., rows:]
    right = Q @ gV
    gQ = gQ + (Q @ V) @ F.conj_transpose(gV)
    return F.cat([_tall_rule(F, Q, R[..., :rows], gQ, gR[..., :rows]), right], -1)


def _tall_rule(F: Any, Q: Any, R: Any, gQ: Any, gR: Any) -> Any:
    inner = gR @ F.conj_transpose(R) - F.conj_transpose(Q) @ gQ
    upper = F.triangle(inner, False, 0)
    diagonal = F.diagonal_part(inner)
    size = (diagonal + F.conj(diagonal)) * 0.5
    count = R.shape[-1]
    whole = upper + F.conj_transpose(upper) + F.diagonal_matrix(size, count, count)
    return F.linalg_solve_triangular(F.conj_transpose(R), gQ + Q @ whole, upper=False, left=False)


linalg_qr = operation(
    "linalg_qr",
    _qr,
    grad={"A": _qr_rule},
    result=named_result("linalg_qr", "Q R"),
    samples=lambda make: [sample(make(4, 3)), sample(make(2, 3, 3)), sample(make(3, 4))],
    doc="The factors of $A = Q R$: orthonormal columns, and an upper triangle.",
)
_qr_result = named_result("qr", "Q R")


@native
def qr(input: Any, some: bool = True, *, out: Any = None) -> Any:
    """The older form of `linalg.qr`: `some` means the reduced factors."""
    return _qr_result(*linalg_qr(input, "reduced" if some else "complete"))


def _geqrf(input: Any) -> Any:
    check_matrices("geqrf", input)
    h, tau = np.linalg.qr(input, "raw")
    return h.swapaxes(-1, -2).copy(), tau


geqrf = operation(
    "geqrf",
    _geqrf,
    grad={"input": NOT_WRITTEN},
    result=named_result("geqrf", "a tau"),
    samples=lambda make: [sample(make(4, 3))],
    doc="The QR factorization as LAPACK stores it: Householder vectors, and R.",
)
