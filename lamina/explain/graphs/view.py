"""What is drawn of a graph: some groups open, the others folded into one box each."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final, final

from lamina.explain.graphs.folding import ancestry
from lamina.explain.graphs.model import GraphModel

READABLE: Final = 45
"""So many boxes can be looked at without getting lost."""


def opened(model: GraphModel, most: int = READABLE) -> frozenset[int]:
    """The groups to open at first: level by level, as long as not more than `most` boxes are drawn.

    Groups of one level are opened together or not at all, so that like looks alike.
    """
    inside = [0] * len(model.groups)
    visible = 0
    parents = [group.parent for group in model.groups] + [node.group for node in model.nodes]
    for around in parents:
        if around is None:
            visible += 1
        else:
            inside[around] += 1
    depths = [len(around) for around in ancestry(model.groups)]
    found: set[int] = set()
    for depth in range(1, max(depths, default=0) + 1):
        level = [group for group, own in enumerate(depths) if own == depth]
        visible += sum(inside[group] - 1 for group in level)
        if visible > most:
            break
        found.update(level)
    return frozenset(found)


@final
@dataclass(frozen=True, slots=True)
class Box:
    """One visible thing: a node, or a folded group.

    Args:
        node, group: The number of the one that it is; the other is None.
        nodes: The nodes that it stands for.
    """

    node: int | None
    group: int | None
    nodes: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class View:
    """The boxes, in the order of running, and (source, target, whether any gradient is wanted)."""

    boxes: tuple[Box, ...]
    links: tuple[tuple[int, int, bool], ...]


def view_of(model: GraphModel, is_open: Set[int]) -> View:
    """What is visible if these groups are open."""
    above = ancestry(model.groups)
    members: dict[tuple[str, int], list[int]] = {}
    for node in model.nodes:
        around = () if node.group is None else above[node.group]
        folded = next((group for group in around if group not in is_open), None)
        key = ("node", node.id) if folded is None else ("group", folded)
        members.setdefault(key, []).append(node.id)
    boxes = tuple(
        Box(number if kind == "node" else None, number if kind == "group" else None, tuple(inside))
        for (kind, number), inside in members.items()
    )
    place = {node: k for k, box in enumerate(boxes) for node in box.nodes}
    links: dict[tuple[int, int], bool] = {}
    for edge in model.edges:
        ends = place[edge.source], place[edge.target]
        if ends[0] != ends[1]:
            links[ends] = links.get(ends, False) or edge.state != "unwanted"
    return View(boxes, tuple((*ends, wanted) for ends, wanted in links.items()))
