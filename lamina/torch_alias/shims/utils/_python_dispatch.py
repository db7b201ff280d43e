"""Subclasses of Tensor that stand for other tensors: there are none here."""

from __future__ import annotations

from typing import Any

__all__ = ["is_traceable_wrapper_subclass"]


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """False: no class wraps tensors so that programs are recorded through it."""
    return False
