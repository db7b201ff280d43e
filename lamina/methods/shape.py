"""Methods and attributes of shape, indexing and joining."""

from lamina.core.tensor import Tensor
from lamina.ops import broadcasting, memory, permutation, shape, windows

Tensor.view = shape.view_method
Tensor.reshape = shape.reshape_method
Tensor.view_as = shape.view_as
Tensor.reshape_as = shape.reshape_as
Tensor.flatten = shape.flatten
Tensor.ravel = shape.ravel
Tensor.unflatten = shape.unflatten_method
Tensor.squeeze = shape.squeeze
Tensor.unsqueeze = shape.unsqueeze

Tensor.transpose = permutation.transpose
Tensor.swapaxes = permutation.swapaxes
Tensor.swapdims = permutation.swapdims
Tensor.t = permutation.t
Tensor.permute = permutation.permute_method
Tensor.movedim = permutation.movedim
Tensor.moveaxis = permutation.moveaxis
Tensor.adjoint = permutation.adjoint
Tensor.T = property(permutation.reversed_dims)
Tensor.mT = property(permutation.matrix_transpose)
Tensor.mH = property(permutation.matrix_adjoint)
Tensor.H = property(permutation.conjugate_transpose)

Tensor.expand = broadcasting.expand
Tensor.expand_as = broadcasting.expand_as
Tensor.broadcast_to = broadcasting.broadcast_to
Tensor.sum_to_size = broadcasting.sum_to_size_method

Tensor.select = windows.select
Tensor.narrow = windows.narrow
Tensor.diagonal = windows.diagonal
Tensor.unfold = windows.unfold
Tensor.as_strided = windows.as_strided

Tensor.clone = memory.clone
Tensor.contiguous = memory.contiguous
Tensor.detach = memory.detach
Tensor.detach_ = memory.detach_
Tensor.resize_ = memory.resize_
Tensor.resize_as_ = memory.resize_as_
Tensor.set_ = memory.set_
Tensor.is_set_to = memory.is_set_to
