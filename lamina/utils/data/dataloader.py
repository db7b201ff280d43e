"""Loading data: batches of a data set's samples, read here or by workers.

>>> import lamina
>>> loader = DataLoader(TensorDataset(lamina.arange(5)), batch_size=2)
>>> [batch.tolist() for (batch,) in loader]
[[0, 1], [2, 3], [4]]
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar, final

from lamina import errors
from lamina.core.warning import warn
from lamina.utils.data._utils.collate import default_collate, default_convert
from lamina.utils.data._utils.fetch import Reading
from lamina.utils.data._utils.iterators import LoaderIterator, SingleIterator, WorkerIterator
from lamina.utils.data._utils.worker import get_worker_info
from lamina.utils.data.dataset import IterableDataset, TensorDataset
from lamina.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "TensorDataset", "default_collate", "default_convert", "get_worker_info"]

Item = TypeVar("Item", covariant=True)

_FIXED: Final = frozenset(
    {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}
)


class DataLoader(Generic[Item]):
    """Batches of a data set's samples, in the order of a sampler.

    Each `iter(loader)` is an epoch of its own. Order and random numbers are PyTorch's for the same
    seed, with any number of workers.

    Args:
        dataset: A `Dataset`, or anything with `__getitem__` and `__len__`; or an `IterableDataset`.
        batch_size: How many samples make a batch. None: samples come one by one, as they are.
        shuffle: Whether the order is random, anew in each epoch.
        sampler: The indices to read, in order: instead of `shuffle`.
        batch_sampler: The lists of indices to read: instead of the four that say what they are.
        num_workers: How many workers read ahead. 0: the thread that asks reads itself.
        collate_fn: Makes a batch of a list of samples; without it `default_collate`, or
            `default_convert` where there are no batches.
        pin_memory: Accepted; nothing here is pinned.
        drop_last: Whether to leave out the last batch if it is shorter.
        timeout: How many seconds to wait for a worker's batch; 0: for ever.
        worker_init_fn: Called in each worker with its number, before it reads.
        multiprocessing_context: Without it workers are threads. "fork", "spawn", "forkserver" or a
            context of `multiprocessing`: they are processes, started that way.
        generator: Where the order and the workers' seeds come from.
        prefetch_factor: How many batches each worker reads ahead; without it 2.
        persistent_workers: Whether workers live on from one epoch to the next.
        pin_memory_device: Accepted, as `pin_memory` is.
        in_order: Whether batches come in the sampler's order where a later one is ready earlier.

    Raises:
        ValueError: Arguments that exclude each other, or a number out of its range.
        TypeError: An argument of the wrong type.
        RuntimeError: While reading: nothing came within `timeout`, or a worker process was killed.

    What a data set raises is raised by `next`, also if a worker read it: the same exception, with a
    note that names the data set, the index and the worker.
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None, multiprocessing_context: Any = None,
        generator: Any = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            _check_stream(shuffle, sampler, batch_sampler)
        _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        default = default_convert if batch_sampler is None else default_collate
        self.collate_fn = default if collate_fn is None else collate_fn
        self._iterator: LoaderIterator | None = None
        self._announced: int | None = None  # how many batches `len` said that a stream has
        self._is_fixed = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool) -> Iterable[Any]:
        if self._is_stream:
            return _Unending()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_is_fixed"):
            raise errors.InvalidValue(
                f"{name} attribute should not be set after {type(self).__name__} is initialized",
                help=["make another loader"],
            )
        object.__setattr__(self, name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started; None: workers are threads."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, wanted: Any) -> None:
        self._context = None if wanted is None else _context_of(wanted, self.num_workers)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Item]:
        iterator: Any = self._iterator
        if not (self.persistent_workers and self.num_workers):
            return self._get_iterator()
        if iterator is not None and iterator.is_open:
            iterator.again(self._announced)
            return iterator
        self._iterator = self._get_iterator()
        return self._iterator

    def _get_iterator(self) -> Any:
        reading = Reading(
            self.dataset, self._is_stream, self._auto_collation, self.collate_fn, self.drop_last
        )
        return (WorkerIterator if self.num_workers else SingleIterator)(self, reading)

    def __len__(self) -> int:
        if not self._is_stream:
            return len(self._index_sampler)
        length, size = len(self.dataset), self.batch_size or 1
        self._announced = length // size if self.drop_last else -(-length // size)
        return self._announced

    def check_worker_number_rationality(self) -> None:
        """Warn if there are to be many more worker processes than cores."""
        if self.multiprocessing_context is None or self.num_workers <= _cores():
            return
        warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. Our "
            f"suggested max number of worker in current system is {_cores()}: more of them only "
            "wait for each other"
        )


@final
class _Unending(Sampler[None]):
    """Stands for indices where there are none: a stream is read to its end."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- arguments ------------------------------------------------------------------------------------


def _check_workers(
    num_workers: Any, timeout: float, prefetch_factor: int | None, is_persistent: bool
) -> None:
    if not isinstance(num_workers, int):
        raise errors.ArgumentTypeError(
            f"num_workers option should be a whole number, but got num_workers={num_workers!r}"
        )
    if num_workers < 0:
        raise errors.InvalidValue(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise errors.InvalidValue("timeout option should be non-negative")
    if prefetch_factor is not None:
        if num_workers == 0:
            raise errors.InvalidValue(
                "prefetch_factor option could only be specified in multiprocessing: without "
                "workers nothing is read ahead",
                help=["let num_workers > 0, or leave prefetch_factor out"],
            )
        if prefetch_factor <= 0:
            raise errors.InvalidValue(
                "prefetch_factor option should be non-negative, and not 0: a worker that may read "
                "nothing ahead never starts"
            )
    if is_persistent and num_workers == 0:
        raise errors.InvalidValue("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    for name, value, help in (
        ("shuffle", shuffle, "shuffle in the data set's `__iter__`, for example in a buffer"),
        ("sampler", sampler, "a stream has no indices for a sampler to choose"),
        ("batch_sampler", batch_sampler, "a stream has no indices for a sampler to choose"),
    ):
        if value is not None and value is not False:
            raise errors.InvalidValue(
                "DataLoader with IterableDataset: expected unspecified "
                f"{name} option, but got {name}={value}",
                help=[help],
            )


def _check_sampling(
    batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if sampler is not None and shuffle:
        raise errors.InvalidValue(
            "sampler option is mutually exclusive with shuffle",
            help=["the sampler says the order: for a random one, give it a RandomSampler"],
        )
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler or drop_last):
        raise errors.InvalidValue(
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
            "drop_last"
        )
    if batch_sampler is None and batch_size is None and drop_last:
        raise errors.InvalidValue(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _context_of(wanted: Any, num_workers: int) -> Any:
    """The context of `multiprocessing` that an argument names, or is."""
    if num_workers == 0:
        raise errors.InvalidValue(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(wanted, str):
        methods = multiprocessing.get_all_start_methods()
        if wanted not in methods:
            raise errors.InvalidValue(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods}, but got multiprocessing_context={wanted!r}"
            )
        return multiprocessing.get_context(wanted)
    if not isinstance(wanted, multiprocessing.context.BaseContext):
        raise errors.ArgumentTypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={wanted}"
        )
    return wanted
