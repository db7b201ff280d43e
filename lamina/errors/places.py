"""Where in the user's source something happened, and how a diagnostic is drawn.

A `Place` is one expression in one file. `render` draws a headline, places with carets under
the expression, and lines of help:

    `h`, kept for the derivative of tanh, was modified by an inplace operation [L201]
      train.py:14   h += 1
                    ^^^^^^ changed here: version 0 -> 1
      train.py:12   h = torch.tanh(x @ w)
                        ^^^^^^^^^^^^^^^^^ its result was kept here, for tanh's derivative
      help: write `h = h + 1`, or change a copy: `h = h.clone()`

Columns are counted in characters; on the way to the screen tabs become spaces and wide
characters count twice, so the carets stand under what they mean.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

TAB_WIDTH = 4
SOURCE_WIDTH = 88
ELLIPSIS = "..."


class Place(NamedTuple):
    """An expression in the user's source.

    Args:
        file: Short name of the file, to show.
        line: Number of the line on which the expression starts; 0 if unknown.
        text: The source line(s) that the expression stands on, without common indent;
            empty if the source is not known.
        start: Column in the first line of `text` at which the expression starts.
        end: Column after its last character; the end of the first line if it goes on below.
        expression: Source of the expression, on one line.
        function: Name of the function that the expression is in.
        operands: Sources of the expression's operands; None if not known.

    Example:
        >>> str(Place("train.py", 14, "h += 1", 0, 6, "h += 1", "main"))
        'train.py:14'
    """

    file: str
    line: int
    text: str = ""
    start: int = 0
    end: int = 0
    expression: str = ""
    function: str = ""
    operands: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


Note: TypeAlias = tuple[Place | None, str]


def render(
    headline: str,
    code: str,
    notes: Sequence[Note] = (),
    help: Sequence[str] = (),
) -> str:
    """The text of a diagnostic.

    Args:
        headline: What happened, in one sentence.
        code: The diagnostic's code, such as "L201"; left out if empty.
        notes: Pairs of a place and what happened there; without a place, a remark.
        help: Repairs, one line each.

    Example:
        >>> place = Place("a.py", 3, "y = x * 2", 4, 9, "x * 2", "f")
        >>> print(render("`y` is not a leaf", "L103", [(place, "computed here")], ["use `x`"]))
        `y` is not a leaf [L103]
          a.py:3   y = x * 2
                       ^^^^^ computed here
          help: use `x`
    """
    lines = [f"{headline} [{code}]" if code else headline]
    labels = [str(place) for place, _ in notes if place is not None]
    margin = max((_width(label) for label in labels), default=0)
    for place, remark in notes:
        if place is None:
            lines += _indented(remark, "  ")
        else:
            lines += _frame(place, remark, margin)
    for repair in help:
        lines += _indented(repair, "  help: ")
    return "\n".join(lines)


def _frame(place: Place, remark: str, margin: int) -> list[str]:
    """The lines that show one place, with its label padded to `margin` columns."""
    label = str(place)
    head = "  " + label + " " * (margin - _width(label)) + "   "
    indent = " " * (margin + 5)
    if not place.text.strip():
        return _indented(remark or "(source not available)", head)
    first, _, rest = place.text.partition("\n")
    before, marked, after = _cut(first, place.start, place.end)
    if rest:
        after += " " + ELLIPSIS
    before, marked, after = _clipped(before, marked, after)
    lines = [(head + before + marked + after).rstrip()]
    carets = indent + " " * _width(before) + "^" * max(1, _width(marked))
    return lines + _indented(remark, carets + " ", indent)


def _cut(line: str, start: int, end: int) -> tuple[str, str, str]:
    """`line` before, inside and after columns `start:end`, fit for display.

    >>> _cut("\\ty = x", 5, 6)
    ('    y = ', 'x', '')
    """
    stripped = line.rstrip()
    start = min(max(start, 0), len(stripped))
    end = min(max(end, start), len(stripped))
    parts, column = [], 0
    for part in (stripped[:start], stripped[start:end], stripped[end:]):
        shown = []
        for character in part:
            if character == "\t":
                character = " " * (TAB_WIDTH - column % TAB_WIDTH)
            elif not character.isprintable() and not _is_mark(character):
                character = " "
            shown.append(character)
            column += _width(character)
        parts.append("".join(shown))
    return parts[0], parts[1], parts[2]


def _clipped(before: str, marked: str, after: str) -> tuple[str, str, str]:
    """The three parts of a line, shortened to SOURCE_WIDTH columns around the marked one."""
    if _width(before) + _width(marked) + _width(after) <= SOURCE_WIDTH:
        return before, marked, after
    room = SOURCE_WIDTH - 2 * len(ELLIPSIS)
    if _width(marked) > room:
        marked, after = _take(marked, room), ELLIPSIS
        return (ELLIPSIS if before else ""), marked, after
    room -= _width(marked)
    left = min(_width(before), max(room // 2, room - _width(after)))
    if left < _width(before):
        before = ELLIPSIS + _take(before, left, from_end=True)
    right = max(0, room - left)
    if right < _width(after):
        after = _take(after, right) + ELLIPSIS
    return before, marked, after


def _take(text: str, width: int, from_end: bool = False) -> str:
    """As many characters of `text` as fit into `width` columns.

    >>> _take("abcdef", 2), _take("abcdef", 2, from_end=True)
    ('ab', 'ef')
    """
    kept: list[str] = []
    for character in reversed(text) if from_end else text:
        width -= _width(character)
        if width < 0:
            break
        kept.append(character)
    return "".join(reversed(kept) if from_end else kept)


def _is_mark(character: str) -> bool:
    """Whether a character is drawn onto the one before it, or not at all."""
    return unicodedata.category(character) in ("Mn", "Me", "Cf")


def _width(text: str) -> int:
    """How many columns a terminal uses for `text`.

    >>> _width("abc"), _width("重み"), _width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if _is_mark(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def _indented(text: str, head: str, hang: str | None = None) -> list[str]:
    """Lines of `text`, the first after `head`, the others below it."""
    first, *others = text.split("\n") if text else [""]
    margin = " " * _width(head)
    if hang is not None and len(margin) > SOURCE_WIDTH // 2:
        margin = hang
    return [(head + first).rstrip()] + [(margin + other).rstrip() for other in others]
