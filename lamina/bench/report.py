"""The table that people read, and the file that programs read."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TextIO, final

from lamina.bench.rounds import Outcome

_GREEN, _DIM, _BOLD, _RESET = "\x1b[32m", "\x1b[2m", "\x1b[1m", "\x1b[0m"
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def as_time(seconds: float | None) -> str:
    """Seconds with three digits and a unit that suits them."""
    if seconds is None:
        return "-"
    factor, unit = next(((f, u) for f, u in _UNITS if seconds >= f), _UNITS[-1])
    return f"{_three_digits(seconds / factor)} {unit}"


def _three_digits(number: float) -> str:
    return (
        f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"
    )


@final
class Table:
    """Outcomes as rows; on a terminal what is faster than the base is green.

    Args:
        titles: The columns, the base of the ratios last.
        with_memory: Whether there are columns of megabytes.
    """

    def __init__(self, titles: Sequence[str], with_memory: bool, out: TextIO) -> None:
        self._titles = list(titles)
        self._with_memory = with_memory
        self._out = out
        self._has_colour = out.isatty() and not os.environ.get("NO_COLOR")

    def show(self, outcomes: Sequence[Outcome], footer: str) -> None:
        """Print all of it."""
        base = self._titles[-1]
        header = ["workload", *self._titles, *(f"{t} / {base}" for t in self._titles[:-1])]
        if self._with_memory:
            header += [f"{title} MB" for title in self._titles]
        rows = [self._row(outcome) for outcome in outcomes]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        self._line(header, widths, [_BOLD] * len(header))
        for row, outcome in zip(rows, outcomes, strict=True):
            self._line(row, widths, self._styles(outcome, len(row)))
        for outcome in outcomes:
            for title, text in (*outcome.failures.items(), *outcome.notes.items()):
                print(f"{outcome.workload.name}, {title}: {text}", file=self._out)
        if any(outcome.is_disturbed(title) for outcome in outcomes for title in self._titles):
            print("~ other programs used the processor meanwhile", file=self._out)
        print(self._styled(footer, _DIM), file=self._out)

    def _row(self, outcome: Outcome) -> list[str]:
        base = self._titles[-1]
        cells = [outcome.workload.name]
        for title in self._titles:
            mark = "~" if outcome.is_disturbed(title) else ""
            cells.append(mark + as_time(outcome.median(title)))
        for title in self._titles[:-1]:
            ratio = outcome.ratio(title, base)
            cells.append("-" if ratio is None else f"{ratio:.2f}")
        if self._with_memory:
            for title in self._titles:
                found = outcome.megabytes.get(title)
                cells.append("-" if found is None else f"{max(found, 0):.1f}")
        return cells

    def _styles(self, outcome: Outcome, count: int) -> list[str]:
        styles = [""] * count
        for k, title in enumerate(self._titles[:-1], start=1 + len(self._titles)):
            ratio = outcome.ratio(title, self._titles[-1])
            if ratio is not None and ratio < 1:
                styles[k] = _GREEN
        return styles

    def _line(self, cells: Sequence[str], widths: Sequence[int], styles: Sequence[str]) -> None:
        padded = [cells[0].ljust(widths[0])]
        padded += [c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)]
        line = "  ".join(map(self._styled, padded, styles))
        print(line.rstrip(), file=self._out)

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if self._has_colour and style else text


def machine(versions: dict[str, str], threads: int) -> dict[str, Any]:
    """What figures belong to."""
    return {
        "versions": versions | _versions_below(),
        "processor": _processor(),
        "system": platform.system(),
        "threads": threads,
    }


def _versions_below() -> dict[str, str]:
    """The versions of what the libraries stand on."""
    found = {"python": platform.python_version()}
    for name in ("numpy", "llvmlite"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def write_json(path: Path, outcomes: Sequence[Outcome], about: dict[str, Any]) -> None:
    """Every sample, for programs."""
    entries = {
        outcome.workload.name: {
            "about": outcome.workload.about,
            "seconds": outcome.seconds,
            "cores_used_by_others": outcome.others,
            "megabytes": outcome.megabytes,
            "failures": outcome.failures,
            "notes": outcome.notes,
        }
        for outcome in outcomes
    }
    text = json.dumps({"machine": about, "workloads": entries}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
