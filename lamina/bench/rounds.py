"""One workload on every library: results are compared, then the libraries take turns."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from lamina.bench.workers import Process, WorkerFailed
from lamina.bench.workloads import Workload

BATCH_SECONDS: Final = 0.08
TRIES: Final = 2
MOST_OTHERS: Final = 0.4
"""Cores: where others used more, a batch is timed again, and the quieter one counts.

The system counts in hundredths of a second, so that much less cannot be told from nothing."""


@final
@dataclass
class Outcome:
    """What is known of one workload.

    Attributes:
        workload: The workload.
        seconds: For each column the seconds of a call, one for each round.
        others: The cores that others used meanwhile, likewise.
        megabytes: For each column the memory that calls need, if that was asked for.
        failures: For each column without times the reason.
        notes: Remarks on columns that have times.
    """

    workload: Workload
    seconds: dict[str, list[float]] = field(default_factory=dict)
    others: dict[str, list[float]] = field(default_factory=dict)
    megabytes: dict[str, float | None] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def median(self, title: str) -> float | None:
        """The median of the times of a column."""
        found = self.seconds.get(title)
        return statistics.median(found) if found else None

    def is_disturbed(self, title: str) -> bool:
        """Whether others used the processor in most rounds of a column."""
        return statistics.median(self.others.get(title) or [0.0]) > MOST_OTHERS

    def ratio(self, title: str, base: str) -> float | None:
        """The median of the ratios of the rounds, in which slow changes of the machine cancel."""
        above, below = self.seconds.get(title), self.seconds.get(base)
        if not above or not below:
            return None
        return statistics.median(a / b for a, b in zip(above, below, strict=True))


def run_workload(workload: Workload, processes: Sequence[Process], rounds: int) -> Outcome:
    """Compare the results of all libraries and time those that agree.

    The last process is the reference.
    """
    outcome = Outcome(workload)
    results: dict[str, Any] = {}
    for process in processes:
        title = process.kind.title
        try:
            answer = process.ask("build", name=workload.name)
        except WorkerFailed as failure:
            outcome.failures[title] = str(failure)
            continue
        results[title] = answer["results"]
        if answer["refusal"]:
            outcome.notes[title] = f"runs eagerly: {answer['refusal']}"
    titles = [process.kind.title for process in processes if process.kind.title in results]
    for title in titles[:-1]:
        why = difference(results[title], results[titles[-1]], workload.rtol)
        if why:
            outcome.failures[title] = f"its results differ from those of {titles[-1]}: {why}"
    good = [
        p for p in processes if p.kind.title in results and p.kind.title not in outcome.failures
    ]
    _time(outcome, good, rounds)
    return outcome


def _time(outcome: Outcome, processes: Sequence[Process], rounds: int) -> None:
    calls: dict[str, int] = {}
    for k in range(-1, rounds):
        active = [p for p in processes if p.kind.title not in outcome.failures]
        first = k % max(len(active), 1)  # nobody is always the one who comes after another
        for process in (*active[first:], *active[:first]):
            title = process.kind.title
            try:
                if k < 0:
                    answer = process.ask("calibrate", seconds=BATCH_SECONDS)
                    calls[title] = answer["calls"]
                else:
                    answer = _quietest(process, calls[title])
                    outcome.seconds.setdefault(title, []).append(answer["seconds"])
                    outcome.others.setdefault(title, []).append(answer["others"])
            except WorkerFailed as failure:
                outcome.failures[title] = str(failure)
                outcome.seconds.pop(title, None)


def _quietest(process: Process, calls: int) -> dict[str, Any]:
    """The times of a batch, taken again if others used the processor."""
    best = process.ask("time", calls=calls)
    for _ in range(TRIES - 1):
        if best["others"] > MOST_OTHERS:
            best = min(best, process.ask("time", calls=calls), key=lambda answer: answer["others"])
    return best


def measure_memory(outcome: Outcome, processes: Sequence[Process]) -> None:
    """Find out how much memory each library needs, in a fresh process each."""
    for process in processes:
        process.close()
        try:
            answer = process.ask("memory", name=outcome.workload.name)
            outcome.megabytes[process.kind.title] = answer["megabytes"]
        except WorkerFailed as failure:
            outcome.failures.setdefault(process.kind.title, str(failure))
        process.close()


def difference(found: Any, expected: Any, rtol: float) -> str:
    """In which call two libraries' results are too far apart; empty if they are not."""
    for call, (ours, theirs) in enumerate(zip(found, expected, strict=True), start=1):
        if len(ours) != len(theirs):
            return f"{len(ours)} results instead of {len(theirs)}"
        for mine, other in zip(ours, theirs, strict=True):
            if len(mine) != len(other):
                return "another number of elements"
            largest = max(map(abs, other[:-1]), default=0.0)
            scales = [*[largest] * (len(other) - 1), abs(other[-1])]
            for a, b, scale in zip(mine, other, scales, strict=True):
                if not abs(a - b) <= rtol * scale and not (math.isnan(a) and math.isnan(b)):
                    return f"{a:.6g} instead of {b:.6g} in call {call}"
    return ""
