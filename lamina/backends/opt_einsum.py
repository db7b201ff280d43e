"""The package opt_einsum: `einsum` orders its products by itself."""

from __future__ import annotations

__all__ = ["enabled", "is_available", "strategy"]

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: Lamina does not use opt_einsum."""
    return False
