"""How many threads share the work of one operation: NumPy's BLAS, and machine code of our own."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from lamina.errors import InvalidThreadCount

_observers: Final[list[Callable[[], None]]] = []
kept_count: Final[dict[str, int]] = {}
"""How many threads were asked for, if any number was."""


@functools.cache
def capacity() -> int:
    """The most threads that ever work at once: one for each core that the process may use."""
    cores = getattr(os, "sched_getaffinity", None)
    return len(cores(0)) if cores is not None else os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads share the work of one operation. Unless set, one for each core.

    >>> import lamina
    >>> lamina.get_num_threads() >= 1
    True
    """
    return kept_count.get("threads") or capacity()


def set_num_threads(count: int) -> None:
    """Let `count` threads share the work of one operation. More than there are cores do no work.

    Raises:
        InvalidThreadCount: If it is no positive integer.
    """
    if type(count) is not int or count < 1:
        raise InvalidThreadCount(
            f"set_num_threads expects a positive integer, and got {count!r}",
            help=["write `set_num_threads(1)`, or how many cores you want to use"],
        )
    kept_count["threads"] = count
    blas_alone.set_after(min(count, capacity()))
    for changed in _observers:
        changed()


@final
class _BlasAlone:
    """While anybody is inside, BLAS uses one thread; afterwards as many as before.

    Machine code that shares a product among threads of its own calls BLAS so: that costs 0.6 us.
    """

    def __init__(self) -> None:
        self._inside = 0
        self._before = 1
        self._functions: tuple[Any, Any] | None = None
        self._open()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._open)

    def _open(self) -> None:
        self._lock = threading.Lock()  # a forked child must not wait for another one's thread

    def __enter__(self) -> None:
        read, write = self._functions or self._found()
        with self._lock:
            if not self._inside:
                self._before = read()
                write(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        _, write = self._functions or self._found()
        with self._lock:
            self._inside -= 1
            if not self._inside:
                write(self._before)

    def set_after(self, count: int) -> None:
        """Let BLAS use so many threads, once nobody is inside."""
        _, write = self._functions or self._found()
        with self._lock:
            self._before = count
            if not self._inside:
                write(count)

    def _found(self) -> tuple[Any, Any]:
        """What reads and what sets how many threads BLAS uses; with another BLAS nothing does."""
        read, write = map(blas_function, ("openblas_get_num_threads", "openblas_set_num_threads"))
        is_there = read is not None and write is not None
        self._functions = (read, write) if is_there else (lambda: 1, lambda count: None)
        return self._functions


blas_alone: Final = _BlasAlone()


def whenever_set(changed: Callable[[], None]) -> None:
    """Have a function called after each change of the setting."""
    _observers.append(changed)


@functools.cache
def blas_function(name: str) -> Any:
    """A function of the OpenBLAS that NumPy's wheels bring along; None with another BLAS.

    Its 64-bit build adds a prefix and a suffix to the names.
    """
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    if sys.platform == "darwin":
        folder = os.path.join(os.path.dirname(np.__file__), ".dylibs")
    for path in sorted(glob.glob(os.path.join(folder, "*openblas*"))):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for spelling in (f"scipy_{name}64_", f"{name}64_"):
            if hasattr(library, spelling):
                return getattr(library, spelling)
    return None
