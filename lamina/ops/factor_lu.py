"""The LU factorization, vectorised over a batch, and what is solved with it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.ops.linalg_checks import check_matrices, failed, first_failure
from lamina.ops.product_checks import refuse
from lamina.ops.results import named_result
from lamina.ops.triangles import identity_of

__all__ = ["lu", "lu_solve", "lu_unpack"]


def factor(A: Any) -> tuple[Any, Any, Any]:
    """L and U in one matrix, the rows exchanged at each step (from 1), and codes of failure.

    Works on the whole batch at once, one column after the other.
    """
    rows, columns = A.shape[-2:]
    x = A.reshape((math.prod(A.shape[:-2]), rows, columns)).copy()
    count = min(rows, columns)
    pivots = np.zeros_like(A, shape=(x.shape[0], count), dtype=np.int32)
    info = np.zeros_like(A, shape=(x.shape[0],), dtype=np.int32)
    for k in range(count):
        chosen = np.argmax(_size_of(x[:, k:, k]), axis=1) + k
        pivots[:, k] = chosen + 1
        _exchange(x, k, chosen)
        pivot = x[:, k, k]
        info[...] = np.where((info == 0) & (pivot == 0), k + 1, info)
        x[:, k + 1 :, k] /= np.where(pivot == 0, np.ones_like(pivot), pivot)[:, None]
        x[:, k + 1 :, k + 1 :] -= x[:, k + 1 :, k : k + 1] * x[:, k : k + 1, k + 1 :]
    batch = A.shape[:-2]
    return x.reshape(A.shape), pivots.reshape((*batch, count)), info.reshape(batch)


def _exchange(x: Any, k: int, chosen: Any) -> None:
    """Exchange row k of each matrix with a chosen one."""
    index = chosen[:, None, None]
    row = x[:, k : k + 1, :].copy()
    x[:, k : k + 1, :] = np.take_along_axis(x, index, axis=1)
    np.put_along_axis(x, index, row, axis=1)


def _size_of(x: Any) -> Any:
    """How large numbers are, as LAPACK compares pivots."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def order_of(pivots: Any, rows: int) -> Any:
    """The order of rows that a sequence of exchanges makes."""
    flat = pivots.reshape((math.prod(pivots.shape[:-1]), pivots.shape[-1]))
    ones = np.ones_like(flat, shape=(flat.shape[0], rows, 1), dtype=np.int64)
    order = np.cumsum(ones, axis=1) - 1
    for k in range(flat.shape[1]):
        _exchange(order, k, flat[:, k].astype(np.int64) - 1)
    return order.reshape((*pivots.shape[:-1], rows))


def permutation(pivots: Any, rows: int, like: Any) -> Any:
    """The matrices P with A = P L U."""
    order = order_of(pivots, rows)
    made = np.zeros_like(like, shape=(*order.shape, rows))
    np.put_along_axis(made, order[..., None, :], np.ones_like(order[..., None, :]), axis=-2)
    return made


def lower_of(LU: Any) -> Any:
    """The factor L: the part below the diagonal, with ones on it."""
    rows, columns = LU.shape[-2:]
    lower = np.tril(LU[..., : min(rows, columns)], -1)
    return lower + identity_of(lower)


def upper_of(LU: Any) -> Any:
    """The factor U."""
    rows, columns = LU.shape[-2:]
    return np.triu(LU[..., : min(rows, columns), :])


def _needs_pivots(name: str, pivot: bool) -> None:
    if not pivot:
        raise refuse(f"{name}: LU without pivoting is not implemented on the CPU")


def factor_rule(F: Any, P: Any, L: Any, U: Any, gL: Any, gU: Any) -> Any:
    """The gradient of A = P L U from those of L and U (either may be None)."""
    gL = F.zeros_like(L) if gL is None else gL
    gU = F.zeros_like(U) if gU is None else gU
    Lh, Uh = F.conj_transpose(L), F.conj_transpose(U)
    rows, columns = L.shape[-2], U.shape[-1]
    count = min(rows, columns)
    if rows < columns:
        right = F.linalg_solve_triangular(Lh, gU[..., count:], upper=True, unitriangular=True)
        gL = gL - right @ Uh[..., count:, :]
        square = _square_rule(F, Lh, Uh[..., :count, :], gL, gU[..., :count])
        return P @ F.cat([square, right], -1)
    if rows > columns:
        below = F.linalg_solve_triangular(Uh, gL[..., count:, :], upper=False, left=False)
        gU = gU - Lh[..., count:] @ below
        square = _square_rule(F, Lh[..., :count], Uh, gL[..., :count, :], gU)
        return P @ F.cat([square, below], -2)
    return P @ _square_rule(F, Lh, Uh, gL, gU)


def _square_rule(F: Any, Lh: Any, Uh: Any, gL: Any, gU: Any) -> Any:
    middle = F.triangle(Lh @ gL, True, 0) + F.triangle(gU @ Uh, False, 1)
    left = F.linalg_solve_triangular(Lh, middle, upper=True, unitriangular=True)
    return F.linalg_solve_triangular(Uh, left, upper=False, left=False)


def _lu(A: Any, *, pivot: bool = True) -> tuple[Any, Any, Any]:
    check_matrices("linalg.lu", A)
    _needs_pivots("linalg.lu", pivot)
    LU, pivots, _ = factor(A)
    return permutation(pivots, A.shape[-2], A), lower_of(LU), upper_of(LU)


linalg_lu = operation(
    "linalg_lu",
    _lu,
    grad=lambda F, g, out0, out1, out2: (factor_rule(F, out0, out1, out2, g[1], g[2]),),
    node_name="LinalgLuBackward0",
    result=named_result("linalg_lu", "P L U"),
    samples=lambda make: [sample(make(3, 3)), sample(make(2, 3, 4)), sample(make(4, 3))],
    doc="The factors of $A = P L U$: a permutation, a lower and an upper triangle.",
)
linalg_lu.op.constants = (0,)


def _lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    check_matrices("linalg.lu_factor_ex", A)
    _needs_pivots("linalg.lu_factor_ex", pivot)
    LU, pivots, info = factor(A)
    if check_errors and (info != 0).any():
        raise _zero_pivot("linalg.lu_factor_ex", info, A)
    return LU, pivots, info


def _zero_pivot(name: str, info: Any, A: Any) -> Any:
    index, code = first_failure(info, A)
    return failed(
        "torch." + name,
        f"U[{code},{code}] is zero and using it on lu_solve would result in a division by zero.",
        index,
        "use linalg.lu or linalg.lu_factor_ex if you want the factors all the same",
    )


def _lu_factor(A: Any, *, pivot: bool = True) -> Any:
    check_matrices("linalg.lu_factor", A)
    _needs_pivots("linalg.lu_factor", pivot)
    LU, pivots, info = factor(A)
    if (info != 0).any():
        raise _zero_pivot("linalg.lu_factor", info, A)
    return LU, pivots


def _unpacked(F: Any, LU: Any, pivots: Any) -> tuple[Any, Any, Any]:
    rows, columns = LU.shape[-2:]
    count = min(rows, columns)
    lower = F.triangle(LU[..., :count], True, 0)
    P = F.permutation_matrix(pivots, rows, LU)
    return P, lower + F.identity_like(lower), F.triangle(LU[..., :count, :], False, 1)


def _packed_rule(F: Any, g: Any, out0: Any, out1: Any) -> tuple[Any]:
    P, L, U = _unpacked(F, out0, out1)
    count = L.shape[-1]
    gL, gU = F.triangle(g[0][..., :count], True, 0), F.triangle(g[0][..., :count, :], False, 1)
    return (factor_rule(F, P, L, U, gL, gU),)


permutation_matrix = operation(
    "permutation_matrix",
    lambda pivots, rows, like: permutation(pivots, rows, like),
    tensors="pivots like",
    grad=None,
    doc="The permutation that a sequence of exchanges of rows makes, as matrices.",
)
_lu_samples = [(3, 3), (2, 3, 4), (4, 3)]
linalg_lu_factor = operation(
    "linalg_lu_factor",
    _lu_factor,
    grad=_packed_rule,
    node_name="LinalgLuFactorExBackward0",
    result=named_result("linalg_lu_factor", "LU pivots"),
    samples=lambda make: [sample(make(*shape)) for shape in _lu_samples],
    doc="L and U of $A = P L U$ in one matrix, and the exchanges of rows that make P.",
)
linalg_lu_factor_ex = operation(
    "linalg_lu_factor_ex",
    _lu_factor_ex,
    grad=_packed_rule,
    result=named_result("linalg_lu_factor_ex", "LU pivots info"),
    samples=lambda make: [sample(make(*shape)) for shape in _lu_samples],
    doc="`lu_factor` with a code for each matrix: 0, or the number of the pivot that is zero.",
)


def _lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    nothing = np.zeros_like(LU_data, shape=(0,))
    P = permutation(LU_pivots, LU_data.shape[-2], LU_data) if unpack_pivots else nothing
    if not unpack_data:
        return P, nothing, nothing.copy()
    return P, lower_of(LU_data), upper_of(LU_data)


def _unpack_rule(F: Any, g: Any, LU_data_shape: Any, unpack_data: bool) -> Any:
    rows, columns = LU_data_shape[-2:]
    count = min(rows, columns)
    parts = []
    if unpack_data and g[1] is not None:
        lower = F.triangle(g[1], True, 0)
        if columns > count:
            wide = F.zeros_like(F.conj_transpose(g[1])[..., :1, :])
            lower = F.cat([lower] + [F.conj_transpose(wide)] * (columns - count), -1)
        parts.append(lower)
    if unpack_data and g[2] is not None:
        upper = F.triangle(g[2], False, 1)
        if rows > count:
            upper = F.cat([upper] + [F.zeros_like(upper[..., :1, :])] * (rows - count), -2)
        parts.append(upper)
    return None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]


lu_unpack = operation(
    "lu_unpack",
    _lu_unpack,
    tensors="LU_data LU_pivots",
    grad={"LU_data": _unpack_rule},
    node_name="LuUnpackBackward0",
    result=named_result("lu_unpack", "P L U"),
    samples=lambda make: [
        sample(make(3, 3), np.array([2, 2, 3], dtype=np.int32)),
        sample(make(4, 3), np.array([2, 4, 3], dtype=np.int32)),
        sample(make(3, 4), np.array([2, 3, 3], dtype=np.int32)),
    ],
    doc="P, L and U from what `lu_factor` returns.",
)
lu_unpack.op.constants = (0,)


def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The older form of `linalg.lu_factor`: a tuple, with the codes of failure if asked for."""
    found = linalg_lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    return found if get_infos else (found.LU, found.pivots)


def linalg_lu_solve(
    LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None
) -> Any:
    r"""Solve $A X = B$ with what `lu_factor(A)` returned.

    With `left=False` solve $X A = B$; with `adjoint` use $A^H$ in place of $A$.
    """
    P, L, U = lu_unpack(LU, pivots)
    solve = traced.linalg_solve_triangular
    if not left:
        # X A = B is A^H X^H = B^H.
        found = linalg_lu_solve(LU, pivots, traced.conj_transpose(B), adjoint=not adjoint)
        return traced.clone(traced.conj_transpose(found), out=out)
    if not adjoint:
        lower = solve(L, traced.conj_transpose(P) @ B, upper=False, unitriangular=True)
        return solve(U, lower, upper=True, out=out)
    upper = solve(traced.conj_transpose(U), B, upper=False)
    made = P @ solve(traced.conj_transpose(L), upper, upper=True, unitriangular=True)
    return made if out is None else traced.clone(made, out=out)


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Any:
    """`linalg.lu_solve` with its arguments in the older order."""
    return linalg_lu_solve(LU_data, LU_pivots, b, out=out)
