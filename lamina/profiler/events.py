"""What a clock has timed: single events, and their sums by name. Times are in microseconds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, Self, final

from lamina.profiler.table import as_table, duration

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "TimeRange"]


class _Timed:
    """What events and their sums have in common: on one CPU, the columns of devices are zero."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    device_time = device_time_total = self_device_time_total = 0.0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0
    device_memory_usage = self_device_memory_usage = 0
    flops = 0
    use_device: str | None = None
    is_async = is_remote = is_legacy = False
    node_id = -1

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` in words."""
        return duration(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` in words."""
        return duration(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` in words."""
        return duration(self.self_cpu_time_total)


@final
class TimeRange:
    """When something began and ended, counted from when the clock began to run."""

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """How long it took."""
        return self.end - self.start


@final
class FunctionEvent(_Timed):
    """One call: of an operation, of a derivative rule, or of a block with a name.

    Attributes:
        name: `aten::` and the operation, a node's name, or what `record_function` was given.
        time_range: When it began and ended.
        cpu_parent: The event inside of which it began, or None.
        cpu_children: The events that began in it.
        input_shapes: The shapes of its tensors, if the profiler records them.
        is_user_annotation: Whether it is a block of `record_function`.
    """

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, shapes: Sequence[Sequence[int]], by_user: bool,
        start: float,
    ) -> None:  # fmt: skip
        self.id = id
        self.name = self.key = self.trace_name = name
        self.thread = thread
        self.input_shapes = [list(shape) for shape in shapes]
        self.is_user_annotation = by_user
        self.time_range = TimeRange(start, start)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.stack: list[str] = []

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Say inside of which event it began."""
        self.cpu_parent = parent
        parent.cpu_children.append(self)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took, without what began in it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes}>"
        )


@final
class FunctionEventAvg(_Timed):
    """All events of one name, or of one name and shapes.

    Attributes:
        key: Their name.
        count: How many there are.
        cpu_time_total: How long they took, those that began in them included.
        self_cpu_time_total: How long they took without what began in them.
        cpu_time: The mean of `cpu_time_total`.
    """

    def __init__(self, key: str, input_shapes: Sequence[Sequence[int]] = ()) -> None:
        self.key = key
        self.input_shapes = [list(shape) for shape in input_shapes]
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.is_user_annotation = False
        self.stack: list[str] = []

    def add(self, other: FunctionEvent | FunctionEventAvg) -> Self:
        """Add an event, or other sums."""
        self.count += other.count
        self.self_cpu_time_total += other.self_cpu_time_total
        if not (isinstance(other, FunctionEvent) and _is_inside(other, self.key)):
            self.cpu_time_total += other.cpu_time_total  # else it is part of that one's already
        self.is_user_annotation |= other.is_user_annotation
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} calls={self.count} input_shapes={self.input_shapes}>"
        )


def _is_inside(event: FunctionEvent, name: str) -> bool:
    """Whether something of that name was under way when the event began."""
    parent = event.cpu_parent
    while parent is not None and parent.name != name:
        parent = parent.cpu_parent
    return parent is not None


_LATEST_TRACE: Final = 1


@final
class EventList(list[Any]):
    """Events, or sums of events, in a list that prints as a table."""

    @property
    def self_cpu_time_total(self) -> float:
        """How long all of it took."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:  # fmt: skip
        """The events added up by name.

        Args:
            group_by_input_shapes: By name and shapes; the profiler must have recorded them.
            group_by_stack_n: Accepted: stacks are not recorded.
            group_by_overload_name: Accepted: operations have one form.
        """
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else []
            group = (event.key, str(shapes))
            if group not in sums:
                sums[group] = FunctionEventAvg(event.key, shapes)
            sums[group].add(event)
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """All events added up, under the name "Total"."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80,
        header: str | None = None, top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as text, one a line.

        Args:
            sort_by: An attribute, the largest first: "cpu_time_total", "self_cpu_time_total",
                "cpu_time", "count" and others.
            row_limit: How many lines; -1 is all.
            max_src_column_width: Accepted: sources are not shown.
            max_name_column_width: How wide names may be.
            max_shapes_column_width: How wide shapes may be.
            header: A line above the table.
            top_level_events_only: Leave out what began inside of other events.
            time_unit: "s", "ms" or "us"; else what suits each number.

        Raises:
            AttributeError: Events have no attribute `sort_by`.
        """
        shown: Iterable[Any] = self
        if top_level_events_only:
            shown = [event for event in self if getattr(event, "cpu_parent", None) is None]
        if sort_by is not None:
            by = sort_by.replace("cuda", "device")
            shown = sorted(shown, key=lambda event: getattr(event, by), reverse=True)
        rows = list(shown) if row_limit < 0 else list(shown)[:row_limit]
        whole = self.self_cpu_time_total
        return as_table(rows, whole, max_name_column_width, max_shapes_column_width, header,
                        time_unit)  # fmt: skip

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events to a file for chrome://tracing and Perfetto: JSON, "X" for each."""
        traced = [
            {
                "ph": "X",
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "name": event.name,
                "pid": os.getpid(),
                "tid": event.thread,
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "args": {"External id": event.id, "Input Dims": event.input_shapes},
            }
            for event in self
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": _LATEST_TRACE, "traceEvents": traced}, file)

    def __str__(self) -> str:
        return self.table()
