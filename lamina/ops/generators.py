"""Sources of random numbers: `Generator`, the default one, seeds and states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, final

from lamina import errors
from lamina.core import generator as streams
from lamina.core.blame.words import this_place
from lamina.core.modes import door
from lamina.core.streams import restore, seed_all, states, stream_of
from lamina.core.tensor import Tensor
from lamina.devices import CPU, current_recorder, to_device
from lamina.ops.making import place_of_device, settle


def _check_not_captured() -> None:
    """Raise while a step is captured: a program draws numbers, and has no state to read or set."""
    if door.is_watched and current_recorder() is not None:
        raise errors.CaptureError(
            "the state of a generator is read or set while the step is being captured, and a "
            "program only draws from it",
            [(this_place(), "asked for here")],
            ["seed the generator outside of the captured function"],
        )


@final
class Generator:
    """A source of random numbers of its own, with a seed and a state.

    >>> import lamina
    >>> first = lamina.rand(2, generator=lamina.Generator().manual_seed(1))
    >>> bool((first == lamina.rand(2, generator=lamina.Generator().manual_seed(1))).all())
    True
    """

    def __init__(self, device: Any = "cpu", stream: streams.Generator | None = None) -> None:
        self.device = place_of_device(device)
        self.stream = streams.Generator() if stream is None else stream

    def manual_seed(self, seed: int) -> Generator:
        """Start over from a seed; returns the generator."""
        _check_not_captured()
        self.stream.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Start over from a seed that nobody knows yet; returns it."""
        _check_not_captured()
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed that the generator last started from."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state as a tensor of 5056 bytes, in PyTorch's layout."""
        _check_not_captured()
        return settle(self.stream.get_state(), "get_state")

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state` gave."""
        _check_not_captured()
        if not isinstance(new_state, Tensor):
            raise errors.ArgumentTypeError(
                f"expected a torch.ByteTensor, but got {type(new_state).__name__}"
            )
        self.stream.set_state(to_device(new_state._array, CPU))
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        _check_not_captured()
        return Generator(self.device, self.stream.clone())


default_generator: Final = Generator(stream=streams.default_generator)
"""The CPU's default generator. (A thread with streams of its own has another one.)"""


def _default() -> Generator:
    """The CPU's default generator in this thread."""
    own = stream_of(CPU)
    return default_generator if own is default_generator.stream else Generator(stream=own)


def thread_safe_generator() -> Generator | None:
    """The generator of a loader's thread; None where the default one is the program's."""
    own = _default()
    return None if own is default_generator else own


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices; returns the CPU's."""
    _check_not_captured()
    seed_all(seed)
    return _default()


def seed() -> int:
    """Seed the default generators of all devices from the system; returns the seed."""
    _check_not_captured()
    found = _default().seed()
    seed_all(found)
    return found


def initial_seed() -> int:
    """The seed that the default generator last started from."""
    return _default().initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state."""
    return _default().get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator's state."""
    _default().set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, device_type: str = "cuda"
) -> Iterator[None]:
    """A block that leaves the default generators as they were before."""
    _check_not_captured()
    state = states() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            restore(state)
