"""Which names a pickle uses: found by reading it, without doing what it says."""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from typing import Any

_GETS = frozenset({"BINGET", "LONG_BINGET"})
_PUTS = frozenset({"BINPUT", "LONG_BINPUT", "MEMOIZE"})


def names_in(data: bytes) -> Iterator[tuple[str, str]]:
    """The pairs of a module and a name that a pickle looks up; ValueError if it is no pickle.

    >>> import collections, pickle
    >>> list(names_in(pickle.dumps(collections.deque())))
    [('collections', 'deque')]
    """
    texts: list[Any] = ["", ""]
    memo: dict[int, Any] = {}
    last: Any = None
    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            module, _, name = argument.partition(" ")
            yield module, name
        elif opcode.name == "STACK_GLOBAL":
            yield texts[-2], texts[-1]
        if opcode.name in _PUTS:
            memo[len(memo) if argument is None else argument] = last
            continue
        last = memo.get(argument) if opcode.name in _GETS else argument
        if isinstance(last, str):
            texts = [texts[-1], last]
