"""Another order of a schedule's steps: small ones first, so that large loops become neighbours."""

from __future__ import annotations

import heapq
from math import prod

from lamina.codegen.graph import Node
from lamina.codegen.steps import Loop, Schedule, Step, nodes_of, readers_of

SMALL: int = 1 << 14


def small_first(schedule: Schedule) -> list[Step]:
    """The steps, each after all that it needs; among those that could come next small loops."""
    steps = schedule.steps
    after = _needs(schedule)
    followers: dict[int, list[int]] = {}
    missing = {k: len(needed) for k, needed in enumerate(after)}
    for k, needed in enumerate(after):
        for other in needed:
            followers.setdefault(other, []).append(k)
    ready = [(_rank(step), k) for k, step in enumerate(steps) if not missing[k]]
    heapq.heapify(ready)
    ordered: list[Step] = []
    while ready:
        _, k = heapq.heappop(ready)
        ordered.append(steps[k])
        for follower in followers.get(k, ()):
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, (_rank(steps[follower]), follower))
    return ordered


def _rank(step: Step) -> int:
    return 0 if isinstance(step, Loop) and prod(step.shape) < SMALL else 1


def _needs(schedule: Schedule) -> list[set[int]]:
    """For each step the numbers of those that must come before it."""
    readers = readers_of(schedule.steps)
    makers: dict[int, set[int]] = {}
    for k, step in enumerate(schedule.steps):
        for node in nodes_of(step):
            for value in node.results:
                for around in schedule.graph.around(value):
                    makers.setdefault(around, set()).add(k)
    needs: list[set[int]] = []
    last_impure: int | None = None
    for k, step in enumerate(schedule.steps):
        needed: set[int] = set()
        for node in nodes_of(step):
            for view in node.views():
                needed |= makers.get(view.value, set())
            for value in node.results:  # inputs are overwritten when all have read them
                needed |= readers.get(schedule.homes.get(value, -1), set())
        if isinstance(step, Node) and not step.is_pure:
            needed |= set() if last_impure is None else {last_impure}
            last_impure = k
        needs.append(needed - {k})
    return needs
