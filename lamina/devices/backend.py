"""What a kind of device must be able to do, and the registry that finds it.

A kernel is written with NumPy functions, and NumPy's dispatch picks the code that runs, so a
backend is small: it makes arrays, moves them, and waits. To add a kind of device, give it an
array type that takes part in NumPy's dispatch (`__array_ufunc__`, `__array_function__`), subclass
`Backend`, and call `register_array_type` and `register_device_type` once.
"""

from __future__ import annotations

import importlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from lamina import errors
from lamina.devices.device import CPU, META, device

if TYPE_CHECKING:  # numpy.typing takes 4 ms to import
    from numpy.typing import DTypeLike

HostArray = np.ndarray[Any, np.dtype[Any]]


class MixedDevices(Exception):
    """One operation met arrays of several devices. Private: a caller rephrases it with names.

    Attributes:
        found: The devices, in the order of the arguments, each once.
        role: What did not fit: "operands", "index" or "out".
    """

    def __init__(self, found: Sequence[device], role: str = "operands") -> None:
        self.found = list(dict.fromkeys(found))
        self.role = role
        names = ", ".join(map(str, self.found))
        super().__init__(f"arrays on several devices ({names}) as {role} of one operation")


class NoValues(Exception):
    """An operation needs the elements of an array that has none. Private: a caller rephrases it.

    Attributes:
        operation: What was asked for, such as ".item()" or "numpy.nonzero".
    """

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(f"{operation} needs the values of an array that has only a shape")


class NoHostValues(TypeError):
    """NumPy asked for the elements of an array that is not in host memory. Private."""


@final
class Counters:
    """How often, and how many bytes, went over the bus, and how often a program had to wait.

    `synchronizations` counts reads that make the program wait for the device: `.item()`,
    `bool(x)`, a boolean mask as an index, `.cpu()` and `synchronize()`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def __repr__(self) -> str:
        counts = {name: value for name, value in vars(self).items() if name != "_lock"}
        return f"Counters({', '.join(f'{name}={value}' for name, value in counts.items())})"

    def record(self, direction: str, nbytes: int) -> None:
        """Count one transfer: "host_to_device", "device_to_host" or "device_to_device"."""
        with self._lock:
            if direction == "host_to_device":
                self.host_to_device += 1
                self.host_to_device_bytes += nbytes
            elif direction == "device_to_host":
                self.device_to_host += 1
                self.device_to_host_bytes += nbytes
            else:
                self.device_to_device += 1
                self.device_to_device_bytes += nbytes

    def record_synchronization(self) -> None:
        """Count one wait for the device."""
        with self._lock:
            self.synchronizations += 1

    def snapshot(self) -> Counters:
        """A copy that later transfers leave as it is."""
        copy = Counters()
        with self._lock:
            vars(copy).update({n: value for n, value in vars(self).items() if n != "_lock"})
        return copy

    def reset(self) -> None:
        """Begin again at zero."""
        with self._lock:
            self.host_to_device = self.host_to_device_bytes = 0
            self.device_to_host = self.device_to_host_bytes = 0
            self.device_to_device = self.device_to_device_bytes = 0
            self.synchronizations = 0


class Backend(ABC):
    """One device: it makes arrays, moves them, and waits.

    Attributes:
        device: The device, with its index where there may be several.
        counters: What was transferred, together with all other devices of the same kind.
    """

    def __init__(self, device: device, counters: Counters) -> None:
        self.device = device
        self.counters = counters

    @abstractmethod
    def from_host(self, array: HostArray) -> Any:
        """A copy on this device of an array in host memory."""

    @abstractmethod
    def to_host(self, array: Any) -> HostArray:
        """A copy in host memory of an array on this device."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """A new array here, its elements unset."""

    @abstractmethod
    def as_strided(self, array: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """A view with any shape and byte strides, from `array`'s first element on. Unchecked."""

    @abstractmethod
    def pointer(self, array: Any) -> int:
        """The address of the first element; views differ from their base by their offset."""

    def constant(self, array: HostArray) -> Any:
        """What a kernel makes here for itself, such as positions to count from: no transfer."""
        return self.from_host(array)

    def move(self, array: Any, target: Backend) -> Any:
        """A copy on `target` of an array that is here."""
        return target.from_host(self.to_host(array))

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work on this device is done."""


@final
class HostBackend(Backend):
    """The CPU: plain NumPy arrays."""

    def from_host(self, array: HostArray) -> HostArray:
        return array.copy()

    def to_host(self, array: HostArray) -> HostArray:
        if not is_host(array):  # of a captured program, or of many samples: both know what is wrong
            return array._read("reading out values").copy()  # type: ignore[attr-defined,no-any-return]
        return array.copy()

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> HostArray:
        return np.empty(shape, dtype)

    def as_strided(
        self, array: HostArray, shape: Sequence[int], strides: Sequence[int]
    ) -> HostArray:
        return np.lib.stride_tricks.as_strided(array, tuple(shape), tuple(strides))

    def pointer(self, array: HostArray) -> int:
        # In a program being captured there are no addresses, but distances within one array.
        return int(getattr(array, "_array", array).ctypes.data)

    def move(self, array: HostArray, target: Backend) -> Any:
        if not is_host(array):
            raise errors.NotSupported(
                "sparse tensors stay in host memory",
                help=["move what is dense: `x.to_dense()`, or places and values"],
            )
        return target.from_host(array)  # which copies: no need to copy twice

    def synchronize(self) -> None:
        """The CPU is always done."""


HOST: Final = HostBackend(CPU, Counters())

# An array type's device is either one for all such arrays, or read off each.
_DEVICE_OF_TYPE: Final[dict[type, device]] = {np.ndarray: CPU}
_DEVICE_OF_ARRAY: Final[dict[type, Callable[[Any], device]]] = {}
_BACKENDS: Final[dict[str, Callable[[device], Backend]]] = {"cpu": lambda _: HOST}
# Modules that register a device type when imported: not before somebody asks for one (6 ms).
_MODULES: Final = {"cuda": "lamina.devices.simulated", "meta": "lamina.devices.meta"}


def register_array_type(array_type: type, device_of_array: Callable[[Any], device]) -> None:
    """Tell `device_of` how to find where an array of a type lives."""
    _DEVICE_OF_ARRAY[array_type] = device_of_array


def register_device_type(type_: str, find: Callable[[device], Backend]) -> None:
    """Tell `backend_of` how to find the backend of a device type; `find` may raise."""
    _BACKENDS[type_] = find


def backend_of(place: device) -> Backend:
    """The backend of a device, with `cuda` standing for the current CUDA device.

    Raises:
        InvalidDevice: (RuntimeError) For an index that does not exist, or a type that Lamina lacks.
        SimulatedCudaUnavailable: (RuntimeError) For `cuda` without a GPU and without simulation.
    """
    if place.type not in _BACKENDS and place.type in _MODULES:
        importlib.import_module(_MODULES[place.type])
    find = _BACKENDS.get(place.type)
    if find is None:
        raise errors.InvalidDevice(
            f"Lamina has no {place.type} device",
            help=[f"use one of: {', '.join(sorted(_BACKENDS.keys() | _MODULES.keys()))}"],
        )
    return find(place)


def resolve(place: device) -> device:
    """The device that a tensor asked onto `place` gets: `cuda` becomes `cuda:0`, `cpu:0` `cpu`."""
    return CPU if place is CPU else backend_of(place).device


def device_of(array: Any) -> device:
    """Where an array (or a NumPy scalar) lives.

    >>> device_of(np.ones(3))
    device(type='cpu')
    """
    found = _DEVICE_OF_TYPE.get(type(array))
    if found is not None:
        return found
    read = _DEVICE_OF_ARRAY.get(type(array))
    if read is not None:
        return read(array)
    if isinstance(array, np.ndarray | np.generic):
        return CPU
    raise TypeError(f"{type(array).__name__} is not an array of any device")


def is_host(array: Any) -> bool:
    """Whether an array is a NumPy array (or scalar) in host memory."""
    return type(array) is np.ndarray or isinstance(array, np.ndarray | np.generic)


def to_device(array: Any, place: device) -> Any:
    """The array on another device: a copy, or the array itself when it is there already."""
    here = device_of(array)
    if here is place:
        return array
    target = backend_of(place)
    if here is target.device:
        return array
    return backend_of(here).move(array, target)


def common_device(arrays: Sequence[Any], outputs: Sequence[Any] = ()) -> device:
    """The one device on which an operation over `arrays` runs.

    A zero-dimensional host array may mix with arrays of any device; everything else must agree.
    `outputs` are the arrays written to, which take part in no exception.

    Raises:
        MixedDevices: When they do not agree.
    """
    places = [device_of(array) for array in arrays]
    written = [device_of(array) for array in outputs]
    elsewhere = [
        place
        for array, place in zip(arrays, places, strict=True)
        if place is not CPU or array.ndim > 0
    ]
    chosen = elsewhere[0] if elsewhere else (written[0] if written else CPU)
    if any(place is not chosen for place in elsewhere):
        raise MixedDevices(places)
    if any(place is not chosen for place in written):
        raise MixedDevices([*written, *places], role="out")
    return chosen


__all__ = [
    "CPU",
    "HOST",
    "META",
    "Backend",
    "Counters",
    "HostArray",
    "HostBackend",
    "MixedDevices",
    "NoHostValues",
    "NoValues",
    "backend_of",
    "common_device",
    "device_of",
    "is_host",
    "register_array_type",
    "register_device_type",
    "resolve",
    "to_device",
]
