"""Sizes as layers take them: one number, or one for each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["each_dim"]

Number = TypeVar("Number", int, float)


def each_dim(value: Number | Sequence[Number], count: int) -> tuple[Number, ...]:
    """Return one number a dimension: a sequence as it is, one number repeated."""
    return (value,) * count if isinstance(value, int | float) else tuple(value)
