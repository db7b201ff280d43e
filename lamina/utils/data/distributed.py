"""A sampler for programs of several processes: each reads its own part of a data set."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from lamina import errors
from lamina.ops.random import Generator, randperm
from lamina.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, beginning with the `rank`-th; in an order common to all.

    Call `set_epoch(epoch)` before each epoch: the order depends on `seed + epoch`.

    Args:
        dataset: The data set, of which only the length is asked.
        num_replicas: How many processes read; without it, those of the default process group.
        rank: Which of them this one is; without it, its rank in the default process group.
        shuffle: Whether the order is random.
        seed: The same in all processes.
        drop_last: Leave out what does not divide evenly, instead of reading some samples twice.

    Raises:
        ValueError: `rank` is not from 0 to `num_replicas - 1`; or one of the two is not given, and
            there is no process group.

    >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None,
        shuffle: bool = True, seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        replicas = _of_group("get_world_size") if num_replicas is None else num_replicas
        own = _of_group("get_rank") if rank is None else rank
        if not 0 <= own < replicas:
            raise errors.InvalidValue(
                f"Invalid rank {own}, rank should be in the interval [0, {replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = replicas
        self.rank = own
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        count = len(dataset)
        # Without the rest, each part loses as many as the shortest one lacks.
        whole = count - count % replicas if drop_last else count
        self.num_samples = math.ceil(whole / replicas)
        self.total_size = self.num_samples * replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if not self.drop_last and count:
            indices *= math.ceil(self.total_size / count)
        return iter(indices[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Which order comes next, where it is random."""
        self.epoch = epoch


def _of_group(question: str) -> int:
    """What the default process group answers, if the program has made one."""
    # Whoever made a group has loaded the module: nobody else needs it here.
    module = sys.modules.get("lamina.distributed")
    if module is None:
        raise errors.InvalidValue(
            "DistributedSampler: Default process group has not been initialized, please make sure "
            "to call init_process_group.",
            help=["or say it: DistributedSampler(dataset, num_replicas=..., rank=...)"],
        )
    answer: int = getattr(module, question)()
    return answer
