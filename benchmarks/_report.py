"""What the benchmarks share: timing, versions, and a table to paste into docs/figures.md."""

from __future__ import annotations

import importlib.util
import platform
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

import lamina


def has_torch() -> bool:
    """Whether PyTorch is here to be compared with."""
    return importlib.util.find_spec("torch") is not None


def versions() -> str:
    """The versions that a figure belongs to."""
    parts = [f"lamina {lamina.__version__}", f"numpy {np.__version__}"]
    if has_torch():
        import torch

        parts.append(f"torch {torch.__version__}")
    return ", ".join([*parts, f"Python {platform.python_version()}", platform.machine()])


def best_seconds(
    functions: Sequence[Callable[[], object]], calls: int, rounds: int = 15, pause: float = 0.0
) -> list[float]:
    """The best time of a call of each function. Rounds are interleaved: slow drift cancels.

    Before each turn there may be a pause of some seconds, and a call that does not count: another
    library's threads look out for work for a while, on cores that they do not need any more.
    """
    best = [float("inf")] * len(functions)
    for function in functions:
        function()
    for _ in range(rounds):
        for index, function in enumerate(functions):
            if pause:
                time.sleep(pause)
                function()
            started = time.perf_counter()
            for _ in range(calls):
                function()
            best[index] = min(best[index], (time.perf_counter() - started) / calls)
    return best


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table, with the versions below it."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(f"({versions()})", flush=True)


def note(text: str) -> None:
    """A remark for the reader, which does not belong into the table."""
    print(text, file=sys.stderr)
