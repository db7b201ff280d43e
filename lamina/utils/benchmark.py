"""Timing statements: how long one takes, and how sure that is.

>>> timer = Timer("x + x", setup="x = torch.ones(3)")
>>> timer.blocked_autorange(min_run_time=0.01).median < 1
True
"""

from __future__ import annotations

import statistics
import sys
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from lamina import errors
from lamina.devices.thread_count import get_num_threads, set_num_threads

__all__ = ["Measurement", "Timer"]

_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


@final
@dataclass(frozen=True, repr=False)
class Measurement:
    """Times of a statement, in seconds.

    Attributes:
        number_per_run: How often the statement ran for each of `raw_times`.
        raw_times: The measured times.
    """

    number_per_run: int
    raw_times: Sequence[float]
    stmt: str = ""
    setup: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    num_threads: int = 1

    @property
    def times(self) -> list[float]:
        """The time of one run of the statement, for each measured time."""
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def median(self) -> float:
        """The middle one of the times."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """How far apart the times are of which a quarter is below and above."""
        low, _, high = self._quartiles
        return high - low

    @property
    def _quartiles(self) -> list[float]:
        if len(self.times) == 1:
            return self.times * 3
        return statistics.quantiles(self.times, n=4, method="inclusive")

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ by more than a tenth."""
        return self.iqr > 0.1 * self.median

    @property
    def title(self) -> str:
        """What was measured."""
        parts = [self.label or self.stmt, *([self.sub_label] if self.sub_label else [])]
        return ": ".join(parts)

    def __repr__(self) -> str:
        lines = [f"<{type(self).__module__}.Measurement object at {id(self):#x}>", self.title]
        lines += [self.description] if self.description else []
        lines += [f"setup: {self.setup}"] if self.setup != "pass" else []
        count = len(self.raw_times)
        threads = f"{self.num_threads} thread{'s' * (self.num_threads > 1)}"
        if count == 1:
            lines.append(f"  {_words(self.median)}")
            lines.append(f"  1 measurement, {self.number_per_run} runs, {threads}")
            return "\n".join(lines)
        low, middle, high = self._quartiles
        lines.append(f"  Median: {_words(middle)}")
        if self.has_warnings:
            lines.append(f"  IQR:    {_words(self.iqr)} ({_words(low)} to {_words(high)})")
        lines.append(
            f"  {count} measurements, {self.number_per_run} runs per measurement, {threads}"
        )
        return "\n".join(lines)


def _words(seconds: float) -> str:
    scale, unit = next((pair for pair in _UNITS if seconds >= pair[0]), _UNITS[-1])
    return f"{seconds / scale:.2f} {unit}"


@final
class Timer:
    """Times a statement.

    Args:
        stmt: The statement, as text.
        setup: What runs before it, once for each measurement.
        global_setup: Not for Python: it must stay empty.
        timer: The clock.
        globals: The names that the statement sees; `torch` is among them in any case.
        label, sub_label, description: Words for the report.
        env: Accepted.
        num_threads: How many threads operations may use meanwhile.
        language: Python only.
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer, globals: dict[str, Any] | None = None,
        label: str | None = None, sub_label: str | None = None, description: str | None = None,
        env: str | None = None, num_threads: int = 1, language: Any = "python",
    ) -> None:  # fmt: skip
        if str(getattr(language, "value", language)).lower() not in ("python", "py", "0"):
            raise errors.NotSupported("torch.utils.benchmark.Timer: statements are Python here")
        if global_setup:
            raise errors.InvalidValue(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply "
                "be moved to `setup`."
            )
        names = dict(globals or {})
        names.setdefault("torch", sys.modules["lamina"])
        self._clock = timer
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._about: dict[str, Any] = {
            "stmt": stmt, "setup": setup, "label": label, "sub_label": sub_label,
            "description": description, "num_threads": num_threads,
        }  # fmt: skip

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of `number` runs, after a few that do not count."""
        self._seconds(max(number // 100, 2))
        return Measurement(number, [self._seconds(number)], **self._about)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """As many measurements as fit into some time, of so many runs that the clock is exact.

        Args:
            callback: Called after each with the number of runs and the time.
            min_run_time: How long to measure, in seconds.
        """
        number = self._runs_for(min_run_time)
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._seconds(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, **self._about)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """As many measurements as it takes until their spread is below a share of the median."""
        number = self._runs_for(min_run_time)
        times: list[float] = []
        while True:
            times.append(self._seconds(number))
            if callback is not None:
                callback(number, times[-1])
            found = Measurement(number, times, **self._about)
            is_sure = len(times) > 3 and found.iqr / found.median < threshold
            if sum(times) >= max_run_time or (is_sure and sum(times) >= min_run_time):
                return found

    def _runs_for(self, min_run_time: float) -> int:
        """So many runs that the clock's own time does not count, and not more than a share."""
        clock = min(self._clock_seconds() for _ in range(5))
        number = 1
        while True:
            seconds = self._seconds(number)
            if clock <= 1e-4 * seconds and seconds >= min_run_time / 1000:
                return number
            if seconds > min_run_time:
                return number
            number *= 10

    def _clock_seconds(self) -> float:
        started = self._clock()
        return self._clock() - started

    def _seconds(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._about["num_threads"])
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)
