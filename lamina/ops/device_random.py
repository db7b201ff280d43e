"""Seeds and states of the random numbers of CUDA devices: `lamina.cuda.manual_seed` and others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lamina.core.streams import stream_of
from lamina.core.tensor import Tensor
from lamina.devices import CPU, device, resolve, to_device
from lamina.devices.simulation import simulation
from lamina.ops.making import settle

# These are names of `lamina.cuda`, not of the front door.
__all__: list[str] = []


def _place(where: Any) -> device:
    return resolve(device("cuda", where) if isinstance(where, int) else device(where))


def _all_places() -> list[device]:
    return [device("cuda", index) for index in range(simulation.count)]


def manual_seed(seed: int) -> None:
    """Seed the current GPU's random numbers; without a GPU nothing is done."""
    if simulation.count:
        stream_of(resolve(device("cuda"))).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all GPUs; without a GPU nothing is done."""
    for place in _all_places():
        stream_of(place).manual_seed(seed)


def seed() -> None:
    """Seed the current GPU's random numbers from the system."""
    if simulation.count:
        stream_of(resolve(device("cuda"))).seed()


def seed_all() -> None:
    """Seed the random numbers of all GPUs from the system, with one seed."""
    places = _all_places()
    if places:
        manual_seed_all(stream_of(places[0]).seed())


def initial_seed() -> int:
    """The seed that the current GPU's random numbers last started from."""
    return stream_of(resolve(device("cuda"))).initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's random numbers, as a tensor of bytes on the CPU."""
    return settle(stream_of(_place(device)).get_state(), "get_rng_state")


def get_rng_state_all() -> list[Tensor]:
    """The states of all GPUs' random numbers."""
    return [get_rng_state(place) for place in _all_places()]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Let a GPU's random numbers go on from a state."""
    stream_of(_place(device)).set_state(to_device(new_state._array, CPU))


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Let all GPUs' random numbers go on from their states."""
    for place, state in zip(_all_places(), new_states, strict=False):
        set_rng_state(state, place)
