"""What is noted while a program runs, so that the explainer can look back.

Everything here is written on slow paths only (a backward pass, a cut of the graph, a module's or an
optimizer's construction), is bounded, and holds tensors weakly: a record never keeps memory alive.
Records about one tensor are kept in its own `__dict__`, under the names in `PRIVATE`.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from types import CodeType
from typing import Any, Final, NamedTuple

from lamina.core.origins import CUT_DETACH, SwitchedOff
from lamina.core.versions import next_stamp

Position = tuple[CodeType, int]

PRIVATE: Final = frozenset({
    "asked_at", "changed_through_data", "created", "data_of", "flag_set_through_data", "frozen_at",
    "grad_cleared_at", "grad_filled_at", "lost_at", "returned_at", "stands_in", "tangents",
    "took_place_of", "was_leaf",
})  # fmt: skip
"""Names in a tensor's `__dict__` that are records: neither copied nor pickled with it."""

REMEMBERED_PASSES: Final = 32
REMEMBERED_CUTS: Final = 32
NODES_LOOKED_AT: Final = 64
LEAVES_NOTED: Final = 8
LOOKS_AT_A_PLACE: Final = 2
NODES_LOOKED_AT_ONCE: Final = 4096
REMEMBERED_PLACES: Final = 256


class Pass(NamedTuple):
    """One backward pass: where and when it began, from what, and whether it returned gradients."""

    code: CodeType
    lasti: int
    stamp: int
    roots: tuple[Any, ...]
    returned: bool


class Cut(NamedTuple):
    """A place where a graph ended although its input required grad, and the leaves behind it."""

    code: CodeType
    lasti: int
    op: str
    reason: str
    sources: tuple[Any, ...]


class HookAnswer(NamedTuple):
    """A hook that returned another gradient: which, in which registry, and when."""

    hook: Callable[[], Any]
    registry: Callable[[], Any]
    stamp: int


class Trouble(NamedTuple):
    """A derivative that divided by zero, or was not a number: noted by NumPy's own flags."""

    code: CodeType
    lasti: int
    op: str
    kind: str
    stamp: int
    is_masked: bool


watchers: Final[list[Callable[[Any], None]]] = []
"""What is called with the roots of each backward pass, before it begins."""
passes: Final[deque[Pass]] = deque(maxlen=REMEMBERED_PASSES)
cuts: Final[deque[Cut]] = deque(maxlen=REMEMBERED_CUTS)
troubles: Final[deque[Trouble]] = deque(maxlen=REMEMBERED_CUTS)
answers: Final[deque[HookAnswer]] = deque(maxlen=REMEMBERED_CUTS)
detached: Final[OrderedDict[Position, list[Cut]]] = OrderedDict()
"""The first cuts at each place where something was detached, with the leaves behind it."""
optimizers: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
plain_parts: Final[weakref.WeakKeyDictionary[Any, dict[str, Position]]] = (
    weakref.WeakKeyDictionary()
)
"""For a module: where attributes were set that hold tensors or modules it does not register."""
readings: Final[weakref.WeakKeyDictionary[Any, list[Position]]] = weakref.WeakKeyDictionary()
"""For a generator of `parameters()`: where it was asked for, and where it was read to its end."""


def note_pass(place: Position, roots: Any, returned: bool) -> None:
    """Note that a backward pass begins."""
    for watcher in watchers:
        watcher(roots)
    # Without a call of Python's: 0.2 us.
    entry = (*place, next_stamp(), tuple(map(weakref.ref, roots)), returned)
    passes.append(tuple.__new__(Pass, entry))


def note_answer(hook: Any, registry: Any) -> None:
    """Note that a hook returned another gradient."""
    with suppress(TypeError):  # a callable that cannot be referred to weakly
        function = weakref.ref(getattr(hook, "__func__", hook))
        answers.append(HookAnswer(function, weakref.ref(registry), next_stamp()))


def note_detached(place: Position, tensor: Any) -> None:
    """Note that a tensor was detached, and the first times also which leaves are behind it.

    A program detaches at the same place in each step, and the leaves are most often the same: so
    the graph is looked through twice for each place, and not each time.
    """
    note_cut(place, "detach", CUT_DETACH, [tensor], deep=False)
    times = detached.setdefault(place, [])
    if len(times) < LOOKS_AT_A_PLACE:
        leaves = leaves_behind(tensor, NODES_LOOKED_AT_ONCE)
        times.append(Cut(*place, "detach", CUT_DETACH, tuple(map(weakref.ref, leaves))))
        if len(detached) > REMEMBERED_PLACES:
            detached.popitem(last=False)


def note_cut(place: Position, op: str, reason: str, tensors: Any, deep: bool = True) -> None:
    """Note that a result left the graph of its inputs; `deep`: and of the leaves behind them."""
    found = [tensor for tensor in tensors if tensor._requires_grad]
    if deep:
        found = [leaf for tensor in found for leaf in leaves_behind(tensor)]
    cuts.append(Cut(*place, op, reason, tuple(map(weakref.ref, found))))


def note_unrecorded(place: Position, op: str, reason: Any, tensors: Any) -> None:
    """Note the first few leaves that were used while recording was off.

    What a library function does for itself, such as an optimizer's step, is no use of theirs: there
    the place is the same as where recording was switched off.
    """
    if reason.__class__ is SwitchedOff and reason.noted < LEAVES_NOTED and reason.place != place:
        leaves = [t for t in tensors if t._requires_grad and t._node is None]
        if leaves:
            reason.noted += 1
            note_cut(place, op, reason, leaves, deep=False)


def leaves_behind(tensor: Any, limit: int = NODES_LOOKED_AT) -> list[Any]:
    """A tensor and the leaves it was computed from, as far as a look at `limit` nodes shows."""
    found: list[Any] = [tensor]
    seen: set[int] = set()
    waiting = deque([tensor._node])
    while waiting and len(seen) < limit:
        edge = waiting.popleft()
        node = getattr(edge, "node", edge)
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if hasattr(node, "_array"):
            found.append(node)
        else:
            waiting.extend(node.next)
    return found


def note_plain_part(module: Any, name: str, place: Position) -> None:
    """Note that a module was given tensors or modules in a form that it does not register."""
    with suppress(TypeError):  # a module that defines equality without a hash: do without
        plain_parts.setdefault(module, {})[name] = place
