"""Version cells: how a change in place is noticed by those who kept the old value.

A cell belongs to a piece of memory. It is made when first needed and shared by a base, its views
and `detach()`. A kept value is out of date if the cell's last change is younger than the node that
kept it; both take their stamps from the same counter, so keeping a value costs nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from types import CodeType
from typing import Any, Final, NamedTuple, final

next_stamp: Final = itertools.count(1).__next__
"""Gives each node, and each change in place, a number that only grows."""

# Enough to find the first change after a node was recorded in any loop that a person debugs;
# an optimizer's parameters change without end, so the list must be bounded.
REMEMBERED_CHANGES: Final = 16


class Change(NamedTuple):
    """One change in place: when, and where in the user's program."""

    stamp: int
    code: CodeType
    lasti: int


@final
class VersionCell:
    """Counts the changes made in place to one piece of memory."""

    __slots__ = ("changed_at", "changes", "shared_at", "version")

    def __init__(self) -> None:
        self.version = 0
        self.changed_at = 0
        self.shared_at: tuple[CodeType, int] | None = None
        """Where `detach()` last made another tensor over this memory."""
        # A list when first needed, bounded by hand: an empty deque would take 600 bytes a cell.
        self.changes: list[Change] | None = None

    def bump(self, code: CodeType, lasti: int) -> None:
        """Note one more change, made at a position of the user's program."""
        bump_all((self,), code, lasti)

    def first_change_after(self, stamp: int) -> Change | None:
        """The oldest remembered change that is younger than `stamp`."""
        return next((change for change in self.changes or () if change.stamp > stamp), None)

    def version_at(self, stamp: int) -> int:
        """The version when `stamp` was given (a lower bound once changes were forgotten)."""
        return self.version - sum(change.stamp > stamp for change in self.changes or ())


def bump_all(cells: Iterable[VersionCell], code: CodeType, lasti: int) -> None:
    """Note one more change of each, all made at once (0.2 us each instead of 0.5)."""
    stamp = next_stamp()
    change = tuple.__new__(Change, (stamp, code, lasti))  # without a call of Python's: 0.2 us
    for cell in cells:
        cell.version += 1
        cell.changed_at = stamp
        changes = cell.changes
        if changes is None:
            cell.changes = [change]
            continue
        if len(changes) >= REMEMBERED_CHANGES:
            del changes[0]
        changes.append(change)


# Inference tensors share this one: they have no version, and nothing may keep them for backward.
INFERENCE: Final[Any] = VersionCell()
