"""Samplers: in which order a data set's samples are read, and which of them.

>>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
[[0, 1], [2, 3], [4]]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from lamina import dtypes, errors
from lamina.core.tensor import Tensor
from lamina.devices import CPU
from lamina.ops.data import as_tensor
from lamina.ops.draws import source_of
from lamina.ops.random import Generator, multinomial, randint, randperm

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
    "random_seed",
]

Index = TypeVar("Index", covariant=True)

# How many numbers PyTorch draws at a time with replacement: it decides which words they use.
_BLOCK = 32


def random_seed(generator: Generator | None) -> int:
    """A whole number from 0 to 2**63 - 1: what `random_()` draws for one int64 element."""
    return int(source_of(generator, CPU).random_full((), dtypes.int64.numpy))


class Sampler(Generic[Index]):
    """A subclass defines `__iter__()`, which gives indices, and mostly `__len__()`."""

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError(f"{type(self).__name__} has no `__iter__`")


class SequentialSampler(Sampler[int]):
    """The indices in order."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random: each once, or drawn with replacement.

    Args:
        data_source: The data set, of which only the length is asked.
        replacement: Whether an index may come twice.
        num_samples: How many are drawn; without it as many as there are. Without replacement and
            beyond that number, the data set is gone through again, in another order.
        generator: Where the random numbers come from; without it, a new one seeded from the
            default one, each time.

    Raises:
        TypeError: `replacement` is no bool.
        ValueError: `num_samples` is no positive whole number, or the data set is empty.
    """

    data_source: Sized

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
        generator: Any = None,
    ) -> None:  # fmt: skip
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise errors.ArgumentTypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        _check_count("num_samples", self.num_samples, f"{type(data_source).__name__} is empty")

    @property
    def num_samples(self) -> int:
        """How many indices are drawn. The data set may have grown since."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, wanted = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(random_seed(None))
        if self.replacement:
            for start in range(0, wanted, _BLOCK):
                size = min(_BLOCK, wanted - start)
                yield from randint(count, (size,), generator=generator).tolist()
            return
        for _ in range(wanted // count):
            yield from randperm(count, generator=generator).tolist()
        # PyTorch draws this order also where no index is left to take: the stream moves on.
        yield from randperm(count, generator=generator).tolist()[: wanted % count]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order, each once."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities proportional to weights.

    Args:
        weights: One for each index; their sum may be anything.
        num_samples: How many are drawn.
        replacement: Whether an index may come twice.
        generator: Where the random numbers come from.

    Raises:
        ValueError: `num_samples` is no positive whole number, `replacement` is no bool, or
            `weights` are not a flat sequence.
        RuntimeError: While drawing: a weight is negative, or more are wanted than there are.
    """

    weights: Tensor

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True,
        generator: Any = None,
    ) -> None:  # fmt: skip
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise errors.InvalidValue(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        found = as_tensor(weights, dtype=dtypes.float64)
        if found.ndim != 1:
            raise errors.InvalidValue(
                f"weights should be a 1d sequence but given weights have shape {tuple(found.shape)}"
            )
        self.weights = found
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`.

    Args:
        sampler: Any iterable of indices.
        batch_size: How many indices a list has.
        drop_last: Whether to leave out the last list if it is shorter.

    Raises:
        ValueError: `batch_size` is no positive whole number, or `drop_last` no bool.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise errors.InvalidValue(
                f"drop_last should be a boolean value, but got drop_last={drop_last}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _check_count(name: str, value: Any, if_zero: str = "") -> None:
    """Raise for what is no positive whole number; `if_zero` says what is wrong with zero."""
    if type(value) is bool or not isinstance(value, int) or value <= 0:
        because = f": {if_zero}" if if_zero and value == 0 else ""
        raise errors.InvalidValue(
            f"{name} should be a positive integer value, but got {name}={value}{because}"
        )
