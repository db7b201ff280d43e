"""Which operations autocast runs in low precision, and which in float32.

On the CPU these are the operations that PyTorch 2.13 casts there; each row was found by running it.
Operations are called as in Lamina's catalogue: one of PyTorch's functions may be several, and
several may be one. Functions made of many operations stand beside them, as `@in_float32`.
"""

from __future__ import annotations

import functools
from typing import Final

from lamina import dtypes

__all__ = ["WIDEST", "Policies", "policies_for"]

WIDEST: Final = "the widest among the inputs"
Policies = dict[str, dict[str, object]]
"""By operation and type of device: the dtype that inputs are cast to, or `WIDEST`."""

_PRODUCTS: Final = """
addbmm addmm baddbmm bmm contract convolution linear linear_of_batch linear_of_batch_without_bias
linear_of_matrix linear_of_vector matmul mm scaled_dot_product_attention prelu_kernel
"""
_CPU_LOW: Final = _PRODUCTS
_CPU_FLOAT32: Final = """
adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve ctc_loss fft_c2c
fft_c2r fft_r2c fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler_2d_reading
grid_sampler_3d_reading huber_loss linalg_cholesky
linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lstsq
linalg_pinv linalg_qr linalg_solve linalg_svd linalg_svdvals matrix_rank max_pool3d max_unpool2d
max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss nll_loss nll_loss_2d polar prod
prod_all reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d
smooth_l1_loss soft_margin_loss traces triangular_solve view_as_complex
"""
# In PyTorch a state is made by many operations, which promote.
_WIDEST: Final = "lstm_gates gru_gates"
# PyTorch's lists for CUDA are in its documentation: https://docs.pytorch.org/docs/2.13/amp.html
_CUDA_LOW: Final = _PRODUCTS + "addmv addr mv"
_CUDA_FLOAT32: Final = """
acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow pow_number rpow
softplus layer_norm group_norm vector_norm nll_loss
nll_loss_2d huber_loss mse_loss smooth_l1_loss soft_margin_loss multilabel_margin_loss
multi_margin_loss binary_cross_entropy_with_logits ctc_loss dist cdist logsumexp prod prod_all
softmax log_softmax cumprod cumsum sum sum_all
"""
_CUDA_WIDEST: Final = f"""
{_WIDEST}
addcdiv addcmul atan2 linalg_cross dot vdot grid_sampler_2d_reading
grid_sampler_3d_reading index_put scatter_add
"""
_LISTS: Final = {
    "cpu": (_CPU_LOW, _CPU_FLOAT32, _WIDEST),
    "cuda": (_CUDA_LOW, _CUDA_FLOAT32, _CUDA_WIDEST),
}


@functools.cache
def policies_for(settings: tuple[tuple[str, dtypes.dtype], ...]) -> Policies:
    """What is cast to what, while autocast is on for some types of device."""
    found: Policies = {}
    for place, low in settings:
        for text, kind in zip(_LISTS.get(place, ()), (low, dtypes.float32, WIDEST), strict=False):
            for name in text.split():
                found.setdefault(name, {})[place] = kind
    return found
