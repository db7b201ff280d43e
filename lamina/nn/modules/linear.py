"""Affine maps. The place where PyTorch has them."""

from lamina.nn.lazy_layers import LazyLinear
from lamina.nn.linear import Bilinear, Identity, Linear
from lamina.nn.multi_head_attention import NonDynamicallyQuantizableLinear

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear", "NonDynamicallyQuantizableLinear"]
