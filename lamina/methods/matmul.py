"""Methods of products of matrices and vectors."""

from lamina.core.tensor import Tensor
from lamina.ops import matmul, vectors


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
