"""Equations with triangular matrices, and the Cholesky factorization."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.core.op import Joint
from lamina.core.samples import sample
from lamina.ops.axes import rows_first
from lamina.ops.linalg_checks import (
    check_same_kind,
    check_square_matrices,
    codes_like,
    failed,
    first_failure,
    matrices_of,
)
from lamina.ops.product_checks import refuse
from lamina.ops.results import named_result
from lamina.ops.triangles import identity_of

__all__ = ["cholesky", "cholesky_inverse", "cholesky_solve", "triangular_solve"]

# --- triangles ---------------------------------------------------------------------------------


def _substituted(A: Any, B: Any, upper: bool) -> Any:
    """X of A X = B for a triangular A, one row after the other; zeros on the diagonal give inf."""
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    X = np.zeros_like(B, shape=(*batch, *B.shape[-2:]))
    count = A.shape[-1]
    with np.errstate(all="ignore"):
        for k in reversed(range(count)) if upper else range(count):
            known = slice(k + 1, None) if upper else slice(0, k)
            sum_of_known = np.matmul(A[..., k : k + 1, known], X[..., known, :])
            X[..., k : k + 1, :] = (B[..., k : k + 1, :] - sum_of_known) / A[
                ..., k : k + 1, k : k + 1
            ]
    return X


def _solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    check_square_matrices("linalg.solve_triangular", A)
    check_same_kind("linalg.solve_triangular", A, B)
    if B.ndim < 2:
        raise refuse("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise refuse(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{B.shape[-2]}x{B.shape[-1]})"
        )
    if not left:
        A, B, upper = A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper
    A = np.triu(A) if upper else np.tril(A)
    if unitriangular:
        A = A - np.triu(np.tril(A)) + identity_of(A)
    try:
        X = np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        X = _substituted(A, B, upper)
    return X if left else rows_first(X.swapaxes(-1, -2))


def _triangular_rule(
    F: Any, g: Any, A: Any, out: Any, B_shape: Any,
    upper: bool, left: bool, unitriangular: bool, needs: Any,
) -> Any:  # fmt: skip
    grad = F.linalg_solve_triangular(
        F.conj_transpose(A), g, upper=not upper, left=left, unitriangular=unitriangular
    )
    grad_A = None
    if needs[0]:
        turned = F.conj_transpose(out)
        product = F.sum_to_size(-(grad @ turned if left else turned @ grad), tuple(A.shape))
        grad_A = F.triangle(product, not upper, 0 if unitriangular else 1)
    return grad_A, F.sum_to_size(grad, tuple(B_shape)) if needs[1] else None


def _triangle_sample(make: Any, *shape: int) -> Any:
    return np.tril(make(*shape)) + 3 * np.eye(shape[-1])


linalg_solve_triangular = operation(
    "linalg_solve_triangular",
    _solve_triangular,
    tensors="A B",
    grad=Joint(_triangular_rule, {"B": "A"}),
    samples=lambda make: [
        sample(_triangle_sample(make, 2, 3, 3), make(3, 2), upper=False),
        sample(_triangle_sample(make, 3, 3), make(2, 4, 3), upper=False, left=False),
    ],
    doc="The solution X of $A X = B$ where A is triangular; the other triangle is not read.",
)


def _legacy_triangular(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    matrix = A.swapaxes(-1, -2) if transpose else A
    solution = _solve_triangular(
        matrix, b, upper=upper is not transpose, unitriangular=unitriangular
    )
    shape = (*solution.shape[:-2], *A.shape[-2:])
    return solution, np.broadcast_to(A, shape).copy()


def _legacy_rule(
    F: Any, g: Any, A: Any, out0: Any, b_shape: Any,
    upper: bool, transpose: bool, unitriangular: bool, needs: Any,
) -> Any:  # fmt: skip
    grad_b = grad_A = None
    if g[0] is not None:
        matrix = F.transpose(A, -2, -1) if transpose else A
        grad_A, grad_b = _triangular_rule(
            F, g[0], matrix, out0, b_shape, upper is not transpose, True, unitriangular,
            (needs[1], needs[0]),
        )  # fmt: skip
        if grad_A is not None and transpose:
            grad_A = F.transpose(grad_A, -2, -1)
    if g[1] is not None and needs[1]:
        more = F.sum_to_size(g[1], tuple(A.shape))
        grad_A = more if grad_A is None else grad_A + more
    return grad_b, grad_A


triangular_solve = operation(
    "triangular_solve",
    _legacy_triangular,
    tensors="b A",
    grad=Joint(_legacy_rule, {"b": "A"}),
    result=named_result("triangular_solve", "solution cloned_coefficient"),
    samples=lambda make: [sample(make(3, 2), _triangle_sample(make, 3, 3), upper=False)],
    doc="The older form of `linalg.solve_triangular`, with the arguments exchanged.",
)

# --- Cholesky ----------------------------------------------------------------------------------


def _factor(A: Any, upper: bool) -> Any:
    if not upper:
        return np.linalg.cholesky(A)
    return np.conjugate(np.linalg.cholesky(np.conjugate(A.swapaxes(-1, -2)))).swapaxes(-1, -2)


def _failures(A: Any, upper: bool) -> Any:
    """For each matrix 0, or the order of the first leading minor that is not positive."""
    info = codes_like(A).reshape(-1)
    for k, matrix in enumerate(matrices_of(A)):
        for order in range(1, A.shape[-1] + 1):
            try:
                _factor(matrix[:order, :order], upper)
            except np.linalg.LinAlgError:
                info[k] = order
                break
    return info.reshape(A.shape[:-2])


def _not_positive(name: str, A: Any, upper: bool) -> Any:
    index, order = first_failure(_failures(A, upper), A)
    return failed(
        name,
        "The factorization could not be completed because the input is not positive-definite "
        f"(the leading minor of order {order} is not positive-definite).",
        index,
        "add a small multiple of the identity to the matrix, or use linalg.eigh",
    )


def _cholesky(A: Any, *, upper: bool = False) -> Any:
    check_square_matrices("linalg.cholesky", A)
    try:
        return _factor(A, upper)
    except np.linalg.LinAlgError:
        raise _not_positive("linalg.cholesky", A, upper) from None


def _cholesky_rule(F: Any, g: Any, out: Any, upper: bool) -> Any:
    lower, g = (F.conj_transpose(out), F.conj_transpose(g)) if upper else (out, g)
    turned = F.conj_transpose(lower)
    product = turned @ g
    below = F.conj_transpose(F.triangle(product, True, 0))
    middle = (F.triangle(product, True, 1) + below) * 0.5
    half = F.linalg_solve_triangular(turned, middle, upper=True)
    return F.linalg_solve_triangular(lower, half, upper=False, left=False)


linalg_cholesky = operation(
    "linalg_cholesky",
    _cholesky,
    grad={"A": _cholesky_rule},
    node_name="LinalgCholeskyExBackward0",
    doc="The triangular L with $A = L L^H$ for a positive definite A (or $U^H U$ with `upper`).",
)


def _cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    check_square_matrices("linalg.cholesky_ex", A)
    try:
        return _factor(A, upper), codes_like(A)
    except np.linalg.LinAlgError:
        if check_errors:
            raise _not_positive("linalg.cholesky_ex", A, upper) from None
    info = _failures(A, upper)
    made = np.full_like(A, np.nan)
    flat, source = matrices_of(made), matrices_of(A)
    for k, code in enumerate(info.reshape(-1)):
        if code == 0:
            flat[k] = _factor(source[k], upper)
    return flat.reshape(A.shape), info


linalg_cholesky_ex = operation(
    "linalg_cholesky_ex",
    _cholesky_ex,
    grad={"A": lambda F, g, out0, upper: _cholesky_rule(F, g[0], out0, upper)},
    result=named_result("linalg_cholesky_ex", "L info"),
    doc="`cholesky` with a code for each matrix: 0 if it is positive definite.",
)


def _legacy_cholesky(input: Any, upper: bool = False) -> Any:
    check_square_matrices("cholesky", input)
    try:
        return _factor(input, upper)
    except np.linalg.LinAlgError:
        raise _not_positive("cholesky", input, upper) from None


cholesky = operation(
    "cholesky",
    _legacy_cholesky,
    grad={"input": _cholesky_rule},
    doc="The older form of `linalg.cholesky`.",
)


def _cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    if B.ndim < 2 or L.ndim < 2:
        raise refuse("cholesky_solve: b and u should have at least 2 dimensions")
    first = np.conjugate(L.swapaxes(-1, -2)) if upper else L
    lower = np.tril(first)
    return np.linalg.solve(np.matmul(lower, np.conjugate(lower.swapaxes(-1, -2))), B)


def _cholesky_solve_rule(
    F: Any, g: Any, L: Any, out: Any, B_shape: Any, upper: bool, needs: Any
) -> Any:
    grad = F.cholesky_solve(g, L, upper)
    grad_L = None
    if needs[1]:
        product = grad @ F.conj_transpose(out)
        both = product + F.conj_transpose(product)
        # As in PyTorch, this is not restricted to the triangle that is read.
        grad_L = F.sum_to_size(-(L @ both if upper else both @ L), tuple(L.shape))
    return F.sum_to_size(grad, tuple(B_shape)) if needs[0] else None, grad_L


cholesky_solve = operation(
    "cholesky_solve",
    _cholesky_solve,
    tensors="B L",
    grad=Joint(_cholesky_solve_rule, {"B": "L"}),
    doc="The solution X of $L L^H X = B$ (of $U^H U X = B$ with `upper`).",
)


def _cholesky_inverse(L: Any, upper: bool = False) -> Any:
    return _cholesky_solve(identity_of(L), L, upper)


def _cholesky_inverse_rule(F: Any, g: Any, L: Any, out: Any, upper: bool) -> Any:
    both = out @ (g + F.conj_transpose(g)) @ out
    return -(L @ both if upper else both @ L)


cholesky_inverse = operation(
    "cholesky_inverse",
    _cholesky_inverse,
    grad={"L": _cholesky_inverse_rule},
    doc="The inverse of $L L^H$.",
)
