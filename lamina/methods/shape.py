"""Methods and attributes of shape, indexing and joining."""

from lamina.core.inplace import inplace
from lamina.core.tensor import Tensor
from lamina.ops import (
    broadcasting,
    filling,
    indexing,
    masks,
    memory,
    permutation,
    picking,
    scattering,
    shape,
    strides,
    windows,
    writing,
)

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
Tensor.broadcast_to = broadcasting.broadcast_method
Tensor.sum_to_size = broadcasting.sum_to_size_method

Tensor.select = windows.select
Tensor.narrow = windows.narrow
Tensor.diagonal = windows.diagonal
Tensor.unfold = windows.unfold
Tensor.as_strided = strides.as_strided

Tensor.clone = memory.clone
Tensor.contiguous = memory.contiguous
Tensor.detach = memory.detach
Tensor.detach_ = memory.detach_
Tensor.resize_ = memory.resize_
Tensor.resize_as_ = memory.resize_as_
Tensor.is_set_to = memory.is_set_to


Tensor.__getitem__ = indexing.get_item
Tensor.__setitem__ = indexing.set_item
Tensor.__contains__ = indexing.contains
Tensor.copy_ = filling.copy_
Tensor.fill_ = filling.fill_
Tensor.fill_diagonal_ = filling.fill_diagonal_
Tensor.zero_ = filling.zero_
Tensor.index_put = indexing.index_put
Tensor.index_put_ = indexing.index_put_

Tensor.gather = picking.gather
Tensor.index_select = picking.index_select
Tensor.masked_select = masks.masked_select
Tensor.take = picking.take
Tensor.take_along_dim = picking.take_along_dim
Tensor.nonzero = masks.nonzero
Tensor.nonzero_static = masks.nonzero_static
Tensor.argwhere = masks.argwhere

Tensor.scatter = scattering.scatter
Tensor.scatter_ = scattering.scatter_
Tensor.scatter_add = scattering.scatter_add
Tensor.scatter_add_ = inplace(scattering.scatter_add)
Tensor.scatter_reduce = scattering.scatter_reduce
Tensor.scatter_reduce_ = inplace(scattering.scatter_reduce)

Tensor.index_add = writing.index_add
Tensor.index_add_ = inplace(writing.index_add)
Tensor.index_copy = writing.index_copy
Tensor.index_copy_ = inplace(writing.index_copy)
Tensor.index_fill = writing.index_fill
Tensor.index_fill_ = writing.index_fill_
Tensor.index_reduce = writing.index_reduce
Tensor.index_reduce_ = writing.index_reduce_
Tensor.masked_fill = masks.masked_fill
Tensor.masked_fill_ = masks.masked_fill_
Tensor.masked_scatter = masks.masked_scatter
Tensor.masked_scatter_ = inplace(masks.masked_scatter)
Tensor.put = writing.put
Tensor.put_ = inplace(writing.put)
