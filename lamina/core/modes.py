"""Modes of a thread: whether operations are recorded, and what else watches them.

`state` is per thread. `door` is one for all threads: while `door.is_watched` is zero every op takes
its short way; captures, saved-tensor hooks, inference mode and anomaly mode raise it, and then
each op looks closer. One attribute test (0.02 us) thus pays for all of them.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, final

from lamina.core.origins import CUT_INFERENCE, CUT_NO_GRAD, SwitchedOff
from lamina.core.positions import here


@final
class ThreadState(threading.local):
    """The modes of the current thread."""

    grad_enabled: bool = True
    # Why results are not recorded now: a `SwitchedOff` that knows where that was asked for.
    off_reason: str = CUT_NO_GRAD
    inference: bool = False
    anomaly: bool = False
    check_nan: bool = True
    pack_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
    saved_tensors_disabled: str | None = None
    mappings: tuple[Any, ...] = ()  # the `batches.Mapping`s under way, the outermost first
    duals: tuple[Any, ...] = ()  # the open levels of forward mode, the outermost first
    dual_level: Any = None  # the one of them that `forward_ad.dual_level` opened
    autocast: Any = None  # what casts the inputs of operations, inside autocast
    clock: Any = None  # what times operations, inside a profiler
    run: Any = None  # the general backward pass that is under way, innermost


@final
class Door:
    """What all threads must look at before they take the short way."""

    __slots__ = ("_lock", "is_watched", "no_grad_threads")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.is_watched = 0
        self.no_grad_threads = 0

    def watch(self, more: int) -> None:
        """Count one watcher more, or one less."""
        with self._lock:
            self.is_watched += more

    def set_grad_enabled(self, is_enabled: bool) -> None:
        """Set the recording flag of this thread, and count the threads that have it off.

        While none has, the short ways need not read the thread's own flag (0.04 us each time).
        """
        if is_enabled != state.grad_enabled:
            with self._lock:
                self.no_grad_threads += -1 if is_enabled else 1
            state.grad_enabled = is_enabled


state: Final = ThreadState()
door: Final = Door()


class Mode:
    """A mode that can be a context (`with`), or a decorator of functions and generators."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    def copy(self) -> Mode:
        """A fresh context with the same settings: a decorated function may call itself."""
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            made: Any = function
            made.__init__ = self(made.__init__)
            return made
        if inspect.isgeneratorfunction(function):
            return self._decorate_generator(function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.copy():
                return function(*args, **kwargs)

        return inside

    def _decorate_generator(self, function: Any) -> Any:
        """The mode holds while the generator runs, not while its caller does."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume: Callable[[Any], Any] = generator.send
            value: Any = None
            while True:
                try:
                    with self.copy():
                        item = resume(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    value = yield item
                    resume = generator.send
                except GeneratorExit:
                    with self.copy():
                        generator.close()
                    raise
                except BaseException as error:
                    value, resume = error, generator.throw

        return inside


class _GradMode(Mode):
    """Common to the modes that only set the recording flag."""

    wanted = True

    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def __enter__(self) -> None:
        self._before = state.grad_enabled, state.off_reason
        door.set_grad_enabled(self.wanted)
        if not self.wanted:
            state.off_reason = SwitchedOff(CUT_NO_GRAD, here())

    def __exit__(self, *_: object) -> None:
        door.set_grad_enabled(self._before[0])
        state.off_reason = self._before[1]


@final
class no_grad(_GradMode):
    """Within it no operation is recorded: results do not require grad.

    A context, or a decorator with or without parentheses. Tensors created inside with
    `requires_grad=True` are leaves as ever.

    >>> import lamina
    >>> x = lamina.ones(2, requires_grad=True)
    >>> with lamina.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    wanted = False


@final
class enable_grad(_GradMode):
    """Within it operations are recorded, also inside a `no_grad()` block."""

    wanted = True


@final
class set_grad_enabled(Mode):
    """Turns recording on or off at once, and back when used as a context."""

    def __init__(self, mode: bool) -> None:
        self._before = state.grad_enabled, state.off_reason
        self._wanted = bool(mode)
        self._reason = CUT_NO_GRAD if mode else SwitchedOff(CUT_NO_GRAD, here())
        self.__enter__()

    def __enter__(self) -> None:
        door.set_grad_enabled(self._wanted)
        state.off_reason = self._reason

    def __exit__(self, *_: object) -> None:
        door.set_grad_enabled(self._before[0])
        state.off_reason = self._before[1]

    def __call__(self, function: Any) -> Any:
        self.__exit__()
        return super().__call__(function)

    def copy(self) -> set_grad_enabled:
        """A fresh context with the same flag."""
        return set_grad_enabled(self._wanted)


@final
class inference_mode(Mode):
    """Like `no_grad`, and its tensors can never take part in a graph: no version is counted.

    `inference_mode(False)` inside leaves the mode again.
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if callable(mode):
            made._wanted = True
            return made(mode)
        return made

    def __init__(self, mode: bool = True) -> None:
        self._wanted = bool(mode)

    def __enter__(self) -> Self:
        self._before = (state.inference, state.grad_enabled, state.off_reason)
        if self._wanted:
            state.off_reason = SwitchedOff(CUT_INFERENCE, here())
        door.watch(self._wanted)
        state.inference = self._wanted
        door.set_grad_enabled(not self._wanted)
        return self

    def __exit__(self, *_: object) -> None:
        door.watch(-self._wanted)
        state.inference = self._before[0]
        door.set_grad_enabled(self._before[1])
        state.off_reason = self._before[2]

    def copy(self) -> inference_mode:
        """A fresh context with the same flag."""
        return inference_mode(self._wanted)


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread now."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return state.inference
