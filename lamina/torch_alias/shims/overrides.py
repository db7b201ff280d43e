"""`torch.overrides`: no subclass of Tensor takes operations over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lamina.core.tensor import Tensor

__all__ = ["has_torch_function", "is_tensor_like"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """False: `__torch_function__` is not called."""
    return False


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or says that it acts as one."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")
