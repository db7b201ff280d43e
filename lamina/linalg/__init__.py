"""Linear algebra: factorizations, equations, norms and other functions of matrices."""

from lamina.errors import LinAlgError
from lamina.ops.decompositions import linalg_eig as eig
from lamina.ops.decompositions import linalg_eigh as eigh
from lamina.ops.decompositions import linalg_eigvals as eigvals
from lamina.ops.decompositions import linalg_eigvalsh as eigvalsh
from lamina.ops.decompositions import linalg_qr as qr
from lamina.ops.decompositions import linalg_svd as svd
from lamina.ops.decompositions import linalg_svdvals as svdvals
from lamina.ops.factor_lu import linalg_lu as lu
from lamina.ops.factor_lu import linalg_lu_factor as lu_factor
from lamina.ops.factor_lu import linalg_lu_factor_ex as lu_factor_ex
from lamina.ops.factor_lu import linalg_lu_solve as lu_solve
from lamina.ops.linalg import linalg_diagonal as diagonal
from lamina.ops.linalg import linalg_householder_product as householder_product
from lamina.ops.linalg import linalg_matrix_exp as matrix_exp
from lamina.ops.linalg import linalg_tensorinv as tensorinv
from lamina.ops.linalg import linalg_tensorsolve as tensorsolve
from lamina.ops.linalg import linalg_vander as vander
from lamina.ops.linalg import linalg_vecdot as vecdot
from lamina.ops.matmul import matmul
from lamina.ops.norms import linalg_norm as norm
from lamina.ops.norms import matrix_norm, vector_norm
from lamina.ops.products import linalg_cross as cross
from lamina.ops.products import matrix_power, multi_dot
from lamina.ops.pseudoinverse import linalg_cond as cond
from lamina.ops.pseudoinverse import linalg_lstsq as lstsq
from lamina.ops.pseudoinverse import linalg_matrix_rank as matrix_rank
from lamina.ops.pseudoinverse import linalg_pinv as pinv
from lamina.ops.solvers import linalg_det as det
from lamina.ops.solvers import linalg_inv as inv
from lamina.ops.solvers import linalg_inv_ex as inv_ex
from lamina.ops.solvers import linalg_slogdet as slogdet
from lamina.ops.solvers import linalg_solve as solve
from lamina.ops.solvers import linalg_solve_ex as solve_ex
from lamina.ops.triangular import linalg_cholesky as cholesky
from lamina.ops.triangular import linalg_cholesky_ex as cholesky_ex
from lamina.ops.triangular import linalg_solve_triangular as solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
