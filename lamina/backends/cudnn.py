"""The switches of cuDNN, which is never there: they are kept, and change nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "enabled",
    "flags",
    "is_acceptable",
    "is_available",
    "set_flags",
    "version",
]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: convolutions are Lamina's own."""
    return False


def version() -> int | None:
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False for every tensor: none is computed by cuDNN."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[Any, ...]:
    """Set the switches that are given, and return what they all were."""
    module = sys.modules[__name__]
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    before = tuple(getattr(module, name) for name in _SWITCHES)
    for name, value in zip(_SWITCHES, given, strict=True):
        if value is not None:
            setattr(module, name, value)
    return before


_SWITCHES = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches in a block; afterwards they are what they were.

    >>> with flags(enabled=False, deterministic=True):
    ...     deterministic
    False
    """
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        module = sys.modules[__name__]
        for name, value in zip(_SWITCHES, before, strict=True):
            setattr(module, name, value)
