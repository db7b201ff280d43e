"""The default streams of random numbers: one for each device, all started by the same seed."""

from __future__ import annotations

from typing import Any, Final

from lamina.core.generator import Generator, default_generator
from lamina.devices import CPU, device

_of_device: Final[dict[device, Generator]] = {}


def stream_of(place: device) -> Generator:
    """The default stream of a device: another one than the CPU's has numbers of its own.

    It starts from the seed that the CPU's started from, so it gives the same numbers.
    """
    if place.type != "cuda":
        return default_generator
    found = _of_device.get(place)
    if found is None:
        made = Generator(default_generator.initial_seed())
        found = _of_device.setdefault(place, made)
    return found


def seed_all(seed: int) -> None:
    """Start all streams over from a seed."""
    default_generator.manual_seed(seed)
    for stream in list(_of_device.values()):
        stream.manual_seed(seed)


def states() -> dict[device, Any]:
    """The states of all streams, to go back to."""
    found = {place: stream.get_state() for place, stream in list(_of_device.items())}
    return {CPU: default_generator.get_state(), **found}


def restore(saved: dict[device, Any]) -> None:
    """Let all streams go on from the states that `states` gave."""
    for place, state in saved.items():
        stream_of(place).set_state(state)
