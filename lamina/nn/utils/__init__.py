"""Helpers around modules: clipping, sequences, parametrizations, parameters as a vector."""

from typing import TYPE_CHECKING

from lamina.late_loading import late_names
from lamina.nn.utils import rnn
from lamina.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from lamina.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from lamina.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from lamina.nn.utils.init import skip_init
from lamina.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from lamina.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from lamina.nn.utils.weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from lamina.nn.utils import parametrizations, parametrize, stateless

__getattr__, __dir__ = late_names(__name__, {}, "parametrizations parametrize stateless")

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]
