"""Sample inputs: each operation's declaration carries some, and its tests are made from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np


@final
class Sample:
    """One call of an operation: arrays stand where tensors go."""

    __slots__ = ("args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs


def sample(*args: Any, **kwargs: Any) -> Sample:
    """A sample call with these arguments."""
    return Sample(args, kwargs)


@final
class Make:
    """Makes float64 arrays of a shape; seeded, so that a failing sample comes again."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def __call__(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Any:
        """Uniform numbers between `low` and `high`."""
        return np.asarray(self._random.uniform(low, high, shape))

    def distinct(self, *shape: int) -> Any:
        """Numbers of which no two are closer than 0.1: no ties, and far from kinks at 0."""
        count = int(np.prod(shape))
        return (self._random.permutation(count) * 0.1 - count * 0.05 + 0.03).reshape(shape)

    def integers(self, *shape: int, low: int = 0, high: int = 10) -> Any:
        """int64 numbers from `low` up to, not including, `high`."""
        return np.asarray(self._random.integers(low, high, shape))

    def booleans(self, *shape: int) -> Any:
        """Truth values."""
        return np.asarray(self._random.integers(0, 2, shape) == 1)

    def positive_definite(self, *shape: int) -> Any:
        """Symmetric matrices with eigenvalues well above zero; the last two lengths are equal."""
        root = self._random.normal(size=shape)
        return root @ np.swapaxes(root, -1, -2) + shape[-1] * np.eye(shape[-1])


Samples = Callable[[Make], list[Sample]]


def unary_samples(low: float = -2.0, high: float = 2.0) -> Samples:
    """Samples of a pointwise operation on one tensor, within its domain."""
    return lambda make: [
        sample(make(3, 4, low=low, high=high)),
        sample(make(low=low, high=high)),
        sample(make(0, 2, low=low, high=high)),
    ]


def binary_samples(low: float = -2.0, high: float = 2.0) -> Samples:
    """Samples of a pointwise operation on two tensors: equal shapes, broadcasting, numbers."""
    return lambda make: [
        sample(make(3, 4, low=low, high=high), make(3, 4, low=low, high=high)),
        sample(make(3, 1, low=low, high=high), make(1, 4, low=low, high=high)),
        sample(make(2, 3, low=low, high=high), make(low=low, high=high)),
        sample(make(2, 3, low=low, high=high), 1.5),
    ]


def without_numbers(samples: Samples) -> Samples:
    """Those of an operation's samples that have arrays only, for one that takes no numbers."""
    return lambda make: [s for s in samples(make) if all(hasattr(a, "dtype") for a in s.args)]
