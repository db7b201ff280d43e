"""The `meta` device: arrays with a shape and a dtype, and no memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn, final

from lamina.devices.backend import (
    META,
    Backend,
    Counters,
    HostArray,
    NoValues,
    register_device_type,
)
from lamina.devices.dispatched import as_strided
from lamina.devices.layouts import fresh
from lamina.devices.traced import TracedArray

if TYPE_CHECKING:  # numpy.typing takes 4 ms to import
    from numpy.typing import DTypeLike


@final
class MetaBackend(Backend):
    """The device whose arrays have no elements."""

    def from_host(self, array: HostArray) -> TracedArray:
        return TracedArray(fresh(array.shape, array.dtype))

    def to_host(self, array: TracedArray) -> NoReturn:
        raise NoValues("copying out of the meta device")

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> TracedArray:
        return TracedArray(fresh(shape, dtype))

    def as_strided(
        self, array: TracedArray, shape: Sequence[int], strides: Sequence[int]
    ) -> TracedArray:
        return array._apply(as_strided, (array, tuple(shape), tuple(strides)), {})  # type: ignore[no-any-return]

    def pointer(self, array: TracedArray) -> int:
        return int(array._array.ctypes.data)

    def move(self, array: TracedArray, target: Backend) -> NoReturn:
        raise NoValues("copying out of the meta device")

    def synchronize(self) -> None:
        """Nothing is ever computed."""


_META: Final = MetaBackend(META, Counters())

register_device_type("meta", lambda _: _META)
