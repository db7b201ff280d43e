"""Methods that reduce."""

from lamina.core.tensor import Tensor
from lamina.ops import reduction

Tensor.sum = reduction.sum
Tensor.nansum = reduction.nansum
Tensor.mean = reduction.mean
Tensor.nanmean = reduction.nanmean
Tensor.prod = reduction.prod
Tensor.all = reduction.all
Tensor.any = reduction.any
Tensor.count_nonzero = reduction.count_nonzero
Tensor.logsumexp = reduction.logsumexp
