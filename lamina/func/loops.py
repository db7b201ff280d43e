"""Telling, if asked, which mapped functions run sample by sample, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.positions import internal_files
from lamina.core.provenance import place_of
from lamina.core.warning import warn
from lamina.devices.batched import NeedsSamples
from lamina.errors import Place
from lamina.func.mapping_checks import name_of

__all__ = ["warn_of_loops"]

_is_wanted = False
_told: set[Any] = set()


def warn_of_loops(enabled: bool = True) -> None:
    """Ask for a warning wherever `vmap` has to run a function once for each sample.

    The warning names the expression that asked for it. Each place is told once.

    >>> from lamina.func import warn_of_loops
    >>> warn_of_loops()
    >>> warn_of_loops(False)
    """
    global _is_wanted
    _is_wanted = bool(enabled)
    _told.clear()


def tell(func: Callable[..., Any], size: int, need: NeedsSamples) -> None:
    """Warn, if that is wanted and the place was not told, that a function runs in a loop."""
    if not _is_wanted:
        return
    place = _asked_at(need)
    key = str(place) if place is not None else name_of(func)
    if key in _told:
        return
    _told.add(key)
    notes = [(blame.this_place(), "mapped here")]
    if place is not None:
        notes.insert(0, (place, "asked for here"))
    warn(
        errors.LoopedMapWarning(
            f"vmap runs `{name_of(func)}` once for each of {size} samples: {need.operation} is "
            "another for each of them",
            notes,
            ["for one run, choose between values with torch.where, and keep shapes the same"],
        )
    )


def _asked_at(need: NeedsSamples) -> Place | None:
    """The innermost expression of the user's that led to the question."""
    found, trace = None, need.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename not in internal_files:
            found = place_of(code, trace.tb_lasti)
        trace = trace.tb_next
    return found
