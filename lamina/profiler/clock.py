"""The clock of a thread: while it runs, operations, derivative rules and named blocks are timed.

`state.clock` is where the core finds it: a kernel, or a node's rule, is called through `around`.
While no profiler runs there is no clock, and nothing is spent on it.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from lamina.core.modes import door, state
from lamina.core.op import Op
from lamina.profiler.events import FunctionEvent

__all__ = ["Clock", "record_function"]

# What tells several forms of one operation apart in the catalogue: `sum_all`, `pow_number`.
_FORM: Final = re.compile(
    "(_all|(?<=max)_along|(?<=min)_along|(?<=median)_along|_(of_|with_)?number|_tensors?"
    "|_in_place|_stable|_scaled|_dims?|_src|_value|_floor"
    "|_trunc|_decimals|_of_batch|_of_matrix|_of_vector|_without_bias|_with_fixed_statistics)+$"
)


@functools.cache
def _operation_name(op: Op) -> str:
    """The operation's name in tables, as in PyTorch's, without what tells its forms apart."""
    return "aten::" + _FORM.sub("", op.name)


@final
class Clock:
    """Times what runs in the thread that started it.

    Args:
        records_shapes: Whether events keep the shapes of their inputs.

    Attributes:
        events: What has ended or is under way, in the order in which it began.
    """

    def __init__(self, records_shapes: bool) -> None:
        self.events: list[FunctionEvent] = []
        self._records_shapes = records_shapes
        self._open: list[FunctionEvent] = []
        self._thread = threading.get_ident()
        self._start = time.perf_counter_ns()

    def run(self) -> None:
        """Begin to time."""
        state.clock = self
        door.watch(1)

    def stop(self) -> None:
        """Time no more. What is under way ends now."""
        state.clock = None
        door.watch(-1)
        while self._open:
            self.end(self._open[-1])

    def begin(self, name: str, inputs: Sequence[Any] = (), by_user: bool = False) -> FunctionEvent:
        """An event that begins now, inside of what is under way."""
        shapes = [each.shape for each in inputs] if self._records_shapes else []
        event = FunctionEvent(len(self.events), name, self._thread, shapes, by_user, self._now())
        if self._open:
            event.set_cpu_parent(self._open[-1])
        self.events.append(event)
        self._open.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """The event ends now, and so does what began in it and has not ended."""
        now = self._now()
        while event in self._open:
            self._open.pop().time_range.end = now

    def around(
        self, function: Callable[..., Any], name: str, inputs: Sequence[Any] = ()
    ) -> Callable[..., Any]:
        """The function, each call of which is an event. `inputs` are its tensors."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            event = self.begin(name, inputs)
            try:
                return function(*args, **kwargs)
            finally:
                self.end(event)

        return timed

    def around_operation(self, op: Op, tensors: Sequence[Any]) -> Callable[..., Any]:
        """An operation's kernel, each call of which is an event."""
        return self.around(op.kernel, _operation_name(op), tensors)

    def _now(self) -> float:
        return (time.perf_counter_ns() - self._start) / 1000


@final
class record_function(contextlib.ContextDecorator):
    """Times a block, or each call of a function that it decorates, under a name of its own.

    Outside a profiler it does nothing.

    Args:
        name: The name in tables.
        args: Words beside the name; they are kept, not shown.

    >>> import lamina
    >>> with lamina.profiler.profile() as made, record_function("twice"):
    ...     _ = lamina.ones(2) * 2
    >>> [event.key for event in made.key_averages()]
    ['twice', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._under_way: list[tuple[Clock, FunctionEvent] | None] = []

    def __enter__(self) -> record_function:
        clock = state.clock
        begun = None if clock is None else (clock, clock.begin(self.name, by_user=True))
        self._under_way.append(begun)
        return self

    def __exit__(self, *_: object) -> None:
        begun = self._under_way.pop()
        if begun is not None:
            clock, event = begun
            clock.end(event)
