"""Random numbers one by one, from the same stream as whole arrays of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import final

import numpy as np

from lamina.core.generator import Generator

_BLOCK = 1024


@final
class SingleNumbers:
    """Uniform and normal numbers of a stream one by one; `finish` leaves the stream where they end.

    They are drawn in blocks from a copy of the stream, since how many are needed is known last.
    """

    def __init__(self, stream: Generator) -> None:
        self._stream = stream
        self._drawn = 0
        self._second = stream.kept_normal
        self.uniform = self._numbers(stream.clone()).__next__

    def _numbers(self, copy: Generator) -> Iterator[float]:
        while True:
            for number in copy.uniform((_BLOCK,), np.float64).tolist():
                self._drawn += 1
                yield number

    def normal(self) -> float:
        """A standard normal number: one of a pair from two uniform numbers (Box and Muller)."""
        if self._second is not None:
            number, self._second = self._second, None
            return number
        angle, radius = 2.0 * math.pi * self.uniform(), self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-radius))
        self._second = radius * math.sin(angle)
        return radius * math.cos(angle)

    def finish(self) -> None:
        """Take what was used from the stream itself."""
        self._stream.uniform((self._drawn,), np.float64)
        self._stream.kept_normal = self._second
