"""`torch.multiprocessing`: Python's own, since tensors are pickled like any value."""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

__all__ = [
    *multiprocessing.__all__,
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
]

_strategies = ["file_system"]


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """What was set last. Tensors are copied between processes, not shared."""
    return _strategies[-1]


def set_sharing_strategy(new_strategy: str) -> None:
    """Keep the wish; tensors are copied between processes, not shared."""
    _strategies[:] = [new_strategy]
