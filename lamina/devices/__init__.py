"""Devices: where elements live, and the array types that NumPy's dispatch finds there."""

from lamina.devices.backend import (
    Backend,
    Counters,
    MixedDevices,
    backend_of,
    device_of,
    is_host,
    resolve,
    to_device,
)
from lamina.devices.device import (
    CPU,
    META,
    current_default,
    device,
    pop_default,
    push_default,
    set_default,
)

__all__ = [
    "Backend",
    "CPU",
    "Counters",
    "META",
    "MixedDevices",
    "backend_of",
    "current_default",
    "device",
    "device_of",
    "is_host",
    "pop_default",
    "push_default",
    "resolve",
    "set_default",
    "to_device",
]
