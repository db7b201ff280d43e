"""Watching Python state: what containers held, and whether they still do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, compress
from operator import attrgetter, eq, getitem, is_, not_
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
        """Put back what it held."""
        self._put(self.values)


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, PLAIN) else f"a {type(value).__name__}"
    return text if len(text) < 40 else text[:37] + "..."


@final
class Glance:
    """A quick look at many containers at once, all of it in C: a few us for a model.

    It may take what is the same for changed (an equal number that is another object), never the
    other way round.
    """

    def __init__(self) -> None:
        self._sized: list[Any] = []
        self._iterables: list[Any] = []
        self._mappings: list[Any] = []
        self._keys: list[Any] = []
        self._cells: list[Any] = []
        self._expected: tuple[Any, ...] = ()
        self._empty: list[Any] = []
        self._empty_registries: list[Any] = []
        self._filled: list[Any] = []
        self._changes_seen = 0

    def at_all(self, container: Any) -> None:
        """Look at all entries of a dict or a list."""
        self._sized.append(container)
        self._iterables.append(container.values() if isinstance(container, dict) else container)

    def at_length(self, container: Any) -> None:
        """Look at how many entries there are."""
        self._sized.append(container)

    def at_entry(self, mapping: Any, key: Any) -> None:
        """Look at one entry of a dict."""
        self._mappings.append(mapping)
        self._keys.append(key)

    def at_cell(self, cell: Any) -> None:
        """Look at a variable of a closure."""
        self._cells.append(cell)

    def _now(self) -> tuple[Any, ...]:
        return (
            list(map(len, self._filled)),
            list(chain.from_iterable(self._iterables)),
            list(map(getitem, self._mappings, self._keys)),
            list(map(_CONTENTS, self._cells)),
        )

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
        self._filled = list(compress(self._sized, map(not_, is_empty)))
        self._expected = self._now()

    def is_same(self) -> bool:
        """Whether everything is as it was when last remembered."""
        expected = self._expected
        try:
            return (
                not any(self._empty)
                and (self._changes_seen == registries.changes or self._are_still_empty())
                and all(map(eq, map(len, self._filled), expected[0]))
                and all(map(is_, chain.from_iterable(self._iterables), expected[1]))
                and all(map(is_, map(getitem, self._mappings, self._keys), expected[2]))
                and all(map(is_, map(_CONTENTS, self._cells), expected[3]))
            )
        except (KeyError, ValueError):  # an entry, or a variable's value, is gone
            return False

    def _are_still_empty(self) -> bool:
        seen = registries.changes
        if any(self._empty_registries):
            return False
        self._changes_seen = seen
        return True


_CONTENTS: Final = attrgetter("cell_contents")
