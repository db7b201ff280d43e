"""Threads that share the work of machine code: a few workers, parked between two pieces of work.

`run` (and machine code, through the symbol `lamina_parallel`) calls a task for consecutive ranges
of a count, on the calling thread and on all workers. How the count is cut depends on the grain
alone, never on the number of threads, so results are the same however many there are.

    void lamina_parallel(ptr task, ptr argument, i64 count, i64 grain)
    void task(ptr argument, i64 begin, i64 end, i64 worker)

A worker looks out for a short while after its last piece, letting others have its core, then parks:
waking it costs 50 microseconds. Where a worker was waited for much longer than its piece can take,
and soon again, another program has its core: then the caller works alone for a while. Whoever finds
the pool at work (another thread's call, or a task's own) does all of its pieces itself.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from typing import Any, final

from lamina.codegen.llvm import machine, pool_code
from lamina.codegen.llvm.pool_code import FIELDS, PARALLEL, YIELD
from lamina.devices.thread_count import capacity, get_num_threads, whenever_set


@final
class Pool:
    """The workers of a process.

    Attributes:
        size: How many threads may work at once, the calling one included.
        is_ready: Whether the workers that the user's setting asks for are there.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.is_ready = False
        self._code = machine.Machine(pool_code.text())
        self._state = self._code.address_of("lamina_pool")
        numbers = [ctypes.c_int64, ctypes.c_int64]
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *numbers)(
            self._code.address_of(PARALLEL)
        )
        self._given: list[Any] = []
        self._threads = (ctypes.c_void_p * max(size, 1))()
        for name in (PARALLEL, YIELD):
            machine.add_symbol(name, self._code.address_of(name))
        self._clear()
        whenever_set(self._unready)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._clear)

    def _clear(self) -> None:
        """Make the state that of a pool without workers: at first, and in a forked child."""
        self.is_ready = False
        self._started = 1
        ctypes.memset(self._state, 0, 64 * len(FIELDS))
        self._field("limit").value = 1
        self._field("threads").value = ctypes.addressof(self._threads)
        if self.size > 1:
            library = ctypes.CDLL(None)
            library.pthread_mutex_init(ctypes.byref(self._field("mutex")), None)
            library.pthread_cond_init(ctypes.byref(self._field("condition")), None)

    def _unready(self) -> None:
        self.is_ready = False

    def _field(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self._state + 64 * FIELDS.index(name))

    def start(self) -> None:
        """Have as many threads share the work from now on as the user's setting asks for."""
        wanted = min(get_num_threads(), self.size)
        if wanted > self._started:
            self._add_workers(wanted)
        self._field("limit").value = min(wanted, self._started)
        self.is_ready = True

    def _add_workers(self, wanted: int) -> None:
        """Start threads until there are so many, the calling one included."""
        work = ctypes.c_void_p(self._code.address_of("lamina_worker"))
        # Workers take no signals: Ctrl-C must interrupt the main thread.
        old = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for worker in range(self._started, wanted):
                given = (ctypes.c_int64 * 2)(worker, self._field("generation").value)
                self._given.append(given)
                # Not one of Python's threads: it runs no Python, and needs no lock of its.
                failed = ctypes.CDLL(None).pthread_create(
                    ctypes.byref(self._threads, worker * ctypes.sizeof(ctypes.c_void_p)),
                    None, work, given,
                )  # fmt: skip
                if failed:  # no more threads here: those that there are do the work
                    break
                self._started = worker + 1
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
        self._field("started").value = self._started
        self._field("processor").value = 0  # not known: those that are new have not been told

    def run(self, task: int, argument: int, count: int, grain: int) -> None:
        """Do a task (an address of machine code) for all of a count, `grain` at a time."""
        if not self.is_ready:
            self.start()
        self._run(task, argument, count, grain)


@functools.cache
def pool() -> Pool:
    """The pool of this process."""
    return Pool(capacity() if pool_code.HAS_THREADS else 1)
