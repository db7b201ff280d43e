"""Watching Python state: what containers held, and whether they still do."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from itertools import chain, compress
from operator import is_, not_
from typing import Any, Final, final

from lamina.core.hooks import Registry, registries

PLAIN: Final = (int, float, complex, str, bytes, bool, type(None), range)
ABSENT: Final = object()


def same_plain(old: Any, new: Any) -> bool:
    """Whether two values cannot be told apart by a program."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, PLAIN):
        return bool(old == new) and repr(old) == repr(new)  # 0.0 and -0.0
    if isinstance(old, tuple):
        return len(old) == len(new) and all(map(same_plain, old, new))
    return False


@final
class Watched:
    """One container, with what it held.

    Attributes:
        name: Of the container.
        names: Of its entries.
        values: What the entries were.
    """

    __slots__ = ("_put", "_read", "name", "names", "values")

    def __init__(
        self, name: str, names: Iterable[str], read: Callable[[], Iterable[Any]],
        put: Callable[[list[Any]], None],
    ) -> None:  # fmt: skip
        self.name = name
        self.names = list(names)
        self._read = read
        self._put = put
        self.values = list(read())

    def is_same(self) -> bool:
        """Whether it holds the same as then; values that are only equal are taken over."""
        now = list(self._read())
        if len(now) != len(self.values) or not all(map(same_plain, self.values, now)):
            return False
        self.values = now
        return True

    def difference(self) -> str:
        """What is not the same, in words."""
        now = list(self._read())
        if len(now) != len(self.values):
            return f"{self.name} has {len(now)} entries instead of {len(self.values)}"
        for name, old, new in zip(self.names, self.values, now, strict=True):
            if not same_plain(old, new):
                return f"{self.name}{name} was {_short(old)}, is {_short(new)}"
        return f"{self.name} changed"

    def restore(self) -> None:
        """Put back what it held, if it holds anything else."""
        now = list(self._read())
        if len(now) != len(self.values) or not all(map(is_, now, self.values)):
            self._put(self.values)


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, PLAIN) else f"a {type(value).__name__}"
    return text if len(text) < 40 else text[:37] + "..."


@final
class Glance:
    """A quick look at many containers at once: 20 to 40 ns for each entry.

    It may take what is the same for changed (an equal number that is another object), never the
    other way round.
    """

    def __init__(self) -> None:
        self._sized: list[Any] = []
        self._at: list[tuple[Any, Any]] = []
        self._whole: list[Any] = []
        self._cells: list[Any] = []
        self._empty: list[Any] = []
        self._empty_registries: list[Any] = []
        self._keyed: list[dict[Any, Any]] = []
        self._lengths: list[tuple[Any, int]] = []
        self._views: list[Any] = []
        self._values: list[Any] = []
        self._entries: list[tuple[Any, Any, Any]] = []
        self._contents: list[tuple[Any, Any]] = []
        self._changes_seen = 0
        self._owners: list[tuple[Any, str]] = []
        self._attributes: list[tuple[Any, str, Any]] = []
        self._functions: list[types.FunctionType] = []
        self._codes: list[tuple[types.FunctionType, Any, Any]] = []
        self._instances: list[Any] = []
        self._kinds: list[type] = []
        self._readers: list[Callable[[], Any]] = []
        self._read: list[tuple[Callable[[], Any], Any]] = []

    def at_all(self, container: dict[Any, Any] | list[Any]) -> None:
        """Look at all entries of a dict or a list."""
        self._sized.append(container)
        self._whole.append(container)

    def at_keys(self, mapping: dict[Any, Any]) -> None:
        """Look at the keys of a dict, too."""
        self._keyed.append(mapping)

    def at_length(self, container: Any) -> None:
        """Look at how many entries there are."""
        self._sized.append(container)

    def at_entry(self, mapping: Any, key: Any) -> None:
        """Look at one entry of a dict."""
        self._at.append((mapping, key))

    def at_cell(self, cell: Any) -> None:
        """Look at a variable of a closure."""
        self._cells.append(cell)

    def at_attribute(self, owner: Any, name: str) -> None:
        """Look at one attribute of an object."""
        self._owners.append((owner, name))

    def at_function(self, function: types.FunctionType) -> None:
        """Look at the code of a function, and its default values."""
        self._functions.append(function)

    def at_kind(self, value: Any) -> None:
        """Look at the class of an object."""
        self._instances.append(value)

    def at_reading(self, read: Callable[[], Any]) -> None:
        """Look at what a function gives, whatever objects that consists of."""
        self._readers.append(read)

    def take(self) -> None:
        """Remember how everything is now.

        Most containers are empty: to ask whether any is not takes a third of the time that their
        lengths take. And most of these are registries of hooks, whose changes are counted: as long
        as there was none anywhere, they need not be asked (1 us for five layers).
        """
        self._changes_seen = registries.changes
        is_empty = [not len(each) and not hasattr(each, "__bool__") for each in self._sized]
        found = list(compress(self._sized, is_empty))
        self._empty = [each for each in found if not isinstance(each, Registry)]
        self._empty_registries = [each for each in found if isinstance(each, Registry)]
        self._lengths = [(each, len(each)) for each in compress(self._sized, map(not_, is_empty))]
        filled = [each for each in self._whole if each]
        self._views = [each.values() if isinstance(each, dict) else each for each in filled]
        self._views += self._keyed
        self._values = list(chain.from_iterable(self._views))
        self._entries = [(mapping, key, mapping[key]) for mapping, key in self._at]
        self._contents = [(cell, cell.cell_contents) for cell in self._cells]
        self._attributes = [(each, name, getattr(each, name)) for each, name in self._owners]
        self._codes = [(each, each.__code__, each.__defaults__) for each in self._functions]
        self._kinds = list(map(type, self._instances))
        self._read = [(read, read()) for read in self._readers]

    def is_same(self) -> bool:
        """Whether everything is as it was when last remembered."""
        if any(self._empty):
            return False
        if self._changes_seen != registries.changes and not self._are_still_empty():
            return False
        for container, length in self._lengths:
            if len(container) != length:
                return False
        if not all(map(is_, chain.from_iterable(self._views), self._values)):
            return False
        try:
            for mapping, key, value in self._entries:
                if mapping[key] is not value:
                    return False
            for cell, value in self._contents:
                if cell.cell_contents is not value:
                    return False
            for owner, name, value in self._attributes:
                if getattr(owner, name) is not value:
                    return False
        except (KeyError, ValueError, AttributeError):  # an entry or a variable's value is gone
            return False
        for function, code, defaults in self._codes:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        if not all(map(is_, map(type, self._instances), self._kinds)):
            return False
        return all(read() == value for read, value in self._read)

    def _are_still_empty(self) -> bool:
        seen = registries.changes
        if any(self._empty_registries):
            return False
        self._changes_seen = seen
        return True
