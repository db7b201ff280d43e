"""State outside of tensors that a capture must not change: random generators and modes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from lamina.core.modes import door, state
from lamina.ops.random import default_generator


@final
class Stream(NamedTuple):
    """A source of random numbers: what it is called, how to read its state and set it."""

    name: str
    read: Callable[[], Any]
    put: Callable[[Any], Any]


def stream_of(generator: Any, name: str) -> Stream:
    """A generator of Python's or NumPy's as a stream."""
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        return Stream(name, lambda: bits.state, lambda state: setattr(bits, "state", state))
    if isinstance(generator, np.random.RandomState):
        return Stream(name, generator.get_state, generator.set_state)
    return Stream(name, generator.getstate, generator.setstate)


def _streams() -> list[Stream]:
    own = default_generator.stream
    found = [Stream("the generator (a seed was set, or it was read)", own.get_state, own.set_state)]
    random: Any = sys.modules.get("random")
    if random is not None:
        found.append(Stream("Python's `random`", random.getstate, random.setstate))
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        found.append(Stream("`numpy.random`", numpy_random.get_state, numpy_random.set_state))
    return found


@final
class Outside:
    """The state of all generators, and the modes, as they are now.

    Args:
        more: Generators that only the captured function knows.
    """

    def __init__(self, more: Sequence[Stream] = ()) -> None:
        self._streams = [(stream, stream.read()) for stream in (*_streams(), *more)]
        self._grad_enabled = state.grad_enabled
        self._reason = state.off_reason

    def trouble(self) -> str | None:
        """What is no longer as it was, in words."""
        for stream, before in self._streams:
            if not _equal(before, stream.read()):
                return f"it used {stream.name} while it was captured"
        return "it switched grad mode" if state.grad_enabled != self._grad_enabled else None

    def restore(self) -> None:
        """Put everything back."""
        for stream, before in self._streams:
            if not _equal(before, stream.read()):
                stream.put(before)
        door.set_grad_enabled(self._grad_enabled)
        state.off_reason = self._reason


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(_equal(x[key], y[key]) for key in x)
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(map(_equal, x, y))
    if hasattr(x, "tobytes") and hasattr(y, "tobytes"):
        return bool(x.tobytes() == y.tobytes())
    return bool(x == y)
