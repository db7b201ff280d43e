"""Norms of each sample by itself. The place where PyTorch has them."""

from lamina.nn.normalization import GroupNorm, LayerNorm, RMSNorm
from lamina.nn.response_normalization import CrossMapLRN2d, LocalResponseNorm

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
