"""The profiler under its older name; `lamina.profiler` is the newer one."""

from __future__ import annotations

import os
from typing import Any, Self, final

from lamina.profiler.clock import record_function
from lamina.profiler.events import EventList, FunctionEvent, FunctionEventAvg
from lamina.profiler.session import profile as session

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]


@final
class profile:
    """Times the operations of a block, as `lamina.profiler.profile` does.

    Args:
        enabled: Whether anything is timed at all.
        record_shapes: Whether to keep the shapes of inputs.
        use_cuda: Accepted, as are all other arguments: the CPU is timed.

    >>> import lamina
    >>> with profile() as made:
    ...     _ = lamina.ones(2) * 2
    >>> [event.name for event in made.function_events]
    ['aten::mul']
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
        record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False,
        use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
        custom_trace_id_callback: Any = None, post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:  # fmt: skip
        self.enabled = enabled
        self._session = session(record_shapes=record_shapes, acc_events=acc_events)

    def __enter__(self) -> Self:
        if self.enabled:
            self._session.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            self._session.stop()

    @property
    def function_events(self) -> EventList:
        """What was timed, call by call.

        Raises:
            AssertionError: The block has not ended, or was not enabled.
        """
        return self._session.events()

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:  # fmt: skip
        """What was timed, added up by name."""
        return self._session.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All that was timed, added up."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """How long all of it took, in microseconds."""
        return self.function_events.self_cpu_time_total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **layout: Any) -> str:
        """What was timed as text; the arguments are those of `EventList.table`."""
        return self.function_events.table(sort_by, row_limit, **layout)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write what was timed to a file for chrome://tracing."""
        self.function_events.export_chrome_trace(path)

    def __str__(self) -> str:
        return str(self.function_events) if self.enabled else "<unfinished torch.autograd.profile>"
