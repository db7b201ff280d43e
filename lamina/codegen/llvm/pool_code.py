"""The code of the pool of threads: how workers wait, are woken, take pieces, and are waited for.

`threads` says what it does, and starts the workers.
"""

from __future__ import annotations

import sys
import time
from typing import Final

YIELDS: Final = 1_000
"""Turns of the waiting loop before a worker parks: about 300 microseconds. Waking it costs 50.

In each turn it lets others have its core. The processor's own instruction for loops that wait is
not used: a virtual machine that meets many of them stops for 27 microseconds.
"""

LINGER: Final = 2_000
"""Turns for which the caller waits before it lets others have its core too."""

PATIENCE: Final = 300_000
"""Nanoseconds that a worker may take longer than half of the caller's own time."""

REST: Final = 20
"""The caller works alone then for so many times as long as it has waited: that costs 5 %."""

AGAIN: Final = 100_000_000
"""Nanoseconds within which it must have waited twice: once is chance, and costs nothing more."""

HAS_THREADS: Final = sys.platform != "win32"
"""Whether workers can be started and parked: by POSIX threads. Elsewhere the caller works alone."""

PARALLEL: Final = "lamina_parallel"
YIELD: Final = "lamina_yield"
"""Lets others have the core, where a system has such a call: for tasks whose threads wait."""

DECLARATION: Final = f"void @{PARALLEL}(ptr, ptr, i64, i64)"

# Fields of the pool's state, in units of 64 bytes, so that each has a cache line of its own.
FIELDS: Final = (
    "is_busy", "generation", "task", "argument", "count", "grain", "following", "active",
    "sleeping", "limit", "rest_until", "late_at", "processor", "threads", "started",
    "mutex", "mutex_end", "condition", "condition_end",
)  # fmt: skip
_CLOSED: Final = 1 << 40  # more pieces than any work has


def _field(name: str) -> str:
    return f"getelementptr i8, ptr %pool, i64 {FIELDS.index(name) * 64}"


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
        ("rest_until", "rest_until"), ("late_at", "late_at"),
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
  %yielded = call i32 @sched_yield()
  %more = add i64 %turns, 1
  %is_patient = icmp ult i64 %more, {YIELDS}
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

_ALL_PIECES: Final = """
alone:
  %is_empty = icmp eq i64 %all, 0
  br i1 %is_empty, label %done, label %next
next:
  %from = phi i64 [ 0, %alone ], [ %onward, %next ]
  %onward = add i64 %from, %step
  %last = call i64 @llvm.umin.i64(i64 %onward, i64 %all)
  call void %given(ptr %with, i64 %from, i64 %last, i64 0)
  %has_more = icmp ult i64 %onward, %all
  br i1 %has_more, label %next, label %done
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
  %started = call i64 @lamina_now()
  %awaited = load i64, ptr %rest_until
  %is_resting = icmp ult i64 %started, %awaited
  br i1 %is_resting, label %rest_on, label %publish
rest_on:
  store atomic i64 0, ptr %is_busy seq_cst, align 8
  br label %alone
{_ALL_PIECES}
publish:
  call void @lamina_keep_clear(ptr %pool)
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
  %more = add i64 %turns, 1
  %is_patient = icmp ult i64 %more, {LINGER}
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
  br i1 %is_late, label %note, label %open
note:
  %before = load i64, ptr %late_at
  %since = sub i64 %ended, %before
  %is_again = icmp slt i64 %since, {AGAIN}
  %rest = mul i64 %waited, {REST}
  %break = select i1 %is_again, i64 %rest, i64 0
  %until = add i64 %ended, %break
  store i64 %until, ptr %rest_until
  store i64 %until, ptr %late_at
  br label %open
open:
  store atomic i64 0, ptr %is_busy seq_cst, align 8
  br label %done
done:
  ret void
}}
"""

_ALONE: Final = f"""
@lamina_pool = global [{64 * len(FIELDS)} x i8] zeroinitializer, align 64
declare i64 @llvm.umin.i64(i64, i64)

define void @{PARALLEL}(ptr %given, ptr %with, i64 %all, i64 %step) #0 {{
entry:
  br label %alone
{_ALL_PIECES}
done:
  ret void
}}
"""

_YIELD: Final = f"""
define void @{YIELD}() #0 {{
  %yielded = call i32 @sched_yield()
  ret void
}}
"""

_NO_YIELD: Final = f"""
define void @{YIELD}() #0 {{
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

# Where a system runs on a virtual machine, a core that sleeps does not count as idle: a worker that
# is woken then waits on the caller's own core, for as long as that is at work, and steps of 27 ms
# took 46. So workers keep away from the core that the caller is on.
_PLACES: Final = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @pthread_setaffinity_np(ptr, i64, ptr)

define void @lamina_keep_clear(ptr %pool) #0 {
entry:
  %allowed = alloca [16 x i64]
  %noted_at = PROCESSOR
  %threads_at = THREADS
  %started_at = STARTED
  %here = call i32 @sched_getcpu()
  %number = sext i32 %here to i64
  %following = add i64 %number, 1
  %noted = load i64, ptr %noted_at
  %is_same = icmp eq i64 %noted, %following
  %is_known = icmp ult i64 %number, 1024
  %is_other = xor i1 %is_same, true
  %has_moved = and i1 %is_other, %is_known
  br i1 %has_moved, label %look, label %done
look:
  store i64 %following, ptr %noted_at
  call void @llvm.memset.p0.i64(ptr %allowed, i8 0, i64 128, i1 false)
  %size = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %word = lshr i64 %number, 6
  %place = getelementptr i64, ptr %allowed, i64 %word
  %bit_number = and i64 %number, 63
  %bit = shl i64 1, %bit_number
  %all = load i64, ptr %place
  %mask = xor i64 %bit, -1
  %others = and i64 %all, %mask
  store i64 %others, ptr %place
  %threads = load ptr, ptr %threads_at
  %started = load i64, ptr %started_at
  br label %next
next:
  %worker = phi i64 [ 1, %look ], [ %onward, %move ]
  %has_more = icmp ult i64 %worker, %started
  br i1 %has_more, label %move, label %done
move:
  %thread_at = getelementptr ptr, ptr %threads, i64 %worker
  %thread = load ptr, ptr %thread_at
  %failed = call i32 @pthread_setaffinity_np(ptr %thread, i64 128, ptr %allowed)
  %onward = add i64 %worker, 1
  br label %next
done:
  ret void
}
"""

_NO_PLACES: Final = """
define void @lamina_keep_clear(ptr %pool) #0 {
  ret void
}
"""

_DECLARED: Final = f"""
@lamina_pool = global [{64 * len(FIELDS)} x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def text() -> str:
    """The pool as LLVM reads it."""
    if not HAS_THREADS:
        return _ALONE + _NO_YIELD
    clock = _CLOCK.replace("MONOTONIC", str(getattr(time, "CLOCK_MONOTONIC", 1)))
    places = _PLACES if sys.platform == "linux" else _NO_PLACES
    for name in ("processor", "threads", "started"):
        places = places.replace(name.upper(), _field(name))
    return _DECLARED + clock + _YIELD + places + _WORKER + _PARALLEL
