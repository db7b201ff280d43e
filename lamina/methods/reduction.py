"""Methods that reduce, accumulate, sort and count."""

from lamina.core.inplace import inplace
from lamina.core.tensor import Tensor
from lamina.ops import (
    cumulative,
    differences,
    extremes,
    histograms,
    moments,
    norms,
    order_statistics,
    reduction,
    searching,
    sorting,
)

Tensor.sum = reduction.sum
Tensor.nansum = reduction.nansum
Tensor.mean = reduction.mean
Tensor.nanmean = reduction.nanmean
Tensor.prod = reduction.prod
Tensor.all = reduction.all
Tensor.any = reduction.any
Tensor.count_nonzero = reduction.count_nonzero
Tensor.logsumexp = reduction.logsumexp

Tensor.std = moments.std
Tensor.var = moments.var

Tensor.max = extremes.max
Tensor.min = extremes.min
Tensor.amax = extremes.amax
Tensor.amin = extremes.amin
Tensor.aminmax = extremes.aminmax
Tensor.argmax = extremes.argmax
Tensor.argmin = extremes.argmin

Tensor.norm = norms.norm
Tensor.dist = norms.dist
Tensor.renorm, Tensor.renorm_ = norms.renorm, inplace(norms.renorm)

Tensor.median = order_statistics.median
Tensor.nanmedian = order_statistics.nanmedian
Tensor.mode = order_statistics.mode
Tensor.kthvalue = order_statistics.kthvalue
Tensor.quantile = order_statistics.quantile
Tensor.nanquantile = order_statistics.nanquantile

Tensor.cumsum = cumulative.cumsum
Tensor.cumsum_ = inplace(cumulative.cumsum)
Tensor.cumprod = cumulative.cumprod
Tensor.cumprod_ = inplace(cumulative.cumprod)
Tensor.cummax = cumulative.cummax
Tensor.cummin = cumulative.cummin
Tensor.logcumsumexp = cumulative.logcumsumexp
Tensor.diff = differences.diff

Tensor.sort = sorting.sort
Tensor.argsort = sorting.argsort
Tensor.msort = sorting.msort
Tensor.topk = sorting.topk

Tensor.unique = searching.unique
Tensor.unique_consecutive = searching.unique_consecutive
Tensor.isin = searching.isin
Tensor.histc = histograms.histc
Tensor.histogram = histograms.histogram
Tensor.bincount = histograms.bincount
