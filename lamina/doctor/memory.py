"""What a backward pass keeps in memory, by the lines of the program that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, final

from lamina.doctor.events import Check
from lamina.doctor.library import Library
from lamina.errors import Place

LOOKED_AT: Final = 2
"""Which pass is looked at: the first one may have set things up."""


@final
class MemoryCheck(Check):
    """Adds up the values that are kept for a backward pass; it finds no faults.

    Attributes:
        lines: (place, bytes) of lines of the program, the largest first.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._passes = 0
        self.lines: list[tuple[Place, int]] = []

    def backward(self, roots: Sequence[Any]) -> None:
        self._passes += 1
        if self._passes > LOOKED_AT:
            return
        by_line: Counter[tuple[str, int]] = Counter()
        places: dict[tuple[str, int], Place] = {}
        for node, nbytes in self._library.kept_bytes(roots):
            place = self._library.node_place(node)
            if place is not None and nbytes:
                key = place.file, place.line
                by_line[key] += nbytes
                places.setdefault(key, place)
        self.lines = [(places[key], nbytes) for key, nbytes in by_line.most_common()]
