"""Capturing a step: everything done inside is written down instead of being computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lamina.core.modes import door
from lamina.devices.traced import Recorder


@contextmanager
def capture() -> Iterator[Recorder]:
    """Record all operations of the block as a flat program; concrete tensors become its inputs.

    The door sends every operation the general way, which lifts each concrete array into the
    program: also those of operations between tensors that the block merely reaches, such as an
    optimizer's state.
    """
    recorder = Recorder()
    door.watch(1)
    try:
        with recorder:
            yield recorder
    finally:
        door.watch(-1)
