"""How a tensor came about: the expressions from the leaves to it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from lamina.core.blame import reading
from lamina.core.blame.words import nodes_behind
from lamina.core.provenance import assigned_name, place_of
from lamina.errors import Place

SHOWN_FIRST: Final = 3
SHOWN_LAST: Final = 2
FEWEST: Final = 3
"""Shorter histories are told by the places of an explanation."""
WIDTH: Final = 45


class Step(NamedTuple):
    """One expression of the program, and how often it took part."""

    place: Place
    name: str | None
    """The name that its result was given."""
    times: int

    def __str__(self) -> str:
        text = self.place.expression
        if self.name is not None and reading.is_expression(text):
            text = f"{self.name} = {text}"
        shown = text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
        if not text:
            shown = str(self.place)
        return f"`{shown}`" + (f" ({self.times} times)" if self.times > 1 else "")


def steps_to(node: Any) -> tuple[Step, ...]:
    """The expressions that the result of a node came about by, in their order."""
    nodes = sorted(nodes_behind(node), key=lambda one: one.stamp)
    times: dict[Any, int] = {}
    for node in nodes:
        position = node.code, node.lasti
        times[position] = times.get(position, 0) + 1
    steps = [Step(place_of(*one), assigned_name(*one), count) for one, count in times.items()]
    return tuple(_by_expression(steps))


def _by_expression(steps: list[Step]) -> list[Step]:
    """One step for each expression: those of a layer's operations all stand at its call."""
    found: dict[Place, Step] = {}
    for step in steps:
        found.setdefault(step.place, step)
    return list(found.values())


def in_words(steps: tuple[Step, ...], names: list[str]) -> str:
    """A history as one line, its middle left out; empty where it is not worth one.

    Args:
        steps: The expressions, oldest first.
        names: What the program calls the leaves that they begin with.
    """
    if len(steps) < FEWEST:
        return ""
    shown = middle_left_out([str(step) for step in steps])
    start = f" from {', '.join(f'`{name}`' for name in names[:3])}" if names else ""
    if len(names) > 3:
        start += f" and {len(names) - 3} more"
    return f"it came about{start} by: " + ", ".join(shown)


def middle_left_out(parts: list[str]) -> list[str]:
    """The first and the last parts, with the number of those between.

    >>> middle_left_out(list("abcdefgh"))
    ['a', 'b', 'c', '3 more', 'g', 'h']
    """
    left_out = len(parts) - SHOWN_FIRST - SHOWN_LAST
    if left_out > 1:
        return [*parts[:SHOWN_FIRST], f"{left_out} more", *parts[-SHOWN_LAST:]]
    return parts
