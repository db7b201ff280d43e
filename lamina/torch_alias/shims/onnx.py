"""`torch.onnx`: models are not exported, and programs may ask whether one is being."""

from __future__ import annotations

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False: there is no export."""
    return False
