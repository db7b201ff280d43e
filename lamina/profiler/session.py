"""A session of profiling: when the clock runs, and who is told that there is something to read."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any, Self, final

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.profiler.clock import Clock, record_function
from lamina.profiler.events import EventList

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


@final
class ProfilerActivity(enum.Enum):
    """What is timed. There is the CPU; the names of devices are accepted and add nothing."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


@final
class ProfilerAction(enum.Enum):
    """What a profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """What can be timed: the CPU."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """Which steps are timed: cycles of `wait` steps, `warmup` steps, and `active` ones.

    Args:
        wait: Steps of a cycle in which nothing happens.
        warmup: Steps of a cycle that are not kept.
        active: Steps of a cycle that are timed. After the last, `on_trace_ready` is called.
        repeat: How many cycles; 0 is no end.
        skip_first: Steps before the first cycle.
        skip_first_wait: If not 0, the first cycle does not wait.

    Raises:
        AssertionError: A number is negative, or `active` is 0.

    >>> plan = schedule(wait=1, warmup=0, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    counts = (wait, warmup, repeat, skip_first)
    if min(counts) < 0 or active <= 0:
        raise errors.ProfilerMisuse(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0).",
            [(this_place(), "called here")],
        )
    length = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = place == length - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    return action_of


def _record_always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:  # fmt: skip
    """A function for `on_trace_ready` that writes each trace to a file in a folder.

    Args:
        dir_name: The folder; it is made if it is missing.
        worker_name: How the names of files begin; the computer and process if None.
        use_gzip: Accepted: files are written as they are.
        use_python_export: Accepted.
    """

    def write(profiler: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return write


@final
class profile:
    """Times the operations of a block, or of the steps that a schedule names.

    Timed are kernels (`aten::mul`), derivative rules (`MulBackward0`) and blocks of
    `record_function`, in the thread that starts the profiler. Compiled functions run as they are
    written meanwhile.

    Args:
        activities: Accepted: the CPU is timed.
        schedule: What is done at each step, a function of the number of the step; `step()` ends
            one. Without it everything is timed.
        on_trace_ready: Called with the profiler when the last step of a cycle has ended.
        record_shapes: Whether to keep the shapes of inputs.
        profile_memory: Accepted, as are all arguments below: only time is measured.
        acc_events: Whether events of earlier cycles are kept.

    >>> import lamina
    >>> x = lamina.ones(2, requires_grad=True)
    >>> with profile() as made:
    ...     (x * 2).sum().backward()
    >>> [(event.key, event.count) for event in made.key_averages()]
    [('aten::mul', 1), ('aten::sum', 1), ('SumBackward0', 1), ('MulBackward0', 1)]
    """

    def __init__(
        self, *, activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False,
        profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
        with_modules: bool = False, experimental_config: Any = None,
        execution_trace_observer: Any = None, acc_events: bool = False,
        use_cuda: bool | None = None, custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:  # fmt: skip
        self.activities = supported_activities() if activities is None else set(activities)
        self.schedule = schedule or _record_always
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._names_steps = schedule is not None
        self._clock: Clock | None = None
        self._step: record_function | None = None
        self._events: EventList | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        self._run_clock()
        self._begin_step()

    def stop(self) -> None:
        """End; what was being timed is ready.

        Raises:
            AssertionError: Nothing was ever timed.
        """
        self._end_step()
        if self._clock is not None:
            self._save()
        elif self._events is None and self.current_action in _RECORDING:
            self._events_or_refuse("stopping trace")

    def step(self) -> None:
        """End a step; the schedule tells what happens in the next."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        ends = before is ProfilerAction.RECORD_AND_SAVE
        if self._clock is not None and ends:
            self._save()
        elif self._clock is not None and self.current_action not in _RECORDING:
            self._keep()
        self._run_clock()
        self._begin_step()

    def _run_clock(self) -> None:
        if self._clock is None and self.current_action in _RECORDING:
            self._clock = Clock(self.record_shapes)
            self._clock.run()

    def _begin_step(self) -> None:
        if self._names_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _keep(self) -> None:
        if self._clock is not None:
            self._clock.stop()
            earlier = self._events if self.acc_events and self._events is not None else []
            self._events = EventList([*earlier, *self._clock.events])
            self._clock = None

    def _save(self) -> None:
        self._keep()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _events_or_refuse(self, what: str) -> EventList:
        if self._events is None:
            raise errors.ProfilerMisuse(
                f"Profiler must be initialized before {what}",
                [(this_place(), "nothing was timed until here")],
                ["leave the `with profile()` block first, or call `stop()`"],
            )
        return self._events

    def events(self) -> EventList:
        """What was timed, call by call.

        Raises:
            AssertionError: Nothing was timed yet.
        """
        return self._events_or_refuse("accessing events")

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:  # fmt: skip
        """What was timed, added up by name; see `EventList.key_averages`.

        Raises:
            AssertionError: Nothing was timed yet.
        """
        events = self._events_or_refuse("getting key averages")
        return events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write what was timed to a file; see `EventList.export_chrome_trace`.

        Raises:
            AssertionError: Nothing was timed yet.
        """
        self._events_or_refuse("exporting chrome trace").export_chrome_trace(path)
