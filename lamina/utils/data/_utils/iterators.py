"""What `iter(loader)` gives: one epoch, read here or by workers."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Final, final

from lamina import errors
from lamina.core.warning import warn
from lamina.utils.data._utils.fetch import Reading
from lamina.utils.data._utils.pool import Pool
from lamina.utils.data._utils.processes import ProcessPool
from lamina.utils.data._utils.threads import ThreadPool
from lamina.utils.data._utils.worker import Ended, Failure, Resume, Setup
from lamina.utils.data.sampler import random_seed

__all__ = ["LoaderIterator", "SingleIterator", "WorkerIterator"]


class LoaderIterator(ABC):
    """An epoch of a loader, batch by batch.

    It does not hold the loader, which may hold it: who drops the loader drops both at once.
    """

    def __init__(self, loader: Any, reading: Reading) -> None:
        self._count = 0
        self._announced: int | None = loader._announced
        self._reading = reading
        self._sampler = loader._index_sampler
        # Drawn in every case, so that the number of workers does not change what follows.
        self._base_seed = random_seed(loader.generator)
        self._indices: Iterator[Any] = iter(())

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        batch = self._next()
        self._count += 1
        if self._announced is not None and self._count == self._announced + 1:
            self._warn_of_length(self._announced)
        return batch

    def __len__(self) -> int:
        return len(self._sampler)

    @abstractmethod
    def _next(self) -> Any:
        """The next batch; StopIteration at the end."""

    def _warn_of_length(self, announced: int) -> None:
        dataset = self._reading.dataset
        warn(
            errors.DatasetWarning(
                f"Length of IterableDataset {type(dataset).__name__} was reported to be "
                f"{announced} (when accessing len(dataloader)), but {self._count} samples have "
                "been fetched (batches, where they are gathered in such)",
                help=[
                    "with several workers, each reads the whole stream unless its `__iter__` asks "
                    "`get_worker_info()` for its part"
                ],
            )
        )


@final
class SingleIterator(LoaderIterator):
    """Reads in the thread that asks."""

    def __init__(self, loader: Any, reading: Reading) -> None:
        super().__init__(loader, reading)
        self._indices = iter(self._sampler)
        self._reader = reading.start(reading.dataset)

    def _next(self) -> Any:
        return self._reader.read(next(self._indices))


@final
class _Task:
    """A batch that a worker was asked for, and what it sent."""

    __slots__ = ("result", "worker")

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.result: Any = _NOTHING_YET


_NOTHING_YET: Final = object()


@final
class WorkerIterator(LoaderIterator):
    """Has workers read ahead: `prefetch_factor` batches each.

    Tasks go round the workers, so that which worker makes which batch does not depend on time.
    """

    def __init__(self, loader: Any, reading: Reading) -> None:
        super().__init__(loader, reading)
        self._workers: int = loader.num_workers
        self._most = loader.prefetch_factor * self._workers
        self._timeout = loader.timeout or None
        self._in_order: bool = loader.in_order
        self._is_persistent: bool = loader.persistent_workers
        setup = Setup(reading, self._workers, self._base_seed, loader.worker_init_fn)
        context = loader.multiprocessing_context
        self._pool: Pool = ThreadPool(setup) if context is None else ProcessPool(setup, context)
        # Runs when nobody holds this iterator any more, and at the latest at the program's end.
        self._close = weakref.finalize(self, self._pool.close)
        self._begin()

    def _begin(self) -> None:
        self._indices = iter(self._sampler)
        self._sent = self._due = 0
        self._tasks: dict[int, _Task] = {}
        self._load = [0] * self._workers
        self._is_active = [True] * self._workers
        self._last = -1
        for _ in range(self._most):
            self._ask()

    @property
    def is_open(self) -> bool:
        """Whether the workers are there, for this epoch or another one."""
        return self._pool.is_open

    def again(self, announced: int | None) -> None:
        """Begin another epoch with the same workers; what is left of the last one is dropped.

        Args:
            announced: How many batches the loader said that there are.
        """
        self._count, self._announced = 0, announced
        for worker in range(self._workers):
            self._pool.send(worker, Resume())
        waiting = self._workers
        while waiting:
            waiting -= isinstance(self._received()[2], Resume)
        self._begin()

    def _next(self) -> Any:
        while self._has_due():
            task = self._tasks[self._due]
            if task.result is not _NOTHING_YET:
                del self._tasks[self._due]
                return self._given(task)
            position, worker, result = self._received()
            self._load[worker] -= 1
            if isinstance(result, Ended):
                if self._is_active[worker]:  # it says so for each task that it still has
                    self._is_active[worker] = False
                    self._ask()
                continue
            self._tasks[position].result = result
            if not self._in_order:
                return self._given(self._tasks.pop(position))
        if not self._is_persistent:
            self._close()
        raise StopIteration

    def _received(self) -> tuple[int, int, Any]:
        """The next result of any worker. If one could not begin, that is an error at once."""
        position, worker, result = self._pool.receive(self._timeout)
        if isinstance(result, Failure) and result.is_final:
            self._close()
            raise self._from_worker(result.error, worker)
        return position, worker, result

    def _has_due(self) -> bool:
        """Go to the next task of which a result is there or may come; False at the end."""
        while self._due < self._sent:
            task = self._tasks.get(self._due)
            if task is not None:
                if task.result is not _NOTHING_YET or self._is_active[task.worker]:
                    return True
                del self._tasks[self._due]  # its worker's stream had ended
            self._due += 1
        return False

    def _given(self, task: _Task) -> Any:
        self._ask()
        if isinstance(task.result, Failure):
            raise self._from_worker(task.result.error, task.worker)
        return task.result

    def _ask(self) -> None:
        """Ask the next worker for the next batch, if there is one."""
        worker = self._next_worker()
        if worker is None:
            return
        indices = next(self._indices, _NOTHING_YET)
        if indices is _NOTHING_YET:
            return
        self._last = worker
        self._pool.send(worker, (self._sent, indices))
        self._tasks[self._sent] = _Task(worker)
        self._load[worker] += 1
        self._sent += 1

    def _next_worker(self) -> int | None:
        """The next worker round the table whose stream has not ended; out of order, a free one."""
        active = sum(self._is_active)
        for step in range(1, self._workers + 1):
            worker = (self._last + step) % self._workers
            if self._is_active[worker] and (
                self._in_order or self._load[worker] < self._most // active
            ):
                return worker
        return None

    def _from_worker(self, error: BaseException, worker: int) -> BaseException:
        """What a worker raised, to be raised here."""
        if not isinstance(error, Exception):
            return errors.WorkerFailed(
                f"DataLoader worker {self._pool.word} {worker} exited unexpectedly: the data set "
                f"raised {type(error).__name__}"
            )
        word = f"{self._pool.word} {worker}"
        error.add_note(f"Caught {type(error).__name__} in DataLoader worker {word}.")
        text = error.__dict__.pop("worker_traceback", None)
        if text is not None:
            error.__cause__ = _InWorker(text)
        return error


@final
class _InWorker(Exception):
    """Shows what happened in a worker's process, as the cause of the error here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        return f"\n{self.args[0]}"
