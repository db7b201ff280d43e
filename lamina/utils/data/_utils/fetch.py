"""Reading the samples of one batch, and making the batch."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lamina.core.tensor import Tensor
from lamina.utils.data._utils.collate import default_collate
from lamina.utils.data.dataset import Subset, TensorDataset

__all__ = ["Reader", "Reading"]


class Reader(ABC):
    """Reads batches, or single samples, from a data set."""

    @abstractmethod
    def read(self, indices: Any) -> Any:
        """The batch of some indices. Raises StopIteration at the end of a stream."""


@final
@dataclass(frozen=True)
class Reading:
    """How a loader's data set is read.

    Args:
        is_stream: Whether it has no indices.
        is_batched: Whether samples are gathered in batches.
        collate: Makes a batch of a list of samples, or something of a single one.
        drop_last: Whether a stream's last batch is left out if it is shorter.
    """

    dataset: Any
    is_stream: bool
    is_batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool

    def start(self, dataset: Any) -> Reader:
        """A reader at the beginning of the data set, or of a worker's copy of it."""
        return _StreamReader(self, dataset) if self.is_stream else _IndexedReader(self, dataset)

    def own_copy(self) -> Any:
        """The data set with attributes of its own, which hold the same objects."""
        dataset = self.dataset
        if isinstance(dataset, Tensor | np.ndarray | list | tuple | dict | range | str):
            return dataset
        try:
            return copy.copy(dataset)
        except Exception:
            return dataset  # some classes cannot be copied: then it is shared


@final
class _IndexedReader(Reader):
    """Reads by index."""

    def __init__(self, reading: Reading, dataset: Any) -> None:
        self._dataset = dataset
        self._is_batched = reading.is_batched
        self._collate = reading.collate
        is_plain = reading.is_batched and reading.collate is default_collate
        self._rows = _rows_of(dataset) if is_plain else None

    def read(self, indices: Any) -> Any:
        if self._rows is not None:
            batch = self._rows_at(indices)
            if batch is not None:
                return batch
        samples = self._samples(indices) if self._is_batched else self._sample(indices, None)
        try:
            return self._collate(samples)
        except Exception as error:
            error.add_note(
                f"while a batch of {_name(self._dataset)} was made, at {_short(indices)}"
            )
            raise

    def _samples(self, indices: Any) -> Any:
        together = getattr(self._dataset, "__getitems__", None)
        if not together:
            return [self._sample(index, indices) for index in indices]
        try:
            return together(indices)
        except Exception as error:
            error.add_note(f"raised by {_name(self._dataset)}, at the indices {_short(indices)}")
            raise

    def _sample(self, index: Any, batch: Any) -> Any:
        try:
            return self._dataset[index]
        except Exception as error:
            among = "" if batch is None or len(batch) == 1 else f", in the batch {_short(batch)}"
            error.add_note(f"raised by {_name(self._dataset)}, at index {index!r}{among}")
            raise

    def _rows_at(self, indices: Any) -> list[Tensor] | None:
        """The batch by one indexing of each tensor: the same values, many times faster."""
        tensors, within = self._rows  # type: ignore[misc]
        if any(type(index) is not int for index in indices):
            return None
        try:
            positions = indices if within is None else [within[index] for index in indices]
            return [tensor[positions] for tensor in tensors]
        except (IndexError, TypeError):
            return None  # the plain way raises it again, and knows for which sample


def _rows_of(dataset: Any) -> tuple[tuple[Tensor, ...], Any] | None:
    """The tensors whose rows are the samples, and which rows; None for other data sets."""
    within = None
    if type(dataset) is Subset and type(dataset.indices) in (list, range):
        dataset, within = dataset.dataset, dataset.indices
    if type(dataset) is not TensorDataset or not dataset.tensors:
        return None
    tensors = dataset.tensors
    # Where a graph is recorded, it should be the one of single samples.
    if any(type(tensor) is not Tensor or tensor.requires_grad for tensor in tensors):
        return None
    return tensors, within


@final
class _StreamReader(Reader):
    """Reads from the iterator of a stream."""

    def __init__(self, reading: Reading, dataset: Any) -> None:
        self._name = _name(dataset)
        self._iterator = iter(dataset)
        self._is_batched = reading.is_batched
        self._collate = reading.collate
        self._drop_last = reading.drop_last
        self._is_over = False

    def read(self, indices: Any) -> Any:
        if self._is_over:
            raise StopIteration
        samples = self._samples(len(indices)) if self._is_batched else self._sample()
        try:
            return self._collate(samples)
        except Exception as error:
            error.add_note(f"while a batch of {self._name} was made")
            raise

    def _samples(self, wanted: int) -> list[Any]:
        found: list[Any] = []
        while len(found) < wanted:
            try:
                found.append(self._sample())
            except StopIteration:
                self._is_over = True
                if not found or self._drop_last:
                    raise
                break
        return found

    def _sample(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            raise
        except Exception as error:
            error.add_note(f"raised by the iterator of {self._name}")
            raise


def _name(dataset: Any) -> str:
    return f"the data set {type(dataset).__name__}"


def _short(indices: Any) -> str:
    text = repr(indices)
    return text if len(text) <= 80 else text[:60] + f"...] ({len(indices)} in all)"
