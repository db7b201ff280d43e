"""Methods of products and linear algebra."""

from lamina.core.tensor import Tensor
from lamina.ops import matmul


def _reflected(self: Tensor, other: object) -> object:
    return matmul.matmul(other, self)


Tensor.matmul = matmul.matmul
Tensor.__matmul__ = matmul.matmul
Tensor.__rmatmul__ = _reflected
Tensor.mm = matmul.mm
Tensor.bmm = matmul.bmm
Tensor.mv = matmul.mv
Tensor.dot = matmul.dot
Tensor.vdot = matmul.vdot
