"""Devices: where elements live, and the array types that NumPy's dispatch finds there."""

from lamina.devices.backend import (
    Backend,
    Counters,
    MixedDevices,
    NoHostValues,
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
from lamina.devices.layouts import Layout, NoValues, fresh
from lamina.devices.meta import MetaBackend
from lamina.devices.recording import Program, Ref, Step
from lamina.devices.simulated import SimulatedCuda, SimulatedCudaArray
from lamina.devices.simulation import simulation
from lamina.devices.traced import Recorder, TracedArray, current_recorder

__all__ = [
    "Backend",
    "CPU",
    "Counters",
    "Layout",
    "META",
    "MetaBackend",
    "MixedDevices",
    "NoHostValues",
    "NoValues",
    "Program",
    "Recorder",
    "Ref",
    "SimulatedCuda",
    "SimulatedCudaArray",
    "Step",
    "TracedArray",
    "backend_of",
    "common_device",
    "current_default",
    "current_recorder",
    "device",
    "device_of",
    "fresh",
    "is_host",
    "pop_default",
    "push_default",
    "resolve",
    "set_default",
    "simulation",
    "to_device",
]
