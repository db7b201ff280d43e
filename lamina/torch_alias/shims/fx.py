"""`torch.fx`: programs are not traced symbolically, so marking functions for it does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["wrap"]


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Its argument, as in PyTorch; nothing is traced."""
    return fn_or_name
