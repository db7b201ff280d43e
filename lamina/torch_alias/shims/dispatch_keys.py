"""Dispatch keys of PyTorch's compiled half, of which those of autocast have a meaning here."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import final

from lamina.amp.autocast_mode import autocast, get_autocast_dtype

__all__ = ["DispatchKey", "DispatchKeySet", "excluding"]


@final
class DispatchKey(enum.Enum):
    """For whom an implementation of an operator is."""

    CPU = enum.auto()
    CUDA = enum.auto()
    Meta = enum.auto()
    AutogradCPU = enum.auto()
    AutogradCUDA = enum.auto()
    Autograd = enum.auto()
    AutocastCPU = enum.auto()
    AutocastCUDA = enum.auto()
    AutocastXPU = enum.auto()
    CompositeImplicitAutograd = enum.auto()
    CompositeExplicitAutograd = enum.auto()
    Functionalize = enum.auto()
    Python = enum.auto()


@final
class DispatchKeySet:
    """Several keys.

    >>> both = DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.CUDA)
    >>> both.has(DispatchKey.CPU), both.has(DispatchKey.Meta)
    (True, False)
    """

    def __init__(self, keys: DispatchKey | Iterable[DispatchKey]) -> None:
        self._keys = frozenset([keys] if isinstance(keys, DispatchKey) else keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys | other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)


_AUTOCAST = ((DispatchKey.AutocastCPU, "cpu"), (DispatchKey.AutocastCUDA, "cuda"))


@contextmanager
def excluding(keys: DispatchKeySet) -> Iterator[None]:
    """A block in which implementations for some keys are passed over: autocast's, for example."""
    with ExitStack() as blocks:
        for key, kind in _AUTOCAST:
            if keys.has(key):
                off = autocast(kind, dtype=get_autocast_dtype(kind), enabled=False)
                blocks.enter_context(off)
        yield
