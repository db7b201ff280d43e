"""Further functions of matrices: exponential, tensor equations, Householder products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.core.arguments import native, takes_tensors
from lamina.core.autocasting import in_float32
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.ops.contraction import into
from lamina.ops.linalg_checks import check_square_matrices
from lamina.ops.product_checks import check_tensors, refuse
from lamina.ops.solvers import linalg_inv, linalg_solve
from lamina.ops.triangles import identity_of

__all__ = ["matrix_exp", "orgqr", "ormqr", "vander"]

# --- exponential -------------------------------------------------------------------------------

# Coefficients of the Pade approximant of order 13, whose error is below rounding for norms up to
# 5.37 (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
    10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
_LARGEST_NORM = 5.37


def _matrix_exp(A: Any) -> Any:
    check_square_matrices("linalg.matrix_exp", A)
    if not A.size:
        return A.copy()
    if A.dtype.itemsize == (8 if A.dtype.kind == "c" else 4):
        # The quotient of the approximant loses digits that single precision does not have.
        return _matrix_exp(A.astype(np.result_type(A.dtype, np.float64))).astype(A.dtype)
    norm = np.abs(A).sum(-2).max(-1)
    with np.errstate(all="ignore"):
        halvings = np.maximum(np.ceil(np.log2(norm / _LARGEST_NORM)), 0)
    halvings = np.where(np.isfinite(halvings), halvings, np.zeros_like(halvings))
    result = _pade(A * (2.0**-halvings)[..., None, None].astype(norm.dtype))
    for k in range(int(halvings.max())):
        result = np.where((halvings > k)[..., None, None], result @ result, result)
    return result


def _pade(A: Any) -> Any:
    b = [coefficient / _PADE[0] for coefficient in _PADE]
    eye = identity_of(A)
    A2 = A @ A
    A4 = A2 @ A2
    A6 = A4 @ A2
    odd = A6 @ (b[13] * A6 + b[11] * A4 + b[9] * A2) + b[7] * A6 + b[5] * A4 + b[3] * A2
    odd = A @ (odd + b[1] * eye)
    even = A6 @ (b[12] * A6 + b[10] * A4 + b[8] * A2) + b[6] * A6 + b[4] * A4 + b[2] * A2
    even = even + b[0] * eye
    return np.linalg.solve(even - odd, even + odd)


def _matrix_exp_rule(F: Any, g: Any, A: Any) -> Any:
    # The exponential of the blocks [[A, g], [0, A]] has the derivative in its upper right corner.
    turned = F.conj_transpose(A)
    size = A.shape[-1]
    upper = F.cat([turned, g], -1)
    lower = F.cat([F.zeros_like(turned), turned], -1)
    return F.linalg_matrix_exp(F.cat([upper, lower], -2))[..., :size, size:]


linalg_matrix_exp = operation(
    "linalg_matrix_exp",
    _matrix_exp,
    grad={"A": _matrix_exp_rule},
    samples=lambda make: [sample(make(2, 3, 3)), sample(make(3, 3, low=-9, high=9))],
    doc="The exponential of each matrix: $\\sum_k A^k / k!$.",
)


def matrix_exp(A: Any) -> Any:
    """The exponential of each matrix: `linalg.matrix_exp`."""
    return linalg_matrix_exp(A)


# --- tensors as matrices -----------------------------------------------------------------------


def linalg_tensorinv(A: Any, ind: int = 2, *, out: Any = None) -> Any:
    """The inverse of a tensor as a map from its last dimensions to its first `ind` ones."""
    check_tensors("linalg.tensorinv", ("A", A))
    if ind <= 0:
        raise refuse("Expected a strictly positive integer for 'ind'")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    rows, columns = math.prod(first), math.prod(last)
    if rows != columns:
        raise refuse(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    return into(out, traced.reshape(linalg_inv(traced.reshape(A, (rows, columns))), last + first))


def linalg_tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Any:
    """The X for which `tensordot(A, X, X.ndim)` is B."""
    check_tensors("linalg.tensorsolve", ("A", A), ("B", B))
    if dims is not None:
        moved = [d % A.ndim for d in dims]
        A = traced.permute(A, [d for d in range(A.ndim) if d not in moved] + moved)
    shape = tuple(A.shape[B.ndim :])
    size = math.prod(shape)
    if size != math.prod(A.shape[: B.ndim]):
        raise refuse(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {size} != {math.prod(A.shape[: B.ndim])}"
        )
    matrix, vector = traced.reshape(A, (size, size)), traced.reshape(B, (size,))
    return into(out, traced.reshape(linalg_solve(matrix, vector), shape))


def linalg_vander(x: Any, *, N: int | None = None) -> Any:
    """The powers 0, 1, ..., N - 1 of each element, in a new last dimension."""
    check_tensors("linalg.vander", ("x", x))
    if not x.ndim:
        x = traced.reshape(x, (1,))
    count = x.shape[-1] if N is None else N
    if N is not None and N < 1:
        raise refuse("N must be greater than 1.")
    if x.dtype.name == "bool":
        x = x.to(traced.ones_like(x).sum().dtype)
    column = traced.unsqueeze(x, -1)
    ones = traced.ones_like(column)
    if count == 1:
        return ones
    factors = column.expand(*x.shape, count - 1)
    return traced.cat([ones, traced.cumprod(factors, -1)], -1)


@takes_tensors
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of powers of a vector's elements, by default from the highest power down."""
    if x.ndim != 1:
        raise refuse("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count == 0:
        return traced.unsqueeze(x, -1)[:, :0]
    powers = linalg_vander(x, N=count)
    return powers if increasing else traced.flip(powers, [-1])


@native
def linalg_vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Any:
    r"""Inner products of vectors along a dimension: $\sum_i \bar x_i y_i$."""
    check_tensors("linalg.vecdot", ("x", x), ("y", y))
    return into(out, traced.sum(traced.conj(x) * y, dim))


def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices: `torch.diagonal` of the last two dimensions."""
    return traced.diagonal(A, offset, dim1, dim2)


# --- Householder -------------------------------------------------------------------------------


def _reflections(A: Any, tau: Any) -> tuple[Any, Any]:
    """The vectors of the reflections, one in each column, and their factors."""
    below = traced.triangle(A, True, 0)
    return below + traced.identity_like(below), tau


def _reflect(result: Any, vectors: Any, tau: Any, k: int, adjoint: bool = False) -> Any:
    """Apply reflection k to the columns of `result`."""
    v = vectors[..., k : k + 1]
    factor = traced.unsqueeze(tau[..., k : k + 1], -1)
    factor = traced.conj(factor) if adjoint else factor
    return result - (v * factor) @ (traced.conj_transpose(v) @ result)


@in_float32
def linalg_householder_product(A: Any, tau: Any, *, out: Any = None) -> Any:
    """The first columns of the product of the reflections that `geqrf` returns."""
    check_tensors("linalg.householder_product", ("A", A), ("tau", tau))
    if A.ndim < 2:
        raise refuse("torch.linalg.householder_product: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1]:
        raise refuse(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
            "input.shape[-1]"
        )
    vectors, tau = _reflections(A, tau)
    result = traced.identity_like(A)
    for k in reversed(range(tau.shape[-1])):
        result = _reflect(result, vectors, tau, k)
    return into(out, result)


@native
def orgqr(input: Any, tau: Any, *, out: Any = None) -> Any:
    """The older name of `linalg.householder_product`."""
    return linalg_householder_product(input, tau, out=out)


@native
def ormqr(
    input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False,
    *, out: Any = None,
) -> Any:  # fmt: skip
    """The product of Q, given by reflections as `geqrf` returns them, and another matrix."""
    if not left:
        turned = traced.conj_transpose(other)
        found = ormqr(input, tau, turned, True, not transpose)
        return into(out, traced.conj_transpose(found))
    vectors, tau = _reflections(input, tau)
    order = range(tau.shape[-1])
    result = other
    for k in order if transpose else reversed(order):
        result = _reflect(result, vectors, tau, k, adjoint=transpose)
    return into(out, result)
