"""Warnings at the line of the user's program that led to them."""

from __future__ import annotations

import sys
import warnings

from lamina.core.positions import user_frame


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn as `warnings.warn` does, at the nearest line that is the user's.

    However deep in the library the warning is given, it names the user's file and line, so filters
    by module and "once for each place" work on their program.

    Args:
        message: The text, or a warning, whose class is then the category.
        category: The class.
    """
    frame = sys._getframe(1)
    found = user_frame(frame)
    level = 2
    while frame is not found and frame.f_back is not None:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
