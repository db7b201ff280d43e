"""Poisson counts, drawn number by number from the same stream of uniform numbers as PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from lamina.core.generator import Generator

_BLOCK = 1024
_REJECTION_FROM = 10.0
"""From this rate on a count is proposed and accepted or not; below, uniform numbers multiply."""


class _Uniforms:
    """Uniform numbers of a stream one by one; `finish` leaves the stream where they end.

    They are drawn in blocks from a copy of the stream, since how many are needed is known last.
    """

    def __init__(self, stream: Generator) -> None:
        self._stream = stream
        self._drawn = 0
        self.next = self._numbers(stream.clone()).__next__

    def _numbers(self, copy: Generator) -> Iterator[float]:
        while True:
            for number in copy.uniform((_BLOCK,), np.float64).tolist():
                self._drawn += 1
                yield number

    def finish(self) -> None:
        """Take what was used from the stream itself."""
        self._stream.uniform((self._drawn,), np.float64)


def poisson(stream: Generator, rates: Any) -> Any:
    """A count for each rate of a host array, in its dtype."""
    uniforms = _Uniforms(stream)
    counts = [_count(rate, uniforms) for rate in rates.astype(np.float64).reshape(-1).tolist()]
    uniforms.finish()
    return np.array(counts, np.float64).astype(rates.dtype).reshape(rates.shape)


def _count(rate: float, uniforms: _Uniforms) -> float:
    if rate == 0.0 or rate == math.inf:
        return rate
    return _accepted(rate, uniforms) if rate >= _REJECTION_FROM else _multiplied(rate, uniforms)


def _multiplied(rate: float, uniforms: _Uniforms) -> float:
    """Knuth: how many uniform numbers have a product above exp(-rate)."""
    limit, product, count = math.exp(-rate), uniforms.next(), 0.0
    while product > limit:
        count += 1.0
        product *= uniforms.next()
    return count


def _accepted(rate: float, uniforms: _Uniforms) -> float:
    """Hörmann (1993), "The transformed rejection method for generating Poisson variables": PTRS."""
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, v = uniforms.next() - 0.5, uniforms.next()
        distance = 0.5 - abs(u)
        if distance <= 0.0:
            continue
        count = float(math.floor((2.0 * a / distance + b) * u + rate + 0.43))
        if distance >= 0.07 and v <= sure:
            return count
        if count < 0.0 or (distance < 0.013 and v > distance):
            continue
        if v <= 0.0:
            return count
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (distance * distance) + b)
        if left <= -rate + count * log_rate - math.lgamma(count + 1.0):
            return count
