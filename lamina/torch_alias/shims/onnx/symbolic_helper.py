"""What libraries decorate their rules of export with; the rules are not asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that changes nothing: there is no export that would give such arguments."""
    return lambda rule: rule
