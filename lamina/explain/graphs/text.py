"""A graph as plain text, for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple, final

from lamina.devices.byte_counts import bytes_in_words
from lamina.explain.graphs.model import GraphModel, Node
from lamina.explain.graphs.view import Box, View, opened, view_of
from lamina.explain.graphs.words import clipped, content_of, extra_bytes, printable, totals_of

ALL_STEPS: Final = 30
"""A longer pass is shown by its beginning and its end."""
FIRST_STEPS: Final = 8
LAST_STEPS: Final = 3
NARROW: Final = 72
BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Signs(NamedTuple):
    """The signs that are no letters."""

    open: str
    folded: str
    ellipsis: str


UNICODE: Final = Signs("▾", "▸", "…")
ASCII: Final = Signs("-", "+", "...")


class Row(NamedTuple):
    """One line of the table; a heading has only `what`."""

    number: str
    what: str
    result: str = ""
    sources: str = ""
    keeps: str = ""
    place: str = ""


def text_of(
    model: GraphModel, width: int = 100, *, unicode: bool = True, colour: bool = False
) -> str:
    """The graph as lines of text.

    Args:
        model: The graph.
        width: How many columns there are.
        unicode: Whether signs beyond ASCII may be used for the drawing.
        colour: Whether to set headings off by a terminal's own means.
    """
    writer = _Writer(model, max(width, 40), UNICODE if unicode else ASCII, colour)
    text = "\n".join(writer.lines())
    return text if unicode else text.encode("ascii", "backslashreplace").decode("ascii")


@final
class _Writer:
    def __init__(self, model: GraphModel, width: int, signs: Signs, colour: bool) -> None:
        self.model = model
        self.width = width
        self.signs = signs
        self.colour = colour
        self.open = opened(model)
        self.view: View = view_of(model, self.open)
        self.sources: list[list[int]] = [[] for _ in self.view.boxes]
        for source, target, _ in self.view.links:
            self.sources[target].append(source)

    def lines(self) -> list[str]:
        """All lines."""
        first = f"Graph of {self.model.title}: {totals_of(self.model)}"
        notes = [line for note in self.model.notes for line in self._wrapped(f"note: {note}")]
        return [
            *map(self._bold, self._wrapped(first)),
            *notes,
            "",
            *self._table(self._rows()),
            "",
            *self._key(),
            *self._pass(),
        ]

    def _bold(self, text: str) -> str:
        return f"{BOLD}{text}{RESET}" if self.colour else text

    def _key(self) -> list[str]:
        """What the marks mean."""
        fails = any(node.problem for node in self.model.nodes)
        return [*self._wrapped("* the pass begins here" + "; ! it fails here" * fails), ""]

    # --- the table --------------------------------------------------------------------------------

    def _rows(self) -> list[Row]:
        """The boxes, those of a group together under its heading."""
        inside: dict[int | None, list[tuple[int, int | None, int | None]]] = {}
        for place, box in enumerate(self.view.boxes):
            around = self._around(box)
            inside.setdefault(around, []).append((box.nodes[0], place, None))
        for group in self.model.groups:
            if group.id in self.open:
                first = min((n.id for n in self.model.nodes if self._is_in(n, group.id)), default=0)
                inside.setdefault(group.parent, []).append((first, None, group.id))
        return self._rows_of(None, 0, inside)

    def _rows_of(
        self, group: int | None, depth: int,
        inside: dict[int | None, list[tuple[int, int | None, int | None]]],
    ) -> list[Row]:  # fmt: skip
        rows = []
        for _, place, inner in sorted(inside.get(group, []), key=lambda entry: entry[0]):
            if place is not None:
                rows.append(self._row(place, depth))
            elif inner is not None:
                found = self.model.groups[inner]
                title = f"{self.signs.open} {found.label}  {found.detail}".rstrip()
                rows.append(Row("", "  " * depth + title))
                rows += self._rows_of(inner, depth + 1, inside)
        return rows

    def _around(self, box: Box) -> int | None:
        if box.group is not None:
            return self.model.groups[box.group].parent
        assert box.node is not None
        return self.model.nodes[box.node].group

    def _is_in(self, node: Node, group: int) -> bool:
        around = node.group
        while around is not None and around != group:
            around = self.model.groups[around].parent
        return around == group

    def _row(self, place: int, depth: int) -> Row:
        box = self.view.boxes[place]
        nodes = [self.model.nodes[number] for number in box.nodes]
        kept = extra_bytes(nodes)
        sources = " ".join(self._reference(other) for other in sorted(self.sources[place]))
        keeps = bytes_in_words(kept) if kept else ""
        indent = "  " * depth
        if box.group is not None:
            group = self.model.groups[box.group]
            what = f"{indent}{self.signs.folded} {group.label}  {group.detail}".rstrip()
            return Row(self._reference(place), what, content_of(nodes), sources, keeps)
        node = nodes[0]
        mark = "! " if node.problem else "* " if node.id in self.model.roots else ""
        what = f"{indent}{mark}{node.word}" + (f" {node.name}" if node.name else "")
        source = "" if node.place is None else f"{node.place}  {node.place.expression}".rstrip()
        return Row(self._reference(place), what, str(node.outputs[0]), sources, keeps, source)

    def _reference(self, place: int) -> str:
        return f"#{self.view.boxes[place].nodes[0]}"

    def _table(self, rows: Sequence[Row]) -> list[str]:
        head = Row("", "what", "result", "from", "keeps", "source")
        named = [head, *rows]
        most = [6, max(24, self.width // 3), max(18, self.width // 4), 20, 8]
        sizes = [min(limit, max(len(row[k]) for row in named)) for k, limit in enumerate(most)]
        left = self.width - sum(sizes) - 2 * len(sizes)
        shown = []
        for row in named:
            is_heading = row is not head and not row.number
            if is_heading:
                shown.append(
                    self._bold(clipped(" " * (sizes[0] + 2) + printable(row.what), self.width))
                )
                continue
            cells = [
                clipped(printable(row[k]), size, self.signs.ellipsis).ljust(size)
                for k, size in enumerate(sizes)
            ]
            place = clipped(printable(row.place), left, self.signs.ellipsis) if left >= 8 else ""
            line = "  ".join([*cells, place]).rstrip()[: self.width]
            shown.append(f"{DIM}{line}{RESET}" if self.colour and row is head else line)
        return shown

    # --- the pass ---------------------------------------------------------------------------------

    def _pass(self) -> list[str]:
        steps = self.model.steps
        head = f"Backward, {len(steps)} steps (the newest operation first):"
        lines = list(map(self._bold, self._wrapped(head)))
        if len(steps) <= ALL_STEPS:
            return lines + self._steps(range(len(steps)))
        left_out = len(steps) - FIRST_STEPS - LAST_STEPS
        lines += self._steps(range(FIRST_STEPS))
        lines.append(f"      {self.signs.ellipsis} {left_out} more steps")
        return lines + self._steps(range(len(steps) - LAST_STEPS, len(steps)))

    def _steps(self, numbers: Sequence[int]) -> list[str]:
        lines = []
        for number in numbers:
            head = f"{number + 1:4}. "
            parts = self._wrapped(self.model.steps[number].sentence, self.width - 6)
            lines += [(head if k == 0 else " " * 6) + part for k, part in enumerate(parts)]
        return lines

    def _wrapped(self, text: str, width: int | None = None) -> list[str]:
        return textwrap.wrap(printable(text), width or self.width)
