"""Factors of low rank, found with random directions."""

from __future__ import annotations

from typing import Any

from lamina.core.op import traced
from lamina.ops.decompositions import linalg_qr, linalg_svd
from lamina.ops.product_checks import check_tensors, refuse
from lamina.ops.random import randn

__all__ = ["pca_lowrank", "svd_lowrank"]


def _basis(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns that nearly span the range of A.

    Each round multiplies by $A A^H$, so that small singular values fade (Halko, Martinsson, Tropp,
    "Finding structure with randomness", 2011, algorithm 4.4).
    """
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = linalg_qr(A @ start).Q
    for _ in range(niter):
        Q = linalg_qr(traced.conj_transpose(A) @ Q).Q
        Q = linalg_qr(A @ Q).Q
    return Q


def svd_lowrank(
    A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None
) -> tuple[Any, Any, Any]:
    """The largest `q` singular values of A (of `A - M`), and their vectors: U, S, V.

    `q` should be a little more than the rank; more rounds (`niter`) make the result more exact.
    """
    check_tensors("svd_lowrank", ("A", A))
    A = A if M is None else A - M
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    is_wide = A.shape[-2] < A.shape[-1]
    if is_wide:
        A = traced.conj_transpose(A)
    Q = _basis(A, q, niter)
    U, S, Vh = linalg_svd(traced.conj_transpose(Q) @ A, False)
    U, V = Q @ U, traced.conj_transpose(Vh)
    return (V, S, U) if is_wide else (U, S, V)


def pca_lowrank(
    A: Any, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Any, Any, Any]:
    """Principal components of the rows of A: U, S and V of the matrix without its mean.

    The columns of V are the principal directions; `S**2 / (rows - 1)` are the variances.
    """
    check_tensors("pca_lowrank", ("A", A))
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        most = min(rows, columns)
        raise refuse(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if center:
        A = A - traced.mean(A, -2, True)
    return svd_lowrank(A, q, niter)
