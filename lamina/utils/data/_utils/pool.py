"""What workers in threads and in processes have in common, as seen from the loader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from lamina import errors

__all__ = ["Pool", "stopped", "timed_out"]


class Pool(ABC):
    """Workers, each with tasks of its own; their results arrive in any order."""

    word: str
    is_open = True

    @abstractmethod
    def send(self, worker: int, message: Any) -> None:
        """Hand a task to one of the workers."""

    @abstractmethod
    def receive(self, timeout: float | None) -> tuple[int, int, Any]:
        """The next result: the task's number, the worker's, and what it sent.

        Raises:
            RuntimeError: A worker has ended by itself, or nothing came in time.
        """

    @abstractmethod
    def close(self) -> None:
        """End the workers. May be called from any thread, and more than once."""


def stopped() -> errors.WorkerFailed:
    """A result was asked for after the workers had ended."""
    return errors.WorkerFailed(
        "the workers of this DataLoader iterator have been stopped",
        help=["make another iterator: `iter(loader)`"],
    )


def timed_out(seconds: float, word: str) -> errors.WorkerFailed:
    """No worker had a batch ready in time."""
    return errors.WorkerFailed(
        f"DataLoader timed out after {seconds:g} seconds: no worker {word} had a batch ready",
        help=[
            "give more time with `timeout=` (0 waits for ever), more workers, or smaller batches; "
            "with num_workers=0 a debugger shows where a sample hangs"
        ],
    )
