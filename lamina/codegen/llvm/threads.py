"""Threads that share the work of machine code: a few workers, parked between two pieces of work.

`run` (and machine code, through the symbol `lamina_parallel`) calls a task for consecutive ranges
of a count, on the calling thread and on all workers. How the count is cut depends on the grain
alone, never on the number of threads, so results are the same however many there are.

    void lamina_parallel(ptr task, ptr argument, i64 count, i64 grain)
    void task(ptr argument, i64 begin, i64 end, i64 worker)

A worker spins for a short while after its last piece, then parks: waking a parked thread costs some
microseconds, but nothing of a core that somebody else needs. Where a worker was waited for much
longer than its piece can take, another program has its core: then the caller works alone for a
while. Whoever finds the pool at work
(another thread's call, or a task's own) does all of its pieces itself.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import signal
import sys
import time
from typing import Any, Final, final

from lamina.codegen.llvm import machine
from lamina.devices.thread_count import capacity, get_num_threads, whenever_set

SPINS: Final = 1500
"""Turns of the waiting loop before a worker parks: about 30 microseconds."""

PATIENCE: Final = 300_000
"""Nanoseconds that a worker may take longer than half of the caller's own time."""

RESTS: Final = 16, 128
"""For how many calls the caller works alone then: at first, and at most."""

PARALLEL: Final = "lamina_parallel"
DECLARATION: Final = f"void @{PARALLEL}(ptr, ptr, i64, i64)"

# Fields of the pool's state, in units of 64 bytes, so that each has a cache line of its own.
_FIELDS: Final = (
    "is_busy", "generation", "task", "argument", "count", "grain", "following", "active",
    "sleeping", "limit", "resting", "rest", "mutex", "mutex_end", "condition", "condition_end",
)  # fmt: skip
_CLOSED: Final = 1 << 40  # more pieces than any work has


def _field(name: str) -> str:
    return f"getelementptr i8, ptr %pool, i64 {_FIELDS.index(name) * 64}"


_TAKE_PIECES: Final = f"""
take:
  %piece = atomicrmw add ptr %following, i64 1 seq_cst
  %is_open = icmp ult i64 %piece, {_CLOSED}
  br i1 %is_open, label %look, label %taken
look:
  %count = load i64, ptr %count_at
  %grain = load i64, ptr %grain_at
  %task = load ptr, ptr %task_at
  %argument = load ptr, ptr %argument_at
  %begin = mul i64 %piece, %grain
  %has_work = icmp ult i64 %begin, %count
  br i1 %has_work, label %work, label %taken
work:
  %far = add i64 %begin, %grain
  %end = call i64 @llvm.umin.i64(i64 %far, i64 %count)
  call void %task(ptr %argument, i64 %begin, i64 %end, i64 %worker)
  br label %take
taken:
"""

_ADDRESSES: Final = "\n".join(
    f"  %{name} = {_field(field)}"
    for name, field in (
        ("generation", "generation"), ("following", "following"), ("active", "active"),
        ("sleeping", "sleeping"), ("count_at", "count"), ("grain_at", "grain"),
        ("task_at", "task"), ("argument_at", "argument"), ("mutex", "mutex"),
        ("condition", "condition"), ("limit", "limit"), ("is_busy", "is_busy"),
        ("resting", "resting"), ("rest", "rest"),
    )
)  # fmt: skip

# A worker enters (`active`), then takes a piece. Work is closed before the caller waits until
# nobody is inside, and only then others are published: so whoever took a piece of open work finds
# the fields of that very work.
_WORKER: Final = f"""
define ptr @lamina_worker(ptr %given) #0 {{
entry:
  %pool = getelementptr i8, ptr @lamina_pool, i64 0
  %worker = load i64, ptr %given
  %start_at = getelementptr i64, ptr %given, i64 1
  %start = load i64, ptr %start_at
{_ADDRESSES}
  br label %wait
wait:
  %seen = phi i64 [ %start, %entry ], [ %now, %leave ]
  br label %spin
spin:
  %turns = phi i64 [ 0, %wait ], [ %more, %again ]
  %first = load atomic i64, ptr %generation acquire, align 8
  %is_new = icmp ne i64 %first, %seen
  br i1 %is_new, label %arrived, label %again
again:
  PAUSE
  %more = add i64 %turns, 1
  %is_patient = icmp ult i64 %more, {SPINS}
  br i1 %is_patient, label %spin, label %park
park:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %slept = atomicrmw add ptr %sleeping, i64 1 seq_cst
  br label %asleep
asleep:
  %second = load atomic i64, ptr %generation seq_cst, align 8
  %is_awake = icmp ne i64 %second, %seen
  br i1 %is_awake, label %rise, label %doze
doze:
  %waited = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %asleep
rise:
  %rose = atomicrmw sub ptr %sleeping, i64 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %arrived
arrived:
  %now = load atomic i64, ptr %generation seq_cst, align 8
  %most = load atomic i64, ptr %limit seq_cst, align 8
  %is_wanted = icmp ult i64 %worker, %most
  br i1 %is_wanted, label %enter, label %leave
enter:
  %entered = atomicrmw add ptr %active, i64 1 seq_cst
  br label %take
{_TAKE_PIECES}
  %left = atomicrmw sub ptr %active, i64 1 seq_cst
  br label %leave
leave:
  br label %wait
}}
"""

_PARALLEL: Final = f"""
define void @{PARALLEL}(ptr %given, ptr %with, i64 %all, i64 %step) #0 {{
entry:
  %pool = getelementptr i8, ptr @lamina_pool, i64 0
  %worker = add i64 0, 0
{_ADDRESSES}
  %threads = load atomic i64, ptr %limit monotonic, align 8
  %is_alone = icmp ult i64 %threads, 2
  %is_one = icmp ule i64 %all, %step
  %is_short = or i1 %is_alone, %is_one
  br i1 %is_short, label %alone, label %ask
ask:
  %pair = cmpxchg ptr %is_busy, i64 0, i64 1 seq_cst seq_cst
  %is_ours = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %is_ours, label %look_out, label %alone
look_out:
  %left_to_rest = load i64, ptr %resting
  %is_resting = icmp ne i64 %left_to_rest, 0
  br i1 %is_resting, label %rest_on, label %publish
rest_on:
  %less_to_rest = sub i64 %left_to_rest, 1
  store i64 %less_to_rest, ptr %resting
  store atomic i64 0, ptr %is_busy seq_cst, align 8
  br label %alone
alone:
  %is_empty = icmp eq i64 %all, 0
  br i1 %is_empty, label %done, label %next
next:
  %from = phi i64 [ 0, %alone ], [ %onward, %next ]
  %onward = add i64 %from, %step
  %until = call i64 @llvm.umin.i64(i64 %onward, i64 %all)
  call void %given(ptr %with, i64 %from, i64 %until, i64 0)
  %has_more = icmp ult i64 %onward, %all
  br i1 %has_more, label %next, label %done
publish:
  %started = call i64 @lamina_now()
  store ptr %given, ptr %task_at
  store ptr %with, ptr %argument_at
  store i64 %all, ptr %count_at
  store i64 %step, ptr %grain_at
  store atomic i64 0, ptr %following seq_cst, align 8
  %called = atomicrmw add ptr %generation, i64 1 seq_cst
  %asleep = load atomic i64, ptr %sleeping seq_cst, align 8
  %are_asleep = icmp ne i64 %asleep, 0
  br i1 %are_asleep, label %wake, label %take
wake:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %take
{_TAKE_PIECES}
  store atomic i64 {_CLOSED}, ptr %following seq_cst, align 8
  %ready = call i64 @lamina_now()
  br label %finish
finish:
  %turns = phi i64 [ 0, %taken ], [ %more, %linger ], [ %more, %yield ]
  %inside = load atomic i64, ptr %active seq_cst, align 8
  %is_quiet = icmp eq i64 %inside, 0
  br i1 %is_quiet, label %release, label %linger
linger:
  PAUSE
  %more = add i64 %turns, 1
  %is_patient = icmp ult i64 %more, {40 * SPINS}
  br i1 %is_patient, label %finish, label %yield
yield:
  %yielded = call i32 @sched_yield()
  br label %finish
release:
  %ended = call i64 @lamina_now()
  %own = sub i64 %ready, %started
  %waited = sub i64 %ended, %ready
  %half = lshr i64 %own, 1
  %most = add i64 %half, {PATIENCE}
  %is_late = icmp ugt i64 %waited, %most
  %rest_now = load i64, ptr %rest
  %longer = shl i64 %rest_now, 1
  %shorter = lshr i64 %rest_now, 1
  %rest_longer = call i64 @llvm.umin.i64(i64 %longer, i64 {RESTS[1]})
  %rest_shorter = call i64 @llvm.umax.i64(i64 %shorter, i64 {RESTS[0]})
  %rest_next = select i1 %is_late, i64 %rest_longer, i64 %rest_shorter
  %resting_next = select i1 %is_late, i64 %rest_now, i64 0
  store i64 %rest_next, ptr %rest
  store i64 %resting_next, ptr %resting
  store atomic i64 0, ptr %is_busy seq_cst, align 8
  br label %done
done:
  ret void
}}
"""

_CLOCK: Final = """
define i64 @lamina_now() #0 {
entry:
  %time = alloca [2 x i64]
  %read = call i32 @clock_gettime(i32 MONOTONIC, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}
"""

_DECLARED: Final = f"""
@lamina_pool = global [{64 * len(_FIELDS)} x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
"""


def _text() -> str:
    """The pool as LLVM reads it, with what this kind of processor has to wait politely."""
    clock = _CLOCK.replace("MONOTONIC", str(getattr(time, "CLOCK_MONOTONIC", 1)))
    text = _DECLARED + clock + _WORKER + _PARALLEL
    if platform.machine() in ("x86_64", "AMD64"):
        text += "declare void @llvm.x86.sse2.pause()\n"
        return text.replace("PAUSE", "call void @llvm.x86.sse2.pause()")
    return text.replace("  PAUSE\n", "")


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
        self._code = machine.Machine(_text())
        self._state = self._code.address_of("lamina_pool")
        numbers = [ctypes.c_int64, ctypes.c_int64]
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *numbers)(
            self._code.address_of(PARALLEL)
        )
        self._work = ctypes.c_void_p(self._code.address_of("lamina_worker"))
        self._given: list[Any] = []
        machine.add_symbol(PARALLEL, self._code.address_of(PARALLEL))
        self._clear()
        whenever_set(self._unready)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._clear)

    def _clear(self) -> None:
        """Make the state that of a pool without workers: at first, and in a forked child."""
        self.is_ready = False
        self._started = 1
        ctypes.memset(self._state, 0, 64 * len(_FIELDS))
        self._field("limit").value = 1
        self._field("rest").value = RESTS[0]
        if self.size > 1:
            library = ctypes.CDLL(None)
            library.pthread_mutex_init(ctypes.byref(self._field("mutex")), None)
            library.pthread_cond_init(ctypes.byref(self._field("condition")), None)

    def _unready(self) -> None:
        self.is_ready = False

    def _field(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self._state + 64 * _FIELDS.index(name))

    def start(self) -> None:
        """Have as many threads share the work from now on as the user's setting asks for."""
        wanted = min(get_num_threads(), self.size)
        # Workers take no signals: Ctrl-C must interrupt the main thread.
        old = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for worker in range(self._started, wanted):
                given = (ctypes.c_int64 * 2)(worker, self._field("generation").value)
                self._given.append(given)
                # Not one of Python's threads: it runs no Python, and needs no lock of its.
                thread = ctypes.c_void_p()
                failed = ctypes.CDLL(None).pthread_create(
                    ctypes.byref(thread), None, self._work, given
                )
                if failed:  # no more threads here: those that there are do the work
                    wanted = worker
                    break
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
        self._started = max(self._started, wanted)
        self._field("limit").value = wanted
        self.is_ready = True

    def run(self, task: int, argument: int, count: int, grain: int) -> None:
        """Do a task (an address of machine code) for all of a count, `grain` at a time."""
        if not self.is_ready:
            self.start()
        self._run(task, argument, count, grain)


@functools.cache
def pool() -> Pool:
    """The pool of this process."""
    return Pool(1 if sys.platform == "win32" else capacity())  # parking uses POSIX threads
