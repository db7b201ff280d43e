"""One line that tells how far a loop is: on a terminal it moves, in a log it is rare."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Final, Generic, Self, TextIO, TypeVar, final

Item = TypeVar("Item")

BAR_WIDTH: Final = 30
SECONDS_BETWEEN_DRAWS: Final = 0.1
SECONDS_BETWEEN_LINES: Final = 30.0
"""How often a line is written where lines stay, such as in a log."""

__all__ = ["Progress", "progress"]


@final
class Progress(Generic[Item]):
    """A line with a bar, a count, numbers such as the loss, and times.

    Example:
        >>> import sys
        >>> from lamina.utils.progress import Progress
        >>> with Progress(total=2, title="training", file=sys.stdout) as line:
        ...     for loss in (0.5, 0.25):
        ...         line.advance(loss=loss)
        training: 2 of 2  loss 0.25  ... s

    Args:
        items: What is gone through, where the line itself is iterated over.
        total: How many steps there are; the length of `items` unless given, else unknown.
        title: What the line begins with.
        file: Where it is written; stderr unless given.
    """

    def __init__(
        self, items: Iterable[Item] | None = None, total: int | None = None, title: str = "",
        file: TextIO | None = None,
    ) -> None:  # fmt: skip
        self._items = items
        self._total = _length_of(items) if total is None else total
        self._title = title
        self._file = sys.stderr if file is None else file
        self._is_terminal = self._file.isatty()
        self._values: dict[str, Any] = {}
        self._done = 0
        self._width = 0
        self._started = self._drawn = time.monotonic()

    def __iter__(self) -> Iterator[Item]:
        with self:
            for item in self._items or ():
                yield item
                self.advance()

    def __enter__(self) -> Self:
        self._started = self._drawn = time.monotonic()
        if self._is_terminal:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._draw()
        if self._is_terminal:
            print(file=self._file)

    def note(self, **values: Any) -> None:
        """Show numbers beside the count. Tensors are read when the line is drawn, not before."""
        for name, value in values.items():
            # Only the number is wanted: the graph behind it must not live on.
            self._values[name] = value.detach() if hasattr(value, "detach") else value

    def advance(self, steps: int = 1, **values: Any) -> None:
        """Count steps that are done, and show numbers as `note` does."""
        self._done += steps
        if values:
            self.note(**values)
        now = time.monotonic()
        pause = SECONDS_BETWEEN_DRAWS if self._is_terminal else SECONDS_BETWEEN_LINES
        if now - self._drawn >= pause:
            self._drawn = now
            self._draw()

    def _draw(self) -> None:
        text = self._text()
        if self._is_terminal:
            print("\r" + text.ljust(self._width), end="", file=self._file, flush=True)
            self._width = len(text)
        else:
            print(text, file=self._file, flush=True)

    def _text(self) -> str:
        seconds = time.monotonic() - self._started
        parts = [self._count()]
        parts += [f"{name} {_short(value)}" for name, value in self._values.items()]
        parts.append(f"{seconds:.1f} s")
        if self._total and 0 < self._done < self._total:
            parts.append(f"{seconds / self._done * (self._total - self._done):.0f} s left")
        separator = " " if self._is_terminal else ": "
        return (self._title + separator if self._title else "") + "  ".join(parts)

    def _count(self) -> str:
        if not self._total:
            return f"{self._done} steps"
        if not self._is_terminal:
            return f"{self._done} of {self._total}"
        filled = min(BAR_WIDTH * self._done // self._total, BAR_WIDTH)
        return f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {self._done}/{self._total}"


def progress(
    items: Iterable[Item], total: int | None = None, title: str = "", file: TextIO | None = None
) -> Progress[Item]:
    """Go through items with a line that tells how far that is; see `Progress`.

    Example:
        >>> import sys
        >>> from lamina.utils.progress import progress
        >>> for batch in progress([1, 2, 3], title="epoch 1", file=sys.stdout):
        ...     pass
        epoch 1: 3 of 3  ... s
    """
    return Progress(items, total, title, file)


def _length_of(items: Any) -> int | None:
    try:
        return len(items)
    except TypeError:
        return None


def _short(value: Any) -> str:
    """A number with four digits; what is none as it is."""
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError, RuntimeError):
        return str(value)
