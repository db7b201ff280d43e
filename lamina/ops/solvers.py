"""Linear equations: inverses, determinants, and solutions of $A X = B$."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.arguments import native
from lamina.core.call import operation
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import Joint, traced
from lamina.core.samples import sample
from lamina.ops.axes import rows_first
from lamina.ops.factor_lu import factor
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

__all__ = ["det", "inverse", "logdet", "slogdet"]

# --- inverses ----------------------------------------------------------------------------------


def _inv(A: Any) -> Any:
    check_square_matrices("linalg.inv", A)
    try:
        return np.linalg.inv(A)
    except np.linalg.LinAlgError:
        raise _singular(A) from None


def _singular(A: Any) -> Any:
    index, code = first_failure(factor(A)[2], A)
    return failed(
        "linalg.inv",
        f"The diagonal element {code} is zero, the inversion could not be completed because the "
        "input matrix is singular.",
        index,
        "linalg.pinv is defined for every matrix",
    )


def _inv_rule(F: Any, g: Any, out: Any) -> Any:
    turned = F.conj_transpose(out)
    return -(turned @ g @ turned)


def _inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    check_square_matrices("linalg.inv_ex", A)
    try:
        return np.linalg.inv(A), codes_like(A)
    except np.linalg.LinAlgError:
        info = factor(A)[2]
        if check_errors:
            raise _singular(A) from None
    made = np.full_like(A, np.nan)
    flat, source = matrices_of(made), matrices_of(A)
    for k, code in enumerate(info.reshape(-1)):
        if code == 0:
            flat[k] = np.linalg.inv(source[k])
    return flat.reshape(A.shape), info


def _well_conditioned(make: Any, *shape: int) -> Any:
    return make(*shape) + 4 * np.eye(shape[-1])


linalg_inv = operation(
    "linalg_inv",
    _inv,
    grad={"A": _inv_rule},
    node_name="LinalgInvExBackward0",
    samples=lambda make: [sample(_well_conditioned(make, 2, 3, 3))],
    doc="The inverse of each matrix.",
)
linalg_inv_ex = operation(
    "linalg_inv_ex",
    _inv_ex,
    grad={"A": lambda F, g, out0: _inv_rule(F, g[0], out0)},
    node_name="LinalgInvExBackward0",
    result=named_result("linalg_inv_ex", "inverse info"),
    samples=lambda make: [sample(_well_conditioned(make, 2, 3, 3))],
    doc="The inverse of each matrix, and a code: 0 if there is one.",
)


@native
def inverse(input: Any, *, out: Any = None) -> Any:
    """The inverse of each matrix: `linalg.inv`."""
    return linalg_inv(input, out=out)


# --- determinants ------------------------------------------------------------------------------


def _spread(F: Any, number: Any) -> Any:
    """A number for each matrix, with dimensions to multiply the matrix by it."""
    return F.unsqueeze(F.unsqueeze(number, -1), -1)


def _det(A: Any) -> Any:
    check_square_matrices("linalg.det", A)
    return _determinants(A)


def _determinants(A: Any) -> Any:
    # For a single matrix NumPy gives a number; arrays without values need an array.
    with np.errstate(all="ignore"):  # NumPy would warn in its own name
        return np.linalg.det(A[None])[0]


def _cofactors(A: Any) -> Any:
    """The derivative of the determinant, which also singular matrices have.

    With $A = U S V^H$ it is $\\det U \\det V^H$ times U D V^H, where D has the products of all
    singular values but one.
    """
    if not A.size:
        return np.zeros_like(A)
    U, S, Vh = np.linalg.svd(A)
    count = S.shape[-1]
    others = np.broadcast_to(S[..., None, :], (*S.shape, count)).copy()
    others[..., range(count), range(count)] = 1
    sign = np.conjugate(_determinants(U) * _determinants(Vh))
    return (sign[..., None, None] * ((U * np.prod(others, axis=-1)[..., None, :]) @ Vh)).astype(
        A.dtype
    )


def _cofactors_rule(F: Any, g: Any, A: Any) -> Any:
    # From C = conj(det A) A^-H, which needs an inverse; first derivatives do not.
    turned = F.conj_transpose(F.linalg_inv(A))
    determinant = F.linalg_det(A)
    weight = F.sum(F.sum(F.conj(g) * turned, -1), -1)
    first = _spread(F, weight) * F.cofactors(A)
    inverse_part = F.conj_transpose(g) * _spread(F, F.conj(determinant))
    return first - turned @ inverse_part @ turned


cofactors = operation(
    "cofactors",
    _cofactors,
    grad={"A": _cofactors_rule},
    samples=lambda make: [sample(_well_conditioned(make, 2, 3, 3))],
    doc="The derivative of each matrix's determinant.",
)
linalg_det = operation(
    "linalg_det",
    _det,
    grad={"A": lambda F, g, A: _spread(F, g) * F.cofactors(A)},
    node_name="LinalgDetBackward0",
    samples=lambda make: [sample(make(3, 3)), sample(make(2, 3, 3))],
    doc="The determinant of each matrix.",
)


@takes_numpy_names
def det(input: Any, **numpy_names: Any) -> Any:
    """The determinant of each matrix: `linalg.det`."""
    if numpy_names or input is MISSING:
        return again(det, numpy_names, input)
    return linalg_det(input)


def _slogdet(A: Any) -> Any:
    check_square_matrices("linalg.slogdet", A)
    with np.errstate(all="ignore"):
        return tuple(np.linalg.slogdet(A))


def _slogdet_rule(F: Any, g: Any, A: Any, out0: Any) -> Any:
    weight = None
    if g[1] is not None:
        weight = g[1]
    if g[0] is not None:
        turned = F.conj(g[0]) * out0
        part = (F.conj(turned) - turned) * 0.5
        weight = part if weight is None else weight + part
    if weight is None:
        return None
    return _spread(F, weight) * F.conj_transpose(F.linalg_inv(A))


linalg_slogdet = operation(
    "linalg_slogdet",
    _slogdet,
    grad={"A": _slogdet_rule},
    node_name="LinalgSlogdetBackward0",
    result=named_result("linalg_slogdet", "sign logabsdet"),
    samples=lambda make: [sample(_well_conditioned(make, 2, 3, 3))],
    doc="The sign and the logarithm of the size of each matrix's determinant.",
)
_slogdet_result = named_result("slogdet", "sign logabsdet")


@native
def slogdet(input: Any) -> Any:
    """The sign of the determinant and the logarithm of its size: `linalg.slogdet`."""
    return _slogdet_result(*linalg_slogdet(input))


@native
def logdet(input: Any) -> Any:
    """The logarithm of each matrix's determinant; NaN where it is negative."""
    sign, size = linalg_slogdet(input)
    if input.is_complex():
        return traced.log(sign) + size
    return traced.where(sign == -1, traced.full_like(size, float("nan")), size)


# --- A X = B -----------------------------------------------------------------------------------


def is_vector(A_shape: Any, B_shape: Any) -> bool:
    """Whether B is one vector for each matrix A, and not a matrix."""
    return len(B_shape) == 1 or (
        len(A_shape) - 1 == len(B_shape) and tuple(B_shape) == tuple(A_shape[:-1])
    )


def _check_solve(name: str, A: Any, B: Any, left: bool) -> None:
    check_square_matrices(name, A)
    check_same_kind(name, A, B)
    vector = is_vector(A.shape, B.shape)
    if vector and not left:
        raise refuse(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False.",
            "give B two dimensions: B.unsqueeze(-1)",
        )
    rows = B.shape[-1] if vector or not left else B.shape[-2]
    if rows != A.shape[-1]:
        raise refuse(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{'x'.join(map(str, B.shape[-2:]))})"
        )


def _solve(A: Any, B: Any, *, left: bool = True) -> Any:
    _check_solve("linalg.solve", A, B, left)
    try:
        return _solved(A, B, left)
    except np.linalg.LinAlgError:
        index = first_failure(factor(A)[2], A)[0]
        raise failed(
            "torch.linalg.solve",
            "The solver failed because the input matrix is singular.",
            index,
            "linalg.lstsq finds the best solution of any system",
        ) from None


def _solved(A: Any, B: Any, left: bool) -> Any:
    if is_vector(A.shape, B.shape):
        return np.linalg.solve(A, B[..., None])[..., 0]
    if left:
        return np.linalg.solve(A, B)
    found = np.linalg.solve(A.swapaxes(-1, -2), B.swapaxes(-1, -2))
    return rows_first(found.swapaxes(-1, -2))


def _solve_rule(F: Any, g: Any, A: Any, out: Any, B_shape: Any, left: bool, needs: Any) -> Any:
    vector = is_vector(A.shape, B_shape)
    turned = F.conj_transpose(A)
    if vector:
        g = F.unsqueeze(g, -1)
    grad = F.linalg_solve(turned, g, left=left)
    grad_A = None
    if needs[0]:
        out = F.unsqueeze(out, -1) if vector else out
        product = grad @ F.conj_transpose(out) if left else F.conj_transpose(out) @ grad
        grad_A = F.sum_to_size(-product, tuple(A.shape))
    if not needs[1]:
        return grad_A, None
    grad_B = F.sum(grad, -1) if vector else grad
    return grad_A, F.sum_to_size(grad_B, tuple(B_shape))


linalg_solve = operation(
    "linalg_solve",
    _solve,
    tensors="A B",
    grad=Joint(_solve_rule, {"B": "A"}),
    node_name="LinalgSolveExBackward0",
    samples=lambda make: [
        sample(_well_conditioned(make, 2, 3, 3), make(3, 2)),
        sample(_well_conditioned(make, 3, 3), make(3)),
        sample(_well_conditioned(make, 3, 3), make(2, 4, 3), left=False),
    ],
    doc="The solution X of $A X = B$ (of $X A = B$ with `left=False`).",
)


def _solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    _check_solve("linalg.solve_ex", A, B, left)
    try:
        return _solved(A, B, left), codes_like(A)
    except np.linalg.LinAlgError:
        if check_errors:
            return _solve(A, B, left=left), None
        return _solved(identity_of(A), B, left) * B.dtype.type(np.nan), factor(A)[2]


linalg_solve_ex = operation(
    "linalg_solve_ex",
    _solve_ex,
    tensors="A B",
    grad=Joint(
        lambda F, g, A, out0, B_shape, left, needs: _solve_rule(
            F, g[0], A, out0, B_shape, left, needs
        ),
        {"B": "A"},
    ),
    result=named_result("linalg_solve_ex", "result info"),
    samples=lambda make: [sample(_well_conditioned(make, 2, 3, 3), make(3, 2))],
    doc="`solve` with a code for each matrix: 0, or the number of the pivot that is zero.",
)
