"""What the demo writes on: plain text, with colour and a moving bar on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar, final

from lamina.utils.progress import Progress

Item = TypeVar("Item")

BOLD, DIM, GREEN, CYAN, RESET = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[36m", "\x1b[0m"


@final
class Screen:
    """Writes the demo's text. Progress goes to stderr, so that the text can be piped."""

    def __init__(self, out: TextIO | None = None, progress: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._progress = sys.stderr if progress is None else progress
        self._has_colour = self._out.isatty() and not os.environ.get("NO_COLOR")

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{RESET}" if self._has_colour else text

    def line(self, text: str = "") -> None:
        """One line of text."""
        print(text, file=self._out)

    def title(self, text: str) -> None:
        """The title of a part."""
        self.line()
        self.line(self._styled(text, BOLD))
        self.line(self._styled("=" * len(text), DIM))

    def heading(self, text: str) -> None:
        """The heading of one item."""
        self.line()
        self.line(self._styled(text, BOLD))

    def code(self, program: str) -> None:
        """A program, indented."""
        for text in program.splitlines():
            self.line("    " + self._styled(text, CYAN))

    def answer(self, question: str, value: str) -> None:
        """An expression and its value."""
        first, *rest = value.splitlines() or [""]
        self.line(f"    {question:<34} {self._styled('->', DIM)} {self._styled(first, GREEN)}")
        for text in rest:
            self.line("      " + text)

    def reason(self, question: str, text: str) -> None:
        """An explanation of several lines."""
        self.line(f"    {question}")
        for part in text.splitlines():
            self.line("      " + self._styled(part, DIM))

    def bar(self, items: Iterable[Item], count: int, label: str) -> Iterator[Item]:
        """Go through items with a progress bar (on a terminal), or a line at the end."""
        yield from Progress(items, count, label, self._progress)
