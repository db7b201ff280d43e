"""Methods of products of matrices, and of linear algebra."""

from lamina.core.inplace import inplace
from lamina.core.tensor import Tensor
from lamina.ops import (
    contraction,
    decompositions,
    factor_lu,
    linalg,
    matmul,
    matrix_sums,
    products,
    pseudoinverse,
    solvers,
    triangular,
    vectors,
)


def _reflected(self: Tensor, other: object) -> object:
    return matmul.matmul(other, self)


Tensor.matmul = matmul.matmul
Tensor.__matmul__ = matmul.matmul
Tensor.__rmatmul__ = _reflected
Tensor.mm = matmul.mm
Tensor.bmm = matmul.bmm
Tensor.mv = vectors.mv
Tensor.dot = vectors.dot
Tensor.vdot = vectors.vdot
Tensor.inner = contraction.inner
Tensor.outer = products.outer
Tensor.ger = products.ger
Tensor.kron = products.kron
Tensor.cross = products.cross
Tensor.trace = products.trace
Tensor.matrix_power = products.matrix_power
Tensor.addmm = matrix_sums.addmm
Tensor.addmm_ = inplace(matrix_sums.addmm)
Tensor.addmv = matrix_sums.addmv
Tensor.addmv_ = inplace(matrix_sums.addmv)
Tensor.addbmm = matrix_sums.addbmm
Tensor.addbmm_ = inplace(matrix_sums.addbmm)
Tensor.baddbmm = matrix_sums.baddbmm
Tensor.baddbmm_ = inplace(matrix_sums.baddbmm)
Tensor.addr = matrix_sums.addr
Tensor.addr_ = inplace(matrix_sums.addr)

Tensor.det = solvers.det
Tensor.slogdet = solvers.slogdet
Tensor.logdet = solvers.logdet
Tensor.inverse = solvers.inverse
Tensor.pinverse = pseudoinverse.pinverse
Tensor.cholesky = triangular.cholesky
Tensor.cholesky_solve = triangular.cholesky_solve
Tensor.cholesky_inverse = triangular.cholesky_inverse
Tensor.triangular_solve = triangular.triangular_solve
Tensor.qr = decompositions.qr
Tensor.geqrf = decompositions.geqrf
Tensor.svd = decompositions.svd
Tensor.lu = factor_lu.lu
Tensor.lu_solve = factor_lu.lu_solve
Tensor.matrix_exp = linalg.matrix_exp
Tensor.orgqr = linalg.orgqr
Tensor.ormqr = linalg.ormqr
