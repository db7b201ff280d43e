"""Functions built on singular values: pseudoinverse, least squares, rank, condition number."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.arguments import native
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.contraction import into
from lamina.ops.decompositions import linalg_svdvals
from lamina.ops.linalg_checks import (
    check_matrices,
    check_same_kind,
    check_square_matrices,
)
from lamina.ops.norms import matrix_norm
from lamina.ops.product_checks import check_tensors, refuse
from lamina.ops.results import named_result
from lamina.ops.solvers import is_vector, linalg_inv_ex

__all__ = ["pinverse"]


def _plain(value: Any) -> Any:
    """A tolerance as a number or an array."""
    return value._array if isinstance(value, Tensor) else value


def _limit(S: Any, shape: Any, atol: Any, rtol: Any) -> Any:
    """Below what singular values count as zero."""
    if rtol is None:
        no_atol = atol is None or (np.ndim(atol) == 0 and atol == 0)
        rtol = max(shape[-2:]) * np.finfo(S.dtype).eps if no_atol else 0.0
        if not no_atol and np.ndim(atol):
            rtol = np.where(atol > 0, 0.0, max(shape[-2:]) * np.finfo(S.dtype).eps)
    atol = 0.0 if atol is None else atol
    largest = np.max(np.abs(S), axis=-1) if S.shape[-1] else np.zeros_like(S, shape=S.shape[:-1])
    return np.maximum(atol, rtol * largest)[..., None]


def _turned(x: Any) -> Any:
    return np.conjugate(x).swapaxes(-1, -2)


def _pinv(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    check_matrices("linalg.pinv", A)
    if not A.size:
        return np.zeros_like(A, shape=(*A.shape[:-2], A.shape[-1], A.shape[-2]))
    if hermitian:
        check_square_matrices("linalg.pinv", A)
        S, U = np.linalg.eigh(A)
        Vh = _turned(U)
    else:
        U, S, Vh = np.linalg.svd(A, False)
    kept = np.abs(S) > _limit(S, A.shape, atol, rtol)
    inverse = np.where(kept, 1 / np.where(kept, S, np.ones_like(S)), np.zeros_like(S))
    return (_turned(Vh) * inverse[..., None, :]) @ _turned(U)


def _pinv_rule(F: Any, g: Any, A: Any, out: Any) -> Any:
    H = F.conj_transpose
    P, Ph, gh = out, H(out), H(g)
    if A.shape[-2] <= A.shape[-1]:
        K = gh @ P
        KPh = K @ Ph
        return KPh - H(P @ K) - (A @ P) @ KPh + (Ph @ P) @ (gh - K @ A)
    K = P @ gh
    PhK = Ph @ K
    return PhK - H(K @ P) + (gh - A @ K) @ P @ Ph - (PhK @ P) @ A


_pinv_op = operation(
    "linalg_pinv",
    _pinv,
    grad={"A": _pinv_rule},
    samples=lambda make: [sample(make(2, 3, 4)), sample(make(4, 3)), sample(make(3, 3))],
    doc="The pseudoinverse of each matrix.",
)


def linalg_pinv(
    A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """The pseudoinverse (Moore-Penrose) of each matrix, which also singular ones have.

    Singular values up to `max(atol, rtol * largest)` count as zero.
    """
    rtol = rcond if rtol is None else rtol
    return _pinv_op(A, atol=_plain(atol), rtol=_plain(rtol), hermitian=hermitian, out=out)


@native
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """The pseudoinverse of each matrix: `linalg.pinv`."""
    return linalg_pinv(input, rcond)


def _rank(A: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    check_matrices("linalg.matrix_rank", A)
    if not A.size:
        return np.zeros_like(A, shape=A.shape[:-2], dtype=np.int64)
    S = np.abs(np.linalg.eigvalsh(A)) if hermitian else np.linalg.svd(A, compute_uv=False)
    return (_limit(S, A.shape, atol, rtol) < S).sum(-1)


_rank_op = operation("matrix_rank", _rank, doc="The rank of each matrix.")


def linalg_matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """How many singular values are larger than `max(atol, rtol * largest)`."""
    check_tensors("matrix_rank", ("A", A))
    if tol is not None:
        atol, rtol = tol, 0.0
    return _rank_op(A, _plain(atol), _plain(rtol), hermitian, out=out)


# --- least squares -----------------------------------------------------------------------------

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq(A: Any, B: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    check_matrices("torch.linalg.lstsq", A)
    check_same_kind("torch.linalg.lstsq", A, B)
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise refuse(
            "torch.linalg.lstsq: parameter `driver` should be one of "
            "(gels, gelsy, gelsd, gelss), got " + str(driver)
        )
    vector = is_vector(A.shape, B.shape)
    right = B[..., None] if vector else B
    if right.shape[-2] != A.shape[-2]:
        raise refuse("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    pseudo = _pinv(A, rtol=rcond)
    X = pseudo @ right
    nothing = np.zeros_like(A, shape=(0,), dtype=np.abs(A[..., :0, :0]).dtype)
    rank = np.zeros_like(A, shape=(0,), dtype=np.int64)
    residuals, values = nothing, nothing
    if driver != "gels":
        rank = _rank(A, rtol=rcond)
    is_tall = driver != "gelsy" and A.shape[-2] > A.shape[-1]
    if is_tall and (driver == "gels" or bool((rank == A.shape[-1]).all())):
        missed = np.abs(A @ X - right)
        residuals = (missed * missed).sum(-2)
    if driver in ("gelsd", "gelss"):
        values = np.linalg.svd(A, compute_uv=False)
    return X[..., 0] if vector else X, residuals, rank, values


def _lstsq_rule(F: Any, g: Any, A: Any, B: Any, out0: Any, needs: Any) -> Any:
    H = F.conj_transpose
    vector = is_vector(A.shape, B.shape)
    right = F.unsqueeze(B, -1) if vector else B
    pseudo = F.linalg_pinv(A)
    grad_A = grad_B = None
    if g[0] is not None:
        gX = F.unsqueeze(g[0], -1) if vector else g[0]
        if needs[0]:
            grad_A = _pinv_rule(F, gX @ H(right), A, pseudo)
        if needs[1]:
            grad_B = H(pseudo) @ gX
    if g[1] is not None and 0 not in g[1].shape:
        missed = A @ (F.unsqueeze(out0, -1) if vector else out0) - right
        part = missed * (F.unsqueeze(g[1], -2) * 2)
        X = F.unsqueeze(out0, -1) if vector else out0
        # X minimises the residuals, so that only A and B themselves count.
        grad_A = _plus(grad_A, part @ H(X)) if needs[0] else None
        grad_B = _plus(grad_B, -part) if needs[1] else None
    if grad_A is not None:
        grad_A = F.sum_to_size(grad_A, tuple(A.shape))
    if grad_B is not None:
        grad_B = F.sum_to_size(F.sum(grad_B, -1) if vector else grad_B, tuple(B.shape))
    return grad_A, grad_B


def _plus(first: Any, second: Any) -> Any:
    return second if first is None else first + second


linalg_lstsq = operation(
    "linalg_lstsq",
    _lstsq,
    tensors="A B",
    grad=_lstsq_rule,
    result=named_result("linalg_lstsq", "solution residuals rank singular_values"),
    samples=lambda make: [sample(make(4, 3), make(4, 2))],
    doc="The X for which $A X$ comes closest to B.",
)
linalg_lstsq.op.constants = (2, 3)


def linalg_cond(A: Any, p: Any = None, *, out: Any = None) -> Any:
    """The condition number: how much larger errors of the right-hand side get in a solution."""
    check_tensors("linalg.cond", ("A", A))
    check_matrices("linalg.cond", A._array)
    if p in (None, 2, -2) and not isinstance(p, str):
        values = linalg_svdvals(A)
        if not A.shape[-1] or not A.shape[-2]:
            return into(out, values.new_zeros(A.shape[:-2]))
        first, last = values[..., 0], values[..., -1]
        return into(out, last / first if p == -2 else first / last)
    check_square_matrices("linalg.cond", A._array)
    if p not in ("fro", "nuc", 1, -1, float("inf"), float("-inf")):
        raise refuse(f"linalg.cond got an invalid norm type: {p}")
    if not A.numel():
        return into(out, A.new_zeros(A.shape[:-2]).abs())
    inverse, info = linalg_inv_ex(A)
    found = matrix_norm(A, p) * matrix_norm(inverse, p)
    singular = info != 0
    if bool(singular.any()):
        found = traced.where(singular, traced.full_like(found, float("inf")), found)
    return into(out, found)
