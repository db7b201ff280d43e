"""The classes and functions that the program itself allows in files."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self, final

from lamina.errors import ArgumentTypeError

_EVERYWHERE: Final[dict[str, Any]] = {}
"""The classes and functions that the program has allowed, by their full names."""


def _full_names(values: Iterable[Any]) -> dict[str, Any]:
    named = {}
    for value in values:
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
            named[value[1]] = value[0]
        elif hasattr(value, "__module__") and hasattr(value, "__qualname__"):
            named[f"{value.__module__}.{value.__qualname__}"] = value
        else:
            raise ArgumentTypeError(
                f"safe globals are classes and functions, or pairs of one and its full name, not "
                f"{value!r:.60}",
                help=["write for example torch.serialization.add_safe_globals([Net])"],
            )
    return named


def allowed() -> dict[str, Any]:
    """What is allowed now, by full name."""
    return dict(_EVERYWHERE)


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes and functions in the files that `load` reads, from now on.

    Args:
        safe_globals: the classes and functions themselves, or pairs of one and the full name that
            files call it by, such as `(Net, "model.Net")`.

    >>> class Settings: ...
    >>> add_safe_globals([Settings])
    >>> get_safe_globals() == [Settings]
    True
    >>> clear_safe_globals()
    """
    _EVERYWHERE.update(_full_names(safe_globals))


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` and the open blocks of `safe_globals` have allowed."""
    return list(_EVERYWHERE.values())


def clear_safe_globals() -> None:
    """Allow nothing any more but what `load` allows by itself."""
    _EVERYWHERE.clear()


@final
class safe_globals:
    """Allow classes and functions in the files that `load` reads inside a `with` block.

    Args:
        safe_globals: as for `add_safe_globals`.

    >>> class Settings: ...
    >>> with safe_globals([Settings]):
    ...     get_safe_globals() == [Settings]
    True
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._named = _full_names(safe_globals)
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self._before.append(dict(_EVERYWHERE))
        _EVERYWHERE.update(self._named)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _EVERYWHERE.clear()
        _EVERYWHERE.update(self._before.pop())
