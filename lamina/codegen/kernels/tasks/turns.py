"""Steps of which each needs all of the one before, shared by threads that meet at every step.

A step has as many parts as there may be threads. Whoever runs takes parts that nobody has taken,
its own first, so that each thread's cache keeps what its part reads. Nobody must be there: a
thread that is alone does all parts, and one that comes late finds them done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lamina.codegen.kernels.tasks.routines import Address, Routine, Variable
from lamina.codegen.llvm.ir import Lanes
from lamina.codegen.llvm.pool_code import LINGER, YIELD

APART: Final = 64
"""Bytes from one counter to the next: each has a line of memory of its own."""


def room_for_turns(parts: int) -> int:
    """Bytes of the counters, which must be zeros at first."""
    return (parts + 1) * APART


def in_turns(
    routine: Routine, counters: Address, parts: Lanes, steps: Lanes,
    write: Callable[[Lanes, Lanes], None],
) -> None:  # fmt: skip
    """Write the whole of a task whose pieces are threads: `write(step, part)` is done for all.

    Args:
        routine: The task.
        counters: Memory of `room_for_turns`.
        parts: Of each step; the task has as many pieces.
        steps: How many steps there are.
        write: Writes what is done for a part of a step.
    """
    finished = counters + parts * APART
    with routine.pieces() as own, routine.loop(0, steps) as step:
        _wait(routine, finished, step * parts)
        with routine.loop(0, parts) as number:
            part = (own + number) % parts
            with routine.when(_taken(routine, counters + part * APART, step)):
                write(step, part)
                routine.function.give(f"atomicrmw add ptr {finished.name}, i64 1 acq_rel")


def _taken(routine: Routine, counter: Address, step: Lanes) -> Lanes:
    """Whether a part of a step is ours: its counter says how many steps have been taken."""
    given = f"ptr {counter.name}, i64 {step.name}, i64 {(step + 1).name}"
    pair = routine.function.give(f"cmpxchg {given} acq_rel monotonic")
    return routine.numbers.give("i1", f"extractvalue {{ i64, i1 }} {pair}, 1")


def _wait(routine: Routine, finished: Address, count: Lanes) -> None:
    """Wait until so many parts are finished."""
    function = routine.function
    function.declare(f"void @{YIELD}()")
    turns = Variable(routine.number(0))
    look, linger, done = (function.fresh(hint) for hint in ("look", "linger", "met"))
    function.line(f"br label %{look}")
    function.label(look)
    loaded = f"load atomic i64, ptr {finished.name} acquire, align 8"
    is_met = routine.numbers.give("i64", loaded).compare("sge", count)
    function.line(f"br i1 {is_met.name}, label %{done}, label %{linger}")
    function.label(linger)
    turns.set(turns.get() + 1)
    with routine.when(turns.get().compare("sgt", LINGER)):
        function.line(f"call void @{YIELD}()")
    function.line(f"br label %{look}")
    function.label(done)
