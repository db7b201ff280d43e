"""A pretend GPU: arrays in a memory of their own, for machines that have no GPU.

The elements lie in ordinary NumPy arrays, but nothing outside this file reaches them: an operation
that would fail on a real GPU (mixing devices, reading from NumPy) fails here in the same way, and
what would be slow there (transfers, waiting) is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from lamina.devices.backend import (
    Backend,
    HostArray,
    MixedDevices,
    NoHostValues,
    common_device,
    register_array_type,
    register_device_type,
)
from lamina.devices.device import device
from lamina.devices.dispatched import (
    ABOUT_MEMORY,
    DispatchedArray,
    as_strided,
    get_item,
    owner_of,
    replace,
    set_item,
    split_outputs,
    visit,
)
from lamina.devices.simulation import MemoryAccount, simulation

if TYPE_CHECKING:  # numpy.typing takes 4 ms to import
    from numpy.typing import DTypeLike

Place = device  # the class has an attribute of that name

_WAITING: Final = frozenset(
    {
        np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero, np.unique, np.unique_values,
        np.unique_counts, np.unique_inverse, np.unique_all, np.extract, np.compress,
        np.allclose, np.array_equal, np.array_equiv, np.bincount,
    }
)  # fmt: skip
"""Functions whose result's shape, or Python value, needs the elements: the program waits."""


@final
class SimulatedCudaArray(DispatchedArray):
    """An array on a simulated GPU. Made by `SimulatedCuda.from_host` and `empty`, and by NumPy.

    Results of NumPy functions stay on the device; views share memory; NumPy numbers and
    zero-dimensional host arrays may mix in, and anything else raises `MixedDevices`.
    """

    __slots__ = ("_account", "_size", "device")

    device: Place
    _account: MemoryAccount
    _size: int

    def __init__(self, array: HostArray, place: Place, account: MemoryAccount) -> None:
        self._size = 0  # for __del__, when allocate raises
        self._account = account
        self._array = array
        self._base = None
        self.device = place
        self._size = account.allocate(array.nbytes)

    def __del__(self) -> None:
        if self._size:
            self._account.release(self._size)

    def _view(self, array: HostArray) -> SimulatedCudaArray:
        """Another array over this one's memory."""
        made = SimulatedCudaArray.__new__(SimulatedCudaArray)
        made._size = 0
        made._account = self._account
        made._array = array
        made._base = self._root()
        made.device = self.device
        return made

    def _root(self) -> SimulatedCudaArray:
        return self if self._base is None else self._base

    # --- NumPy's dispatch ----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not all(_takes_part(value) for value in (*inputs, kwargs.get("where"))):
            return NotImplemented
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        if method == "at":
            return self._write_at(function, *inputs)
        return self._apply(function, inputs, kwargs)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> HostArray:
        raise NoHostValues(
            f"can't convert {self.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def _apply(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        outputs, other_args, other_kwargs = split_outputs(function, args, kwargs)
        operands: list[Any] = []
        visit((other_args, other_kwargs), _ARRAYS, operands.append)
        if function not in ABOUT_MEMORY:
            common_device(operands, outputs)
        if function in _WAITING:
            simulation.counters.record_synchronization()
        result = function(*replace(args, _OURS, _host), **replace(kwargs, _OURS, _host))
        return _wrapped(result, self, [*operands, *outputs])

    def _write_at(self, function: Callable[..., Any], array: Any, index: Any, *values: Any) -> None:
        """`ufunc.at`: its index may be on the host, as in `array[index]`."""
        common_device([value for value in values if isinstance(value, _ARRAYS)], [array])
        function(array._array, array._host_index(index), *replace(values, _OURS, _host))

    # --- indexing ------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> SimulatedCudaArray:
        host_index = self._host_index(index)
        if _has_mask(host_index):
            simulation.counters.record_synchronization()
        result = get_item(self._array, host_index)
        return _wrapped(result, self, [self])  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        operands = [value] if isinstance(value, _ARRAYS) else []
        common_device(operands, [self])
        host_index = self._host_index(index)
        if _has_mask(host_index) and operands and value.ndim > 0:
            simulation.counters.record_synchronization()
        set_item(self._array, host_index, replace(value, _OURS, _host))

    def _host_index(self, index: Any) -> Any:
        """The index with arrays unwrapped; those on the host may index any device's arrays."""
        if isinstance(index, int | slice):
            return index
        found: list[Any] = []
        visit(index, _OURS, found.append)
        if any(array.device is not self.device for array in found):
            raise MixedDevices([self.device, *(array.device for array in found)], role="index")
        return replace(index, _OURS, _host)

    # --- reading -------------------------------------------------------------------------------

    def _read(self, operation: str) -> HostArray:
        simulation.counters.record_synchronization()
        if self.size > 1:
            simulation.counters.record("device_to_host", self.nbytes)
        return self._array

    def __repr__(self) -> str:
        return f"<SimulatedCudaArray {self.dtype}{list(self.shape)} on {self.device}>"


_ARRAYS: Final = (SimulatedCudaArray, np.ndarray)
_OURS: Final = (SimulatedCudaArray,)


def _takes_part(value: Any) -> bool:
    """Whether a ufunc's argument is ours, NumPy's, or no array at all."""
    return isinstance(value, _ARRAYS) or not hasattr(value, "__array_ufunc__") or np.isscalar(value)


def _host(array: SimulatedCudaArray) -> HostArray:
    return array._array


def _has_mask(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, np.ndarray) and part.dtype == np.bool_ for part in parts)


def _wrapped(result: Any, like: SimulatedCudaArray, inputs: Sequence[Any]) -> Any:
    """A result of NumPy as arrays on `like`'s device; what shares an input's memory is its view."""

    def wrap(value: Any) -> SimulatedCudaArray:
        array = np.asarray(value)
        owner = owner_of(array)
        for source in inputs:
            if isinstance(source, SimulatedCudaArray):
                if source._array is array:
                    return source
                if source._root()._array is owner:
                    return source._view(array)
        if owner is array or not isinstance(owner, np.ndarray):
            return SimulatedCudaArray(array, like.device, like._account)
        return SimulatedCudaArray(owner, like.device, like._account)._view(array)

    return replace(result, (np.ndarray, np.generic), wrap)


@final
class SimulatedCuda(Backend):
    """One simulated GPU."""

    def __init__(self, index: int) -> None:
        super().__init__(device("cuda", index), simulation.counters)
        self.account = simulation.account(index)

    def from_host(self, array: HostArray) -> SimulatedCudaArray:
        made = SimulatedCudaArray(array.copy("K"), self.device, self.account)
        self.counters.record("host_to_device", array.nbytes)
        return made

    def constant(self, array: HostArray) -> SimulatedCudaArray:
        return SimulatedCudaArray(array.copy("K"), self.device, self.account)

    def to_host(self, array: SimulatedCudaArray) -> HostArray:
        self.counters.record_synchronization()
        self.counters.record("device_to_host", array.nbytes)
        return array._array.copy("K")

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> SimulatedCudaArray:
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        self.account.require(nbytes)
        try:
            array = np.empty(shape, dtype)
        except MemoryError:
            raise self.account.out_of_memory(nbytes) from None
        return SimulatedCudaArray(array, self.device, self.account)

    def as_strided(
        self, array: SimulatedCudaArray, shape: Sequence[int], strides: Sequence[int]
    ) -> SimulatedCudaArray:
        return array._view(as_strided(array._array, tuple(shape), tuple(strides)))

    def pointer(self, array: SimulatedCudaArray) -> int:
        return int(array._array.ctypes.data)

    def move(self, array: SimulatedCudaArray, target: Backend) -> Any:
        if not isinstance(target, SimulatedCuda):
            return super().move(array, target)
        made = SimulatedCudaArray(array._array.copy("K"), target.device, target.account)
        self.counters.record("device_to_device", array.nbytes)
        return made

    def synchronize(self) -> None:
        self.counters.record_synchronization()


def _find(place: device) -> Backend:
    return SimulatedCuda(simulation.account(place.index).index)


register_array_type(SimulatedCudaArray, lambda array: array.device)
register_device_type("cuda", _find)
