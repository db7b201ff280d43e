"""Workers in threads of this process: nothing is copied, and they start in microseconds."""

from __future__ import annotations

import queue
import threading
from typing import Any, final

from lamina.utils.data._utils.pool import Pool, stopped, timed_out
from lamina.utils.data._utils.worker import Setup, work

__all__ = ["ThreadPool"]


@final
class _Tasks:
    """The tasks of one worker; when closed, those that wait are dropped."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._is_open = True

    def put(self, task: Any) -> None:
        self._waiting.put(task)

    def get(self) -> Any:
        task = self._waiting.get()
        return task if self._is_open else None

    def close(self) -> None:
        self._is_open = False
        self._waiting.put(None)


@final
class ThreadPool(Pool):
    """Threads that end when the pool is closed, after the sample that each is at.

    They know their queues and not the pool, so that a loader's iterator that nobody holds any more
    is collected, and closes it.
    """

    word = "thread"

    def __init__(self, setup: Setup) -> None:
        self._results: queue.SimpleQueue[tuple[int, int, Any]] = queue.SimpleQueue()
        self._tasks = [_Tasks() for _ in range(setup.count)]
        put = self._results.put
        for number, tasks in enumerate(self._tasks):
            threading.Thread(
                target=work,
                args=(setup, number, False, tasks.get, lambda *result: put(result)),
                name=f"DataLoader worker {number}",
                daemon=True,
            ).start()

    def send(self, worker: int, message: Any) -> None:
        self._tasks[worker].put(message)

    def receive(self, timeout: float | None) -> tuple[int, int, Any]:
        if not self.is_open:
            raise stopped()
        try:
            return self._results.get(timeout=timeout)
        except queue.Empty:
            raise timed_out(timeout or 0, self.word) from None

    def close(self) -> None:
        self.is_open = False
        for tasks in self._tasks:
            tasks.close()
