"""PyTorch's format before version 1.6: pickles one after the other, and then the storages."""

from __future__ import annotations

import pickle
import sys
from typing import Any, Final, final

import numpy as np

from lamina import dtypes
from lamina.io.locations import MapLocation, restorer
from lamina.io.names import Names
from lamina.io.rebuilding import Limits, brief, is_one_of
from lamina.io.unpickling import Machine
from lamina.storage import TypedStorage, UntypedStorage, typed, untyped

MAGIC_NUMBER: Final = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION: Final = 1001

_BYTE: Final = np.dtype(np.uint8)
_COUNT: Final = np.dtype("<i8")
# How a file of any protocol from 2 on can begin.
_BEGINNINGS: Final = tuple(pickle.dumps(MAGIC_NUMBER, protocol)[2:] for protocol in (2, 4))


def begins_like_legacy(head: bytes) -> bool:
    """Whether these are the first bytes of a file in this format."""
    return head[:1] == b"\x80" and any(head[2:].startswith(known) for known in _BEGINNINGS)


def parts_of(kind: dtypes.dtype) -> np.dtype[Any]:
    """What has a byte order of its own in an element: each part of a complex number has."""
    return np.dtype(f"u{kind.itemsize // 2 if kind.is_complex else kind.itemsize}")


def load_legacy(
    file: Any, name: str, map_location: MapLocation, weights_only: bool, encoding: str
) -> Any:
    """The value in a file, from where it stands now."""
    data = file.read()
    limits = Limits(name, len(data))
    limits.values_come_later = True
    return _LegacyFile(data, limits, map_location).load(weights_only, encoding)


@final
class _Pending:
    """A storage whose bytes follow later in the file."""

    def __init__(self, host: UntypedStorage, placed: Any, kind: dtypes.dtype) -> None:
        self.host = host
        self.placed = placed
        self.kind = kind


@final
class _LegacyFile:
    """One file while it is loaded."""

    def __init__(self, data: bytes, limits: Limits, map_location: MapLocation) -> None:
        self._data = data
        self._limits = limits
        self._restore = restorer(map_location)
        self._storages: dict[str, _Pending] = {}
        self._allocated = 0

    def load(self, weights_only: bool, encoding: str) -> Any:
        """The value that was saved."""
        names = Names(self._limits, weights_only)
        machine = Machine(self._data, self._limits, names, self._storage, encoding)
        magic, version, system = machine.load(), machine.load(), machine.load()
        is_checkpoint = is_one_of(magic, MAGIC_NUMBER) and is_one_of(version, PROTOCOL_VERSION)
        if not is_checkpoint or type(system) is not dict:
            raise self._limits.broken("its first numbers are not those of a checkpoint")
        is_little = system.get("little_endian") is not False
        value = machine.load()
        keys = machine.load()
        position = machine.position
        if type(keys) is not list or set(map(brief, keys)) != set(self._storages):
            raise self._limits.broken("it does not list the storages that its tensors have")
        for key in keys:
            position = self._fill(self._storages[brief(key)], position, is_little)
        return value

    def _fill(self, pending: _Pending, position: int, is_little: bool) -> int:
        """Read one storage's bytes; returns where the next one's begin."""
        start, size = position + 8, pending.host.nbytes()
        if start + size > len(self._data):
            raise self._limits.broken("it ends before its last storage")
        count = int(np.frombuffer(self._data, _COUNT, 1, position)[0])
        if count * pending.kind.itemsize != size:
            raise self._limits.broken("it says two sizes of one storage")
        memory = pending.host._memory
        memory[...] = np.frombuffer(self._data, _BYTE, size, start)
        if is_little != (sys.byteorder == "little"):
            memory.view(parts_of(pending.kind)).byteswap(inplace=True)
        if pending.placed is not pending.host and pending.placed.device.type != "meta":
            pending.placed.copy_(pending.host)
        return start + size

    def _storage(self, saved_id: Any) -> Any:
        """The storage that a persistent id of the pickle describes."""
        if type(saved_id) is tuple and len(saved_id) == 4 and is_one_of(saved_id[0], "module"):
            return saved_id[1]  # a class; what follows is its source, which nothing needs
        if type(saved_id) is not tuple or len(saved_id) != 6:
            raise self._limits.broken(f"it has the persistent id {brief(saved_id)}")
        _, kind, key, location, count, view = saved_id
        kind = dtypes.uint8 if kind is UntypedStorage else kind
        if not isinstance(kind, dtypes.dtype) or type(count) is not int or count < 0:
            raise self._limits.broken(f"it has the persistent id {brief(saved_id)}")
        location = location.decode() if isinstance(location, bytes) else location
        pending = self._storages.get(brief(key))
        if pending is None:
            pending = self._allocate(kind, count, location)
            self._storages[brief(key)] = pending
        start, length = 0, count
        if view is not None:
            _, start, length = view
        if type(start) is not int or type(length) is not int:
            raise self._limits.broken("a part of a storage is of no size")
        if start < 0 or length < 0 or (start + length) * kind.itemsize > pending.host.nbytes():
            raise self._limits.broken("a part of a storage lies outside of it")
        memory = pending.placed._memory.view(_BYTE)
        return typed(memory[start * kind.itemsize :][: length * kind.itemsize].view(kind.numpy))

    def _allocate(self, kind: dtypes.dtype, count: int, location: Any) -> _Pending:
        size = count * kind.itemsize
        self._allocated += size
        if self._allocated > len(self._data):
            raise self._limits.broken("its storages are larger than the file")
        host = untyped(np.empty(size, _BYTE))
        placed = self._restore(host, location)
        if not isinstance(placed, UntypedStorage | TypedStorage):
            raise self._limits.broken("map_location returned no storage")
        return _Pending(host, placed, kind)
