"""Which nodes fold into one box: calls of modules, and parts of long stretches.

Operations are taken in the order in which they ran, and a box holds a stretch of them without gaps.
So a folded graph has no cycles, and a module that is called twice has two boxes. A stretch that is
too long to look at is divided: into its repeats where the program went through a loop, else evenly.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple, final

from lamina.explain.graphs.calls import Chain
from lamina.explain.graphs.model import Edge, Group, Node

MOST_IN_A_BOX: Final = 48
"""Longer stretches are divided."""


@final
@dataclass(eq=False)
class Branch:
    """A box that is being filled: operations (their places in the order of running) and boxes."""

    label: str
    path: str
    detail: str
    kind: Literal["module", "part"]
    items: list[int | Branch] = field(default_factory=list)


class Folded(NamedTuple):
    """The groups, and the nodes with the numbers of their groups."""

    groups: tuple[Group, ...]
    nodes: tuple[Node, ...]


def fold(nodes: Sequence[Node], edges: Sequence[Edge], chains: Sequence[Chain]) -> Folded:
    """Put nodes into groups; `chains` are the boxes around each operation, in order of running."""
    running = [node for node in nodes if node.kind == "operation"]
    top = _tree(chains)
    _divide(top, running)
    groups: list[Group] = []
    group_of: dict[int, int] = {}
    _number(top, None, running, groups, group_of)
    _place_tensors(nodes, edges, groups, group_of)
    return Folded(
        tuple(groups), tuple(replace(node, group=group_of.get(node.id)) for node in nodes)
    )


def _tree(chains: Sequence[Chain]) -> Branch:
    """The boxes of modules, from the boxes around each operation."""
    top = Branch("", "", "", "module")
    open_now: list[tuple[Hashable, Branch]] = [(None, top)]
    for place, chain in enumerate(chains):
        depth = 0
        while depth < min(len(chain), len(open_now) - 1) and (
            open_now[depth + 1][0] == chain[depth].key
        ):
            depth += 1
        del open_now[depth + 1 :]
        for part in chain[depth:]:
            above = open_now[-1][1]
            label = part.path.removeprefix(f"{above.path}.") if above.path else part.path
            made = Branch(label, part.path, type(part.module).__name__, "module")
            above.items.append(made)
            open_now.append((part.key, made))
        open_now[-1][1].items.append(place)
    return top


# --- long stretches -------------------------------------------------------------------------------


def _divide(branch: Branch, running: Sequence[Node]) -> None:
    """Divide what is too long, innermost first."""
    for item in branch.items:
        if isinstance(item, Branch):
            _divide(item, running)
    if len(branch.items) <= MOST_IN_A_BOX:
        return
    repeats = _repeats([_kind_of(item, running) for item in branch.items])
    if 2 <= len(repeats) <= len(branch.items) // 2:
        parts = [
            _part(branch, f"repeat {number}", branch.items[start:end], running)
            for number, (start, end) in enumerate(repeats, 1)
        ]
        for part in parts:  # a repeat may itself be long
            if len(part.items) < len(branch.items):
                _divide_evenly(part, "part", running)
        branch.items = [p.items[0] if len(p.items) == 1 else p for p in parts]
        _divide_evenly(branch, "repeats", running)
    else:
        _divide_evenly(branch, "part", running)


def _divide_evenly(branch: Branch, word: str, running: Sequence[Node]) -> None:
    """Cut a stretch into pieces of like length, and those into pieces again while they are many."""
    while len(branch.items) > MOST_IN_A_BOX:
        length = min(MOST_IN_A_BOX, max(2, math.isqrt(len(branch.items) - 1) + 1))
        count = math.ceil(len(branch.items) / length)
        pieces: list[int | Branch] = []
        for number in range(count):
            start = number * length
            items = branch.items[start : start + length]
            numbered = f"{word} {start + 1}-{start + len(items)}"
            label = numbered if word == "repeats" else f"{word} {number + 1} of {count}"
            pieces.append(_part(branch, label, items, running))
        branch.items = pieces


def _kind_of(item: int | Branch, running: Sequence[Node]) -> Hashable:
    """What is alike in every turn of a loop."""
    if isinstance(item, Branch):
        return item.detail
    node = running[item]
    place = node.place
    return (node.word, None if place is None else (place.file, place.line, place.start))


def _repeats(kinds: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Where a sequence begins again: a stretch ends before a kind that it has already."""
    found: list[tuple[int, int]] = []
    start = 0
    seen: set[Hashable] = set()
    for place, kind in enumerate(kinds):
        if kind in seen and kind == kinds[start]:
            found.append((start, place))
            start, seen = place, set()
        seen.add(kind)
    return [*found, (start, len(kinds))]


def _part(
    around: Branch, label: str, items: Sequence[int | Branch], running: Sequence[Node]
) -> Branch:
    return Branch(label, around.path, _lines(items, running), "part", list(items))


def _lines(items: Sequence[int | Branch], running: Sequence[Node]) -> str:
    """The lines of the program that a stretch comes from, if they are in one file."""
    places = [running[place].place for place in _operations(items)]
    known = [place for place in places if place is not None and place.line]
    files = {place.file for place in known}
    if len(files) != 1:
        return ""
    low, high = min(p.line for p in known), max(p.line for p in known)
    return f"{files.pop()}:{low}" + (f"-{high}" if high > low else "")


def _operations(items: Sequence[int | Branch]) -> list[int]:
    found: list[int] = []
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        if isinstance(item, Branch):
            waiting.extend(item.items)
        else:
            found.append(item)
    return found


# --- numbers --------------------------------------------------------------------------------------


def _number(
    branch: Branch,
    number: int | None,
    running: Sequence[Node],
    groups: list[Group],
    group_of: dict[int, int],
) -> None:
    """Number the boxes, outer ones first, and note the box of each operation."""
    for item in branch.items:
        if not isinstance(item, Branch):
            if number is not None:
                group_of[running[item].id] = number
            continue
        own = len(groups)
        groups.append(Group(own, number, item.label, item.path, item.detail, item.kind))
        _number(item, own, running, groups, group_of)


def _place_tensors(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    groups: Sequence[Group],
    group_of: dict[int, int],
) -> None:
    """A leaf, or data, stands in the innermost box around everything that uses it."""
    above = ancestry(groups)
    shared: dict[int, tuple[int, ...]] = {}
    for edge in edges:
        if nodes[edge.source].kind == "operation":
            continue
        group = group_of.get(edge.target)
        around = () if group is None else above[group]
        known = shared.get(edge.source)
        if known is None:
            shared[edge.source] = around
        else:
            length = next(
                (k for k, (a, b) in enumerate(zip(known, around, strict=False)) if a != b),
                min(len(known), len(around)),
            )
            shared[edge.source] = known[:length]
    group_of.update({node: around[-1] for node, around in shared.items() if around})


def ancestry(groups: Sequence[Group]) -> list[tuple[int, ...]]:
    """For each group the groups around it, outermost first, and itself."""
    found: list[tuple[int, ...]] = []
    for group in groups:
        found.append((*(() if group.parent is None else found[group.parent]), group.id))
    return found
