"""What a worker is and does: it seeds its random numbers, and then makes batch after batch."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.core.streams import seed_all, use_own_streams
from lamina.devices.thread_count import set_num_threads
from lamina.utils.data._utils.fetch import Reading

__all__ = ["Ended", "Failure", "Resume", "Setup", "WorkerInfo", "get_worker_info", "work"]


@final
@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself.

    Attributes:
        id: Its number, from 0 on.
        num_workers: How many workers there are.
        seed: What its random numbers started from: the loader's seed of this epoch and `id`.
        dataset: Its own copy of the data set: another process's, or a shallow one in a thread.
        rng: Always None, as in PyTorch's worker processes.
        worker_method: "thread" or "multiprocessing".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


@final
class _Here(threading.local):
    info: WorkerInfo | None = None


_here: Final = _Here()
_of_process: list[WorkerInfo] = []


def get_worker_info() -> WorkerInfo | None:
    """What the worker that asks knows of itself; None where nobody is a worker of a loader.

    >>> get_worker_info() is None
    True
    """
    return _here.info or next(iter(_of_process), None)


@final
@dataclass(frozen=True)
class Setup:
    """What all workers of a loader are told at their start."""

    reading: Reading
    count: int
    base_seed: int
    prepare: Callable[[int], Any] | None


@final
@dataclass(frozen=True)
class Resume:
    """To a worker: a new epoch begins. Back from it: what follows belongs to the new epoch."""


@final
@dataclass(frozen=True)
class Ended:
    """From a worker: its stream has no more samples."""


@final
@dataclass(frozen=True)
class Failure:
    """From a worker: what was raised where a batch should have been made.

    Args:
        is_final: Whether the worker could not even begin, and has ended.
    """

    error: BaseException
    is_final: bool = False


def work(
    setup: Setup,
    number: int,
    is_process: bool,
    receive: Callable[[], Any],
    send: Callable[[int, int, Any], None],
) -> None:
    """The life of a worker: a batch for each task, until `receive` gives None.

    Args:
        receive: Gives the next task, a number and the indices; or `Resume()`.
        send: Takes the task's number, the worker's, and a batch, `Ended`, `Failure` or `Resume`.
    """
    try:
        dataset = _begin(setup, number, is_process)
        if setup.prepare is not None:
            setup.prepare(number)
        reader = setup.reading.start(dataset)
    except BaseException as error:
        send(-1, number, Failure(error, is_final=True))
        return
    while (task := receive()) is not None:
        if isinstance(task, Resume):
            reader = setup.reading.start(dataset)
            send(-1, number, task)
            continue
        position, indices = task
        result: Any
        try:
            result = reader.read(indices)
        except StopIteration as stop:
            result = Ended() if setup.reading.is_stream else Failure(stop)
        except BaseException as error:
            result = Failure(error)
        send(position, number, result)
        del task, result  # a batch must not live here until the next one is there


def _begin(setup: Setup, number: int, is_process: bool) -> Any:
    """Make the current thread, or process, a worker; gives its data set."""
    seed = setup.base_seed + number
    dataset = setup.reading.dataset
    method = "multiprocessing"
    if is_process:
        set_num_threads(1)  # there are enough processes
        seed_all(seed)
        random.seed(seed)
        low, high = setup.base_seed & 0xFFFFFFFF, setup.base_seed >> 32
        words = np.random.SeedSequence([number, low, high, 0]).generate_state(4)
        np.random.seed(words)  # noqa: NPY002 -- the stream that data sets use
    else:
        # Python's and NumPy's own streams belong to all threads: seeding them would disturb others.
        use_own_streams(seed)
        dataset = setup.reading.own_copy()
        method = "thread"
    info = WorkerInfo(number, setup.count, seed, dataset, None, method)
    if is_process:
        _of_process[:] = [info]
    else:
        _here.info = info
    return dataset
