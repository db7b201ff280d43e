"""Sums of times as a table of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["as_table", "duration"]

# How many microseconds one has, and how it is written.
_UNITS: Final = {"s": 1_000_000.0, "ms": 1_000.0, "us": 1.0}
_GAP: Final = "  "
_NUMBER_WIDTH: Final = 12


def duration(microseconds: float, unit: str | None = None) -> str:
    """A time in a unit, or in the one that suits it.

    >>> duration(12.5), duration(2500.0), duration(2500.0, "us")
    ('12.500us', '2.500ms', '2500.000us')
    """
    if unit not in _UNITS:
        unit = next((name for name, size in _UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def as_table(
    events: Sequence[Any], whole: float, name_width: int, shapes_width: int, header: str | None,
    unit: str | None,
) -> str:  # fmt: skip
    """Events, or sums of them, one a line; below them how long all took.

    Args:
        events: What is shown, in order.
        whole: The time of which shares are told.
        name_width: How wide names may be.
        shapes_width: How wide shapes may be.
        header: A line above the table.
        unit: The unit of all times; None is what suits each.
    """
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    titles.append("# of Calls")
    rows = [_row(event, whole, name_width, unit) for event in events]
    if any(event.input_shapes for event in events):
        titles.append("Input Shapes")
        for event, row in zip(events, rows, strict=True):
            row.append(_cut(str(event.input_shapes), shapes_width))
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    widths = [widths[0], *(max(width, _NUMBER_WIDTH) for width in widths[1:])]
    line = _GAP.join("-" * width for width in widths)
    lines = [line, _joined(titles, widths), line, *(_joined(row, widths) for row in rows), line]
    if header is not None:
        lines = ["=" * len(line), header, *lines]
    return "\n".join([*lines, f"Self CPU time total: {duration(whole, unit)}", ""])


def _row(event: Any, whole: float, name_width: int, unit: str | None) -> list[str]:
    return [
        _cut(event.key, name_width),
        _percent(event.self_cpu_time_total, whole),
        duration(event.self_cpu_time_total, unit),
        _percent(event.cpu_time_total, whole),
        duration(event.cpu_time_total, unit),
        duration(event.cpu_time, unit),
        str(event.count),
    ]


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
