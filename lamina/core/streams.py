"""The default streams of random numbers: one for each device, all started by the same seed.

A thread may have default streams of its own, as a worker process would: then what it draws and
seeds concerns no other thread.
"""

from __future__ import annotations

import threading
from typing import Any, Final, final

from lamina.core.generator import Generator, default_generator
from lamina.devices import CPU, device


@final
class _Streams:
    """Default streams that belong together."""

    __slots__ = ("cpu", "of_device")

    def __init__(self, cpu: Generator) -> None:
        self.cpu = cpu
        self.of_device: dict[device, Generator] = {}


@final
class _Thread(threading.local):
    """Which default streams the current thread draws from."""

    streams: _Streams = _Streams(default_generator)


_thread: Final = _Thread()


def use_own_streams(seed: int) -> None:
    """Give the current thread default streams of its own, started by a seed."""
    _thread.streams = _Streams(Generator(seed))


def stream_of(place: device) -> Generator:
    """The default stream of a device: another one than the CPU's has numbers of its own.

    It starts from the seed that the CPU's started from, so it gives the same numbers.
    """
    streams = _thread.streams
    if place is CPU or place.type != "cuda":
        return streams.cpu
    found = streams.of_device.get(place)
    if found is None:
        made = Generator(streams.cpu.initial_seed())
        found = streams.of_device.setdefault(place, made)
    return found


def seed_all(seed: int) -> None:
    """Start all streams over from a seed."""
    streams = _thread.streams
    streams.cpu.manual_seed(seed)
    for stream in list(streams.of_device.values()):
        stream.manual_seed(seed)


def states() -> dict[device, Any]:
    """The states of all streams, to go back to."""
    streams = _thread.streams
    found = {place: stream.get_state() for place, stream in list(streams.of_device.items())}
    return {CPU: streams.cpu.get_state(), **found}


def restore(saved: dict[device, Any]) -> None:
    """Let all streams go on from the states that `states` gave."""
    for place, state in saved.items():
        stream_of(place).set_state(state)
