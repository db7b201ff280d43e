"""Where operators that programs define are found, from below the layer that defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_finders: list[Callable[[str], Any]] = []


def find_with(find: Callable[[str], Any]) -> None:
    """Have `find` tell the namespace of a name, or None."""
    _finders[:] = [find]


def namespace_of(name: str) -> Any:
    """The namespace of operators of that name; None if no operator is in one."""
    return _finders[0](name) if _finders else None
