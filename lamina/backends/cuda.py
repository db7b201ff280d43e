"""The switches of CUDA's libraries: they are kept, and change nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import final

from lamina.core.warning import warn

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]


@final
class _ProductSwitches:
    """How matrix products may round, on a GPU."""

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False


matmul = _ProductSwitches()
_attention = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def is_built() -> bool:
    """False: Lamina has no CUDA library built in. (`lamina.cuda` may be simulated.)"""
    return False


def is_flash_attention_available() -> bool:
    """False: attention is one program of Lamina's own."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may use FlashAttention; it does not."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Set what `flash_sdp_enabled` answers."""
    _attention["flash"] = enabled


def math_sdp_enabled() -> bool:
    """Whether attention may be computed step by step."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Set what `math_sdp_enabled` answers."""
    _attention["math"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may save memory at the cost of time."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set what `mem_efficient_sdp_enabled` answers."""
    _attention["mem_efficient"] = enabled


def cudnn_sdp_enabled() -> bool:
    """Whether attention may be cuDNN's; it is not."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set what `cudnn_sdp_enabled` answers."""
    _attention["cudnn"] = enabled


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Choose the kernels of attention in a block, as PyTorch 2.0 did; there is one anyway.

    Warns:
        FutureWarning: Always, as PyTorch does: `nn.attention.sdpa_kernel` took its place.
    """
    warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated: `torch.nn.attention.sdpa_kernel()` "
        "took its place",
        FutureWarning,
    )
    before = dict(_attention)
    _attention.update(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )
    try:
        yield
    finally:
        _attention.update(before)
