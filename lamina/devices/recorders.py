"""Which recorder, if any, writes down what a thread does. Apart from it: every operation asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from lamina.devices.traced import Recorder


@final
class Recorders(threading.local):
    """The recorders that this thread has entered."""

    def __init__(self) -> None:
        self.entered: list[Recorder] = []


recorders: Final = Recorders()


def current_recorder() -> Recorder | None:
    """The recorder of the innermost `with recorder:` block of this thread, or None."""
    return recorders.entered[-1] if recorders.entered else None


@contextmanager
def paused() -> Iterator[None]:
    """Let nothing be written down in a block: what it computes is no part of the program."""
    entered = recorders.entered
    recorders.entered = []
    try:
        yield
    finally:
        recorders.entered = entered
