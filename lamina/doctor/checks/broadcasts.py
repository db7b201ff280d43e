"""Columns and rows that become matrices without a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library

LOOKS: Final = 3


@final
class BroadcastCheck(Check):
    """Looks through the graphs of the first passes for (N, 1) against (N,), which gives (N, N)."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._looks = 0

    def backward(self, roots: Sequence[Any]) -> None:
        if self._looks == LOOKS:
            return
        self._looks += 1
        for root in roots:
            for node in self._library.nodes_behind(root):
                shapes = self._library.operand_shapes(node)
                if shapes is not None and _is_outer(*shapes):
                    self._looks = LOOKS
                    self._report(node, *shapes)
                    return

    def _report(self, node: Any, first: tuple[int, ...], second: tuple[int, ...]) -> None:
        row, column = sorted((first, second), key=len)
        place = self._library.node_place(node)
        shapes = f"{list(column)} and {list(row)}"
        self.report(
            Finding(
                Fault.OUTER_BROADCAST,
                f"shapes {shapes} were broadcast to {[*column[:-1], row[-1]]}: every element of "
                "one meets every element of the other",
                () if place is None else ((place, f"{shapes} meet here"),),
                (
                    "give both one shape: `.squeeze(-1)` for the one with the last axis of size 1, "
                    "or `.unsqueeze(-1)` for the other",
                ),
            )
        )


def _is_outer(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether one shape is (..., N, 1) and the other one (..., N): the same, less the last axis."""
    row, column = sorted((first, second), key=len)
    return (
        len(column) == len(row) + 1
        and len(row) > 0
        and column[-1] == 1
        and row[-1] > 1
        and column[:-1] == row
    )
