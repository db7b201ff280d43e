"""The device beside the CPU, whatever its kind: `cuda` where it exists or is simulated, or none.

>>> is_available(), current_accelerator(), device_count()
(False, None, 0)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from lamina import cuda
from lamina.devices import device
from lamina.errors import InvalidDevice

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is such a device."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """The device's kind, without an index; None where there is none."""
    return device("cuda") if is_available() else None


def _required() -> None:
    if not is_available():
        raise InvalidDevice("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """The index of the device that new tensors go to.

    Raises:
        RuntimeError: If there is no accelerator, as in every function below.
    """
    _required()
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Choose the device that new tensors go to."""
    _required()
    cuda.set_device(device)


current_device_idx = current_device_index
set_device_idx = set_device_index


@contextlib.contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """Choose the device in a block; None changes nothing."""
    if device is None:
        yield
        return
    before = current_device_index()
    set_device_index(device)
    try:
        yield
    finally:
        set_device_index(before)


def synchronize(device: Any = None, /) -> None:
    """Wait until a device has done its work."""
    _required()
    cuda.synchronize(device)


def current_stream(device: Any = None, /) -> Any:
    """The stream that operations on a device go to."""
    _required()
    return cuda.current_stream(device)


def empty_cache() -> None:
    """Give memory that is kept for later results back to the device."""
    _required()
    cuda.empty_cache()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """(free bytes, all bytes) of a device."""
    _required()
    return cuda.mem_get_info(device_index)


def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes of a device that tensors hold."""
    _required()
    return cuda.memory_allocated(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that tensors held."""
    _required()
    return cuda.max_memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """The bytes that are taken from a device."""
    _required()
    return cuda.memory_reserved(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that were taken from a device."""
    _required()
    return cuda.max_memory_reserved(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Begin to count `max_memory_allocated` anew."""
    _required()
    cuda.reset_peak_memory_stats(device_index)
