"""Results that are still to come: `Future`, and waiting for several."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, final

from lamina import errors
from lamina.core.blame.words import this_place

__all__ = ["Future", "collect_all", "wait_all"]


@final
class Future:
    """A result that one thread sets and others wait for.

    Args:
        devices: Accepted: results are there when they are set.

    >>> promised = Future()
    >>> doubled = promised.then(lambda done: done.wait() * 2)
    >>> promised.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._is_done = threading.Event()
        self._lock = threading.Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    @classmethod
    def __class_getitem__(cls, result: Any) -> types.GenericAlias:
        """`Future[Tensor]`, in annotations: a future of a tensor."""
        return types.GenericAlias(cls, result)

    def done(self) -> bool:
        """Whether there is a result, or an error."""
        return self._is_done.is_set()

    def wait(self) -> Any:
        """The result, once it is there. An error that was set is raised."""
        self._is_done.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def value(self) -> Any:
        """The result that is there. An error that was set is raised.

        Raises:
            RuntimeError: There is none yet.
        """
        if not self.done():
            raise errors.InvalidArgument(
                "the future has not completed: it has no value yet",
                [(this_place(), "asked for here")],
                ["wait for it: `future.wait()`"],
            )
        return self.wait()

    def set_result(self, result: Any) -> None:
        """Set the result, and call what waits for it, in this thread.

        Raises:
            RuntimeError: It has a result or an error already.
        """
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` and `value` then raise.

        Raises:
            AssertionError: It is no exception.
            RuntimeError: There is a result or an error already.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what `callback(self)` gives, which is called when this one is done."""
        follows = Future()

        def follow(done: Future) -> None:
            try:
                result = callback(done)
            except Exception as error:
                follows.set_exception(error)
            else:
                follows.set_result(result)

        self._when_done(follow)
        return follows

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback(self)` when it is done; now, if it is."""
        self._when_done(callback)

    def _when_done(self, callback: Callable[[Future], Any]) -> None:
        with self._lock:
            waits = not self.done()
            if waits:
                self._callbacks.append(callback)
        if not waits:
            callback(self)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise errors.InvalidArgument(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once.",
                    [(this_place(), "called here")],
                )
            self._result, self._error = result, error
            self._is_done.set()
            waiting, self._callbacks = self._callbacks, []
        for callback in waiting:
            callback(self)


def collect_all(futures: Sequence[Future]) -> Future:
    """A future of the list of these futures, which is done when all are.

    If one of them fails, it has that error.

    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> first.set_result(1)
    >>> second.set_result(2)
    >>> [future.value() for future in both.wait()]
    [1, 2]
    """
    collected, lock = Future(), threading.Lock()
    left = [len(futures)]

    def note(done: Future) -> None:
        with lock:
            left[0] -= 1
            is_last = left[0] == 0
        if is_last:
            _complete(collected, futures)

    for future in futures:
        future.add_done_callback(note)
    if not futures:
        collected.set_result([])
    return collected


def _complete(collected: Future, futures: Sequence[Future]) -> None:
    try:
        for future in futures:
            future.wait()
    except Exception as error:
        collected.set_exception(error)
    else:
        collected.set_result(list(futures))


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The results of all futures, once they are there; the first error is raised."""
    return [future.wait() for future in collect_all(futures).wait()]
