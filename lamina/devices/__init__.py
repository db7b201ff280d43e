"""Devices: where elements live, and the array types that NumPy's dispatch finds there.

Imported here is what every operation needs. The arrays of other devices than the CPU are imported
when one is asked for: `simulated`, `traced` and `meta` (see `backend_of`).
"""

from lamina.devices.backend import (
    Backend,
    Counters,
    MixedDevices,
    NoHostValues,
    NoValues,
    backend_of,
    common_device,
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
from lamina.devices.recorders import current_recorder

__all__ = [
    "CPU",
    "META",
    "Backend",
    "Counters",
    "MixedDevices",
    "NoHostValues",
    "NoValues",
    "backend_of",
    "common_device",
    "current_default",
    "current_recorder",
    "device",
    "device_of",
    "is_host",
    "pop_default",
    "push_default",
    "resolve",
    "set_default",
    "to_device",
]
