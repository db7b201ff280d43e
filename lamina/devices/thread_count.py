"""How many threads share the work of one operation: NumPy's BLAS, and machine code of our own."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lamina.errors import InvalidThreadCount

_observers: Final[list[Callable[[], None]]] = []
_setting: Final[dict[str, int]] = {}


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
    return _setting.get("threads") or capacity()


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
    _setting["threads"] = count
    set_blas_threads(min(count, capacity()))
    for changed in _observers:
        changed()


def set_blas_threads(count: int | None) -> None:
    """Let BLAS use so many threads; None for as many as the user wants.

    Machine code that shares a product among threads of its own asks BLAS for one (0.2 us a call).
    """
    function = blas_function("openblas_set_num_threads")
    if function is not None:
        function(count if count is not None else _wanted_of_blas())


def _wanted_of_blas() -> int:
    if "threads" in _setting:
        return min(_setting["threads"], capacity())
    return _blas_threads_at_start()


@functools.cache
def _blas_threads_at_start() -> int:
    """How many threads BLAS has taken, by its environment variable or its own counting."""
    function = blas_function("openblas_get_num_threads")
    return int(function()) if function is not None else 1


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
