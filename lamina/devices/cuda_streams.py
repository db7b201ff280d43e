"""Streams and events of GPUs: a simulated GPU does everything in order, at once."""

from __future__ import annotations

import time
from typing import Any, final

from lamina.devices.device import device as _device
from lamina.devices.simulated import SimulatedCuda
from lamina.devices.simulation import simulation
from lamina.errors import InvalidArgument, InvalidDevice

Place = _device | str | int | None


def index_of(place: Place) -> int | None:
    """The index that an argument named `device` means; None for the current device."""
    if place is None or (isinstance(place, int) and not isinstance(place, bool)):
        return place
    chosen = _device(place)
    if chosen.type != "cuda":
        raise InvalidDevice(
            f"Expected a cuda device, but got: {chosen}", help=["write 'cuda' or 'cuda:0'"]
        )
    return chosen.index


def synchronize(device: Place = None) -> None:
    """Wait until a GPU has done all its work."""
    SimulatedCuda(simulation.account(index_of(device)).index).synchronize()


@final
class Stream:
    """A queue of work on a GPU. On a simulated one all work is done when it is asked for."""

    def __init__(self, device: Place = None, priority: int = 0) -> None:
        self.device = _device("cuda", simulation.account(index_of(device)).index)
        self.priority = priority

    def synchronize(self) -> None:
        """Wait until the work in this stream is done."""
        synchronize(self.device)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work here wait for what is in another stream now."""

    def wait_event(self, event: Event) -> None:
        """Let later work here wait for an event."""

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this place in the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether the work in this stream is done."""
        return True

    def __repr__(self) -> str:
        return f"<lamina.cuda.Stream device={self.device}>"


@final
class Event:
    """A mark in a stream, to wait for or to measure time with."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        simulation.account(None)
        self.enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Set the mark now."""
        self._time = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work in a stream wait for this mark."""

    def query(self) -> bool:
        """Whether all work before this mark is done."""
        return True

    def synchronize(self) -> None:
        """Wait until all work before this mark is done."""
        synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between this mark and another, both made with `enable_timing=True`."""
        if not (self.enable_timing and end_event.enable_timing):
            raise InvalidArgument(
                "both events must be created with argument 'enable_timing=True'",
                help=["torch.cuda.Event(enable_timing=True)"],
            )
        if self._time is None or end_event._time is None:
            raise InvalidArgument(
                "both events must be recorded before calculating elapsed time",
                help=["call .record() on each of them first"],
            )
        return (end_event._time - self._time) * 1000.0


def current_stream(device: Place = None) -> Stream:
    """The stream into which work goes now."""
    return Stream(device)


def default_stream(device: Place = None) -> Stream:
    """The stream into which work goes outside `stream(...)` blocks."""
    return Stream(device)


def set_stream(stream: Stream | None) -> None:
    """Let work go into a stream from now on: on a simulated GPU all of it is done at once."""


def stream(stream: Stream | None) -> StreamContext:
    """A block whose work goes into a stream; None changes nothing."""
    return StreamContext(stream)


@final
class StreamContext:
    """A block whose work goes into a stream, made by `stream`."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> Stream | None:
        return self.stream

    def __exit__(self, *outcome: Any) -> None:
        """Nothing is left to do."""
