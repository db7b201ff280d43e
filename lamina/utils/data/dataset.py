"""Data sets: by index, or as streams; and data sets made of others.

>>> import lamina
>>> pairs = TensorDataset(lamina.arange(4), lamina.arange(4) * 10)
>>> pairs[3]
(tensor(3), tensor(30))
>>> first, second = random_split(pairs, [3, 1])
>>> len(first), len(second)
(3, 1)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.ops.random import default_generator, randperm

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

Item = TypeVar("Item", covariant=True)


class Dataset(Generic[Item]):
    """A collection of samples, read by index.

    A subclass defines `__getitem__(index)`, and `__len__()`, which samplers ask for. It may define
    `__getitems__(indices)`, which gives the list of samples of a whole batch.
    """

    def __getitem__(self, index: Any) -> Item:
        raise NotImplementedError(
            f"{type(self).__name__} has no `__getitem__`: "
            "Subclasses of Dataset should implement __getitem__."
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item], Iterable[Item]):
    """A stream of samples: a subclass defines `__iter__()`.

    With several workers, each iterates over a copy of the data set: `get_worker_info()` says in
    `__iter__` which part is whose.
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples are the rows of tensors, one of each.

    Args:
        tensors: Tensors of any dtype whose first sizes are the same: shapes (N, ...).

    Raises:
        AssertionError: The first sizes differ.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        for position, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise errors.MissingAttribute(
                    f"'{type(tensor).__name__}' object has no attribute 'size': argument "
                    f"{position} of TensorDataset is no tensor",
                    help=["make a tensor of it first: `torch.as_tensor(...)`"],
                )
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            sizes = ", ".join(str(tensor.size(0)) for tensor in tensors)
            raise errors.DatasetMismatch(
                f"Size mismatch between tensors: their first sizes are {sizes}",
                [(this_place(), "made here")],
                ["the first dimension counts the samples: it must be the same in all tensors"],
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Samples of several data sets side by side, as a tuple, or as a dict if they have names.

    Args:
        args: Data sets of one length; or
        kwargs: the same by name.

    Raises:
        ValueError: The lengths differ; there is no data set; some have names and some have not.

    >>> StackDataset(x=[1, 2], y=[3, 4])[1]
    {'x': 2, 'y': 4}
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise errors.InvalidValue(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given.",
                help=["give all data sets a name, or none"],
            )
        if not args and not kwargs:
            raise errors.InvalidValue("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in self._each()]
        self._length = lengths[0]
        if any(length != self._length for length in lengths):
            raise errors.InvalidValue(
                f"Size mismatch between datasets: their lengths are {lengths}"
            )

    def _each(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def _joined(self, parts: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, parts, strict=True))
        return tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._joined(dataset[index] for dataset in self._each())

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = [_items(dataset, indices) for dataset in self._each()]
        return [self._joined(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def _items(dataset: Any, indices: list[Any]) -> list[Any]:
    """The samples at several indices, all at once if the data set can do so."""
    together = getattr(dataset, "__getitems__", None)
    if not callable(together):
        return [dataset[index] for index in indices]
    found: list[Any] = together(indices)
    if len(found) != len(indices):
        raise errors.InvalidValue(
            "Nested dataset's output size mismatch. "
            f"Expected {len(indices)}, got {len(found)} from {type(dataset).__name__}.__getitems__"
        )
    return found


class ConcatDataset(Dataset[Item]):
    """Data sets one after the other.

    Raises:
        AssertionError: There is no data set, or one is an `IterableDataset`.

    >>> ConcatDataset(["ab", "cde"])[3]
    'd'
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise errors.DatasetMismatch("datasets should not be an empty iterable")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise errors.DatasetMismatch(
                    "ConcatDataset does not support IterableDataset: "
                    f"{type(dataset).__name__} has no indices",
                    help=["put streams one after the other with ChainDataset"],
                )
        self.cumulative_sizes = list(accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        length = len(self)
        if idx < -length:
            raise errors.InvalidValue(
                f"absolute value of index should not exceed dataset length: {idx} of {length}"
            )
        if idx >= length:
            raise errors.IndexOutOfRange(
                f"list index out of range: {idx}, and the data sets have {length} samples together"
            )
        position = idx + length if idx < 0 else idx
        which = bisect_right(self.cumulative_sizes, position)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][position - before]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The older spelling of `cumulative_sizes`."""
        warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._streams():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise errors.DatasetMismatch(
                    f"ChainDataset only supports IterableDataset, and {type(dataset).__name__} is "
                    "none",
                    help=["put data sets with indices one after the other with ConcatDataset"],
                )
            yield dataset


class Subset(Dataset[Item]):
    """The samples of a data set at some indices, in that order."""

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[k] for k in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        within = [self.indices[k] for k in indices]
        together = getattr(self.dataset, "__getitems__", None)
        return together(within) if callable(together) else [self.dataset[k] for k in within]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = default_generator
) -> list[Subset[Any]]:
    """Disjoint parts of a data set, drawn at random.

    Args:
        lengths: How many samples each part has; or fractions whose sum is 1. What rounding down
            leaves over goes to the first parts, one each.
        generator: Where the random numbers come from.

    Raises:
        ValueError: The lengths do not add up, one is negative, or a fraction is not in 0..1.
        TypeError: A length is no whole number.
    """
    counts = _counts(dataset, lengths)
    if sum(counts) != len(dataset):
        raise errors.InvalidValue(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"The sum of {list(lengths)} is {sum(lengths)}, and the data set has {len(dataset)} "
            "samples",
            help=["give lengths that add up to len(dataset), or fractions that add up to 1"],
        )
    for count in counts:
        if not isinstance(count, int):
            raise errors.ArgumentTypeError(
                f"random_split(): lengths must be whole numbers, not {type(count).__name__}",
                help=["fractions are taken for such if they add up to 1"],
            )
        if count < 0:
            raise errors.InvalidValue(f"random_split(): a length is negative: {count}")
    order = randperm(len(dataset), generator=generator).tolist()
    ends = list(accumulate(counts))
    return [
        Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)
    ]


def _counts(dataset: Any, lengths: Sequence[int | float]) -> list[int]:
    """The lengths in samples, where they may be fractions."""
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return list(lengths)  # type: ignore[arg-type]
    for position, fraction in enumerate(lengths):
        if not 0 <= fraction <= 1:
            raise errors.InvalidValue(f"Fraction at index {position} is not between 0 and 1")
    counts = [math.floor(len(dataset) * fraction) for fraction in lengths]
    for position in range(len(dataset) - sum(counts)):
        counts[position % len(counts)] += 1
    for position, count in enumerate(counts):
        if count == 0:
            warn(
                errors.DatasetWarning(
                    f"Length of split at index {position} is 0. "
                    "This might result in an empty dataset."
                )
            )
    return counts
