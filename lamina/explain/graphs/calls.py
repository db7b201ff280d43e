"""Which call of which module an operation belongs to.

Nothing is written down for this while a program runs as usual. Where somebody asked beforehand
(`lamina graph`, `graph(model, ...)`), hooks on all modules note when each call began and ended, in
the same numbers that operations carry: that is exact. Otherwise the parameters tell: an operation
that reads `model.head.weight` belongs to `model.head`, and those between two such operations are
placed by the function that they were recorded in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Final, NamedTuple, Self, final

from lamina.explain.graphs.naming import Program

REMEMBERED_CALLS: Final = 200_000


class Call(NamedTuple):
    """One call of a module: the numbers between which its operations have theirs."""

    start: int
    end: int
    module: Any


class Part(NamedTuple):
    """One box around an operation: what tells it from others, the module, and its path."""

    key: Any
    module: Any
    path: str


Chain = tuple[Part, ...]
"""The boxes around an operation, outermost first."""


@final
class CallLog:
    """Notes the calls of modules while it is on: `with CallLog(...) as log`.

    Args:
        stamp: Gives the next number of the counter that operations are numbered by.
        before, after: Register a hook on all modules, before and after `forward`.
    """

    def __init__(
        self,
        stamp: Callable[[], int],
        before: Callable[[Any], Any],
        after: Callable[[Any], Any],
    ) -> None:
        self._stamp = stamp
        self._register = (before, after)
        self._handles: list[Any] = []
        self._open: list[tuple[Any, int]] = []
        self._calls: deque[Call] = deque(maxlen=REMEMBERED_CALLS)

    def calls(self) -> list[Call]:
        """The calls so far, outer ones before those within; those under way end now."""
        now = self._stamp()
        open_now = [Call(start, now, module) for module, start in self._open]
        return sorted([*self._calls, *open_now], key=lambda call: (call.start, -call.end))

    def __enter__(self) -> Self:
        before, after = self._register
        self._handles = [before(self._enter), after(self._leave)]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _enter(self, module: Any, arguments: Any) -> None:
        self._open.append((module, self._stamp()))

    def _leave(self, module: Any, arguments: Any, result: Any) -> None:
        # A call whose own hooks raised never came here: it is closed with the one around it.
        while self._open:
            opened, start = self._open.pop()
            if opened is module:
                self._calls.append(Call(start, self._stamp(), module))
                return


def chains_of_calls(stamps: Sequence[int], calls: Sequence[Call], program: Program) -> list[Chain]:
    """The boxes around operations with these stamps (in order), from noted calls."""
    found: list[Chain] = []
    open_now: list[tuple[Call, Part]] = []
    position = 0
    for stamp in stamps:
        while position < len(calls) and calls[position].start < stamp:
            call = calls[position]
            position += 1
            if call.end > stamp:
                while open_now and open_now[-1][0].end <= call.start:
                    open_now.pop()
                spot = program.spots.get(id(call.module))
                path = type(call.module).__name__ if spot is None else spot.path
                open_now.append((call, Part(call.start, call.module, path)))
        while open_now and open_now[-1][0].end < stamp:
            open_now.pop()
        found.append(tuple(part for _, part in open_now))
    return found


class Trace(NamedTuple):
    """What tells where an operation belongs: its position, and the parameters that it reads."""

    position: tuple[CodeType, int] | None
    parameters: tuple[Any, ...]


def chains_of_parameters(traces: Sequence[Trace], program: Program) -> list[Chain]:
    """The boxes around operations, in the order in which they ran, as parameters tell."""
    anchors = [_anchor(trace, program) for trace in traces]
    before = _nearest_before(traces, anchors)
    after = _nearest_before(traces[::-1], anchors[::-1])[::-1]
    return [
        own if own is not None else _between(traces, k, before[k], after[k])
        for k, own in enumerate(anchors)
    ]


class Near(NamedTuple):
    """The nearest operation that reads parameters: where it was recorded, and its boxes."""

    position: tuple[CodeType, int] | None = None
    chain: Chain = ()


def _anchor(trace: Trace, program: Program) -> Chain | None:
    """The boxes of an operation that reads parameters; None for one that reads none."""
    chains = [
        _chain_of(program.owners[id(parameter)], program)
        for parameter in trace.parameters
        if id(parameter) in program.owners
    ]
    if not chains:
        return None
    shared = chains[0]
    for chain in chains[1:]:
        shared = _common(shared, chain)
    return shared


def _chain_of(module: Any, program: Program) -> Chain:
    """A module and those around it, without lists of modules, which are never called."""
    spot = program.spots[id(module)]
    around = [m for m in spot.modules if _is_callable(m)]
    return tuple(Part(id(m), m, program.spots[id(m)].path) for m in around)


def _is_callable(module: Any) -> bool:
    own: Any = getattr(type(module), "forward", None)
    return getattr(own, "__qualname__", "") not in ("Module.forward", "_forward_unimplemented")


def _nearest_before(traces: Sequence[Trace], anchors: Sequence[Chain | None]) -> list[Near]:
    """For each operation the last one before it that reads parameters."""
    found: list[Near] = []
    last = Near()
    for trace, chain in zip(traces, anchors, strict=True):
        found.append(last)
        if chain is not None:
            last = Near(trace.position, chain)
    return found


def _between(traces: Sequence[Trace], k: int, before: Near, after: Near) -> Chain:
    """The boxes of an operation without parameters, between two with."""
    first, second = before.chain, after.chain
    shared = _common(first, second)
    position = traces[k].position
    if position is None:
        return shared
    if before.position == position:
        # One expression of the user's called both: a module of the library, such as Sequential.
        inner = first[:-1] if len(first) > 1 and _is_sequence(first[-2].module) else first
        return inner if len(inner) > len(shared) else shared
    code, offset = position
    own = [_written_in(code, chain) for chain in (first, second)]
    if own[0] and own[1] and own[0][-1].key != own[1][-1].key:
        # The end of one call or the beginning of the next: within a call, offsets grow.
        last = traces[k - 1].position
        goes_on = last is None or last[0] is not code or last[1] <= offset
        return own[0] if goes_on else own[1]
    if own[0] or own[1]:
        return own[0] or own[1]
    # A function that is no method may be called by modules; one that calls them is outside.
    callers = [near.position[0] for near in (before, after) if near.position is not None]
    return () if code in callers or code.co_name == "<module>" else shared


def _written_in(code: CodeType, chain: Chain) -> Chain:
    """The part of a chain up to the innermost module with a method that has this code."""
    for depth in range(len(chain), 0, -1):
        for kind in type(chain[depth - 1].module).__mro__:
            if any(getattr(f, "__code__", None) is code for f in vars(kind).values()):
                return chain[:depth]
    return ()


def _is_sequence(module: Any) -> bool:
    return any(kind.__name__ == "Sequential" for kind in type(module).__mro__)


def _common(first: Chain, second: Chain) -> Chain:
    length = 0
    for one, other in zip(first, second, strict=False):
        if one.key != other.key:
            break
        length += 1
    return first[:length]
