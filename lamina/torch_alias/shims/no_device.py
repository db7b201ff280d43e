"""What the namespace of a kind of device says where there is none."""

from __future__ import annotations

__all__ = ["device_count", "is_available", "is_initialized"]


def is_available() -> bool:
    """False: there is no such device."""
    return False


def device_count() -> int:
    """0: there is no such device."""
    return 0


def is_initialized() -> bool:
    """False: there is no such device."""
    return False
