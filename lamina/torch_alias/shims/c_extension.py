"""`torch._C`: what programs reach of PyTorch's compiled half."""

from __future__ import annotations

__all__ = ["_get_tracing_state", "_log_api_usage_once"]


def _get_tracing_state() -> None:
    """None: nothing is traced by `torch.jit`."""


def _log_api_usage_once(*names: str) -> None:
    """Nothing: usage is not counted."""
