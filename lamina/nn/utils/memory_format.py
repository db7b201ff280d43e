"""The memory format of convolutions' weights, which changes nothing here."""

from __future__ import annotations

from typing import Any, TypeVar

from lamina.nn.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

ModuleType = TypeVar("ModuleType", bound=Module)


def convert_conv2d_weight_memory_format(module: ModuleType, memory_format: Any) -> ModuleType:
    """Return the module as it is: tensors are row-major always."""
    return module


def convert_conv3d_weight_memory_format(module: ModuleType, memory_format: Any) -> ModuleType:
    """Return the module as it is: tensors are row-major always."""
    return module
