"""`torch.onnx`: models are not exported, and programs may ask whether one is being."""

from __future__ import annotations

from typing import Any

__all__ = [
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


def is_in_onnx_export() -> bool:
    """False: there is no export."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Nothing: how an operator is exported will not be asked."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Nothing: none was registered."""
