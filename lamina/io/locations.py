"""Where the storages of a file go: what `map_location` says, or where they were saved from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from lamina import cuda
from lamina.devices import device
from lamina.errors import ArgumentTypeError, FileFormatError, SimulatedCudaUnavailable
from lamina.storage import UntypedStorage

MapLocation = Callable[[Any, str], Any] | device | str | Mapping[str, Any] | None
Restore = Callable[[UntypedStorage, str], UntypedStorage]

_PLACE: Final = re.compile(r"(cpu|cuda|meta)(:[0-9]{1,3})?")

HELP: Final = ("load onto the CPU: `torch.load(path, map_location='cpu')`",)


def location_tag(storage: Any) -> str:
    """The name that files give the place of a storage: "cpu", "cuda:0", "meta".

    >>> location_tag(UntypedStorage(4))
    'cpu'
    """
    return str(storage.device)


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """The storage at a place that a file names.

    Raises:
        SimulatedCudaUnavailable: (RuntimeError) For a CUDA device where there is none.
        FileFormatError: (RuntimeError) For a place that Lamina does not have.

    >>> default_restore_location(UntypedStorage([1, 2]), "cpu").tolist()
    [1, 2]
    """
    if not isinstance(location, str) or not _PLACE.fullmatch(location):
        raise FileFormatError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{location})",
            help=HELP,
        )
    if location.startswith("cuda"):
        _check_cuda(location)
    moved: UntypedStorage = storage.to(device=location)
    return moved


def _check_cuda(location: str) -> None:
    count = cuda.device_count()
    if not cuda.is_available():
        raise SimulatedCudaUnavailable(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False.",
            help=[*HELP, "or have a simulated GPU: `lamina.cuda.simulate()`"],
        )
    index = device(location).index or 0
    if index >= count:
        raise SimulatedCudaUnavailable(
            f"Attempting to deserialize object on CUDA device {index} but "
            f"torch.cuda.device_count() is {count}.",
            help=["map it to another device: `torch.load(path, map_location='cuda:0')`"],
        )


def restorer(map_location: MapLocation) -> Restore:
    """What moves each storage of a file, for a `map_location` argument."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, Mapping):
        places = {str(key): str(value) for key, value in map_location.items()}
        return lambda storage, at: default_restore_location(storage, places.get(at, at))
    if isinstance(map_location, str | bytes | device):
        place = os.fsdecode(map_location) if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, at: default_restore_location(storage, place)
    if not callable(map_location):
        raise ArgumentTypeError(
            f"map_location must be a device, a string, a dict or a function, and "
            f"{type(map_location).__name__!r} object is not callable",
            help=["write for example map_location='cpu'"],
        )
    chosen = map_location

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        found = chosen(storage, location)
        return default_restore_location(storage, location) if found is None else found

    return restore


def is_meta(map_location: MapLocation) -> bool:
    """Whether everything goes to the meta device, so that no values need to be read."""
    return isinstance(map_location, str | device) and str(map_location) == "meta"
