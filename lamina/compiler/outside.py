"""State outside of tensors that a capture must not change: random generators and modes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, final

from lamina.core.modes import door, state
from lamina.ops.random import default_generator


@final
class _Stream(NamedTuple):
    """A source of random numbers: what it is called, how to read its state and set it."""

    name: str
    read: Callable[[], Any]
    put: Callable[[Any], Any]


def _streams() -> list[_Stream]:
    own = default_generator.stream
    found = [
        _Stream("the generator (a seed was set, or it was read)", own.get_state, own.set_state)
    ]
    random: Any = sys.modules.get("random")
    if random is not None:
        found.append(_Stream("Python's `random`", random.getstate, random.setstate))
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is not None:
        found.append(_Stream("`numpy.random`", numpy_random.get_state, numpy_random.set_state))
    return found


@final
class Outside:
    """The state of all generators, and the modes, as they are now."""

    def __init__(self) -> None:
        self._streams = [(stream, stream.read()) for stream in _streams()]
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
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(map(_equal, x, y))
    if hasattr(x, "tobytes") and hasattr(y, "tobytes"):
        return bool(x.tobytes() == y.tobytes())
    return bool(x == y)
