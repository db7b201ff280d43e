"""`load`: reading what `save` wrote, here or in PyTorch.

Loading never runs code that a file names. Source of the format: PyTorch's notes on serialization,
https://docs.pytorch.org/docs/stable/notes/serialization.html
"""

from __future__ import annotations

import mmap as memory_maps
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, final

import numpy as np

from lamina import dtypes
from lamina.core.warning import warn
from lamina.devices import META, backend_of
from lamina.errors import (
    EmptyFile,
    FileFormatError,
    InvalidArgument,
    InvalidValue,
    MissingAttribute,
    NotSupported,
)
from lamina.io.archive_reader import ArchiveReader
from lamina.io.legacy import begins_like_legacy, load_legacy, parts_of
from lamina.io.locations import MapLocation, is_meta, restorer
from lamina.io.names import Names
from lamina.io.rebuilding import Limits, brief, is_one_of
from lamina.io.safetensors import load_file as load_safetensors
from lamina.io.settings import MAP_SHARED, LoadEndianness, settings
from lamina.io.unpickling import Machine
from lamina.storage import TypedStorage, UntypedStorage, typed, untyped

_LONGEST_KEY: Final = 64
_BYTE: Final = np.dtype(np.uint8)


def load(
    f: Any, map_location: MapLocation = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """What `save` (Lamina's or PyTorch's) wrote into a file.

    No code that the file names is run, whatever `weights_only` says: names are looked up in a fixed
    list, and in what `lamina.serialization.add_safe_globals` was given.

    Args:
        f: a path, or a binary file that can be read and can seek. A path that ends in
            `.safetensors` is read by `lamina.io.load_safetensors`.
        map_location: where tensors go: a device or its name; a dict from names in the file to
            names; or a function of (storage, name in the file) that returns a storage, or None to
            leave the choice to the file.
        pickle_module: accepted for Python's own `pickle`.
        weights_only: True (the default) allows tensors, numbers, texts and containers of these.
            False also allows the layers of `lamina.nn`, and some classes of Python's library.
        mmap: whether the file is mapped into memory, and each page read when it is first used.
            Tensors may be changed; changes do not reach the file, unless
            `lamina.serialization.set_default_mmap_options` says so. Checksums are not compared.
        pickle_load_args: `encoding`, of the texts in pickles that Python 2 wrote.

    Raises:
        UnsafeFile: (UnpicklingError) If the file names what is not allowed.
        FileFormatError: (RuntimeError, UnpicklingError) If it is damaged, or no checkpoint.
        EmptyFile: (EOFError) If it has no bytes.
        NotSupported: (NotImplementedError) If it holds quantized or sparse tensors, or TorchScript.
        SimulatedCudaUnavailable: (RuntimeError) If a tensor belongs on a GPU, and there is none.
        MissingExtra: (ImportError) If a dtype needs the package ml_dtypes.

    >>> import io, lamina
    >>> buffer = io.BytesIO()
    >>> lamina.save({"w": lamina.ones(2), "epoch": 3}, buffer)
    >>> lamina.load(io.BytesIO(buffer.getvalue()))
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module not in (None, pickle):
        raise NotSupported(
            f"load(): pickles are read by Lamina itself, not by {pickle_module!r}",
            help=["leave pickle_module out"],
        )
    weights_only = weights_only is None or bool(weights_only)
    encoding = _checked_arguments(pickle_load_args, weights_only)
    if isinstance(f, str | os.PathLike) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    with _opened(f) as (file, name):
        if _is_archive(file, name):
            mapped = _mapped(f, file) if mmap else None
            with closing(ArchiveReader(file, name, settings.checks_crc32)) as archive:
                checkpoint = _Checkpoint(archive, name, map_location, mapped)
                return checkpoint.load(weights_only, encoding)
        if mmap:
            raise FileFormatError(
                "mmap can only be used with files saved with the zip format",
                help=["save it again: `torch.save(torch.load(path), path)`"],
            )
        return _load_other(file, name, map_location, weights_only, encoding)


def _is_archive(file: Any, name: str) -> bool:
    """Whether a file begins like a zip archive; it is left where it stands."""
    start = file.tell()
    magic = bytes(file.read(4))
    file.seek(start)
    if not magic:
        raise EmptyFile(
            f"{name} has nothing to load: it is at its end",
            help=["go back to the beginning first: `buffer.seek(0)`"],
        )
    return magic == b"PK\x03\x04"


def _checked_arguments(others: dict[str, Any], weights_only: bool) -> str:
    encoding: str = others.pop("encoding", "utf-8")
    if others and weights_only:
        warn("pickle_load_args only works if `weights_only=False`.")
    if set(others) - {"fix_imports", "errors", "buffers"}:
        raise TypeError(f"load() got an unexpected keyword argument {next(iter(others))!r}")
    return encoding


def _load_safetensors(path: str, map_location: MapLocation) -> dict[str, Any]:
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise InvalidArgument(
            f"Loading safetensors file with {kind} map_location is not supported",
            help=["give a device or its name: map_location='cpu'"],
        )
    return load_safetensors(path, "cpu" if map_location is None else str(map_location))


@contextmanager
def _opened(f: Any) -> Iterator[tuple[Any, str]]:
    """A binary file, and what errors call it."""
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            yield file, str(os.fspath(f))
        return
    for method in ("seek", "tell", "read"):
        if not hasattr(f, method):
            raise MissingAttribute(
                f"{type(f).__name__!r} object has no attribute {method!r}: torch.load wants a path "
                "or a file that is seekable",
                help=["put the bytes into a file in memory: `torch.load(io.BytesIO(content))`"],
            )
    yield f, str(getattr(f, "name", f"this {type(f).__name__}"))


def _mapped(f: Any, file: Any) -> memory_maps.mmap:
    if not isinstance(f, str | os.PathLike):
        raise InvalidValue(
            "f must be a file path in order to use the mmap argument",
            help=["give load the path itself"],
        )
    if settings.mmap_flags == MAP_SHARED:
        with open(f, "r+b") as writable:
            return memory_maps.mmap(writable.fileno(), 0, access=memory_maps.ACCESS_WRITE)
    return memory_maps.mmap(file.fileno(), 0, access=memory_maps.ACCESS_COPY)


def _load_other(
    file: Any, name: str, map_location: MapLocation, weights_only: bool, encoding: str
) -> Any:
    """Load what is no zip archive: PyTorch's format before 1.6, or nothing known."""
    start = file.tell()
    head = bytes(file.read(512))
    file.seek(start)
    if begins_like_legacy(head):
        return load_legacy(file, name, map_location, weights_only, encoding)
    what = "it is neither a zip archive nor in PyTorch's older format"
    if head[257:262] == b"ustar":
        what = "it is a tar archive, as PyTorch wrote in its first years"
    elif head.startswith(b"\x80"):
        what = "it is a pickle that torch.save did not write"
    elif head[8:9] == b"{":
        what = "it looks like a safetensors file: use lamina.io.load_safetensors"
    raise FileFormatError(
        f"{name} holds no checkpoint (invalid magic number; corrupt file?): {what}",
        help=["give load a file that torch.save wrote"],
    )


@final
class _Checkpoint:
    """One archive while it is loaded."""

    def __init__(
        self, archive: ArchiveReader, name: str, map_location: MapLocation, mapped: Any
    ) -> None:
        self._archive = archive
        self._mapped = mapped
        self._restore = restorer(map_location)
        self._is_meta = is_meta(map_location)
        self._storages: dict[str, Any] = {}
        size = sum(entry.size for entry in archive.entries.values())
        self._limits = Limits(name, size)
        self._root = self._find_root()
        self._is_swapped = self._byte_order() != sys.byteorder

    def load(self, weights_only: bool, encoding: str) -> Any:
        """The value that was saved."""
        data = self._archive.read(f"{self._root}data.pkl")
        names = Names(self._limits, weights_only, data)
        value = Machine(data, self._limits, names, self._storage, encoding).load()
        self._archive.check()
        return value

    def refused_names(self) -> list[str]:
        """The names that loading would refuse, in order, each once."""
        data = self._archive.read(f"{self._root}data.pkl")
        return [f"{module}.{name}" for module, name in Names(self._limits, True, data).refused()]

    def _find_root(self) -> str:
        entries = self._archive.entries
        found = [name for name in entries if name.split("/")[1:] == ["data.pkl"]]
        if any(name.endswith("constants.pkl") for name in entries):
            raise NotSupported(
                f"{self._limits.name} is a TorchScript archive, which Lamina cannot run",
                help=["save its weights with PyTorch: `torch.save(m.state_dict(), path)`"],
            )
        if len(found) != 1:
            raise self._limits.broken("it is a zip archive without a data.pkl")
        return found[0].removesuffix("data.pkl")

    def _byte_order(self) -> str:
        if f"{self._root}byteorder" not in self._archive:
            chosen = settings.endianness or LoadEndianness.LITTLE
            return sys.byteorder if chosen is LoadEndianness.NATIVE else chosen.name.lower()
        order = self._archive.read(f"{self._root}byteorder")
        if order not in (b"little", b"big"):
            raise self._limits.broken(f"unknown endianness type: {order[:20]!r}")
        return order.decode()

    def _storage(self, saved_id: Any) -> Any:
        """The storage that a persistent id of the pickle describes."""
        if type(saved_id) is not tuple or len(saved_id) != 5:
            raise self._limits.broken(f"it has the persistent id {brief(saved_id)}")
        word, kind, key, location, count = saved_id
        if not is_one_of(word, "storage"):
            raise self._limits.broken(f"it has the persistent id {brief(word)}")
        if type(key) is not str or len(key) > _LONGEST_KEY or type(count) is not int or count < 0:
            raise self._limits.broken(f"it has the persistent id {brief(saved_id)}")
        kind = dtypes.uint8 if kind is UntypedStorage else kind
        if not isinstance(kind, dtypes.dtype):
            raise self._limits.broken(f"the storage {brief(key)} has elements of {brief(kind)}")
        known = self._storages.get(key)
        if known is None:
            bytes_of = self._bytes(key, count * kind.itemsize, kind)
            known = bytes_of if self._is_meta else self._restore(bytes_of, location)
            self._storages[key] = known
        return self._as_typed(known, kind, count)

    def _as_typed(self, storage: Any, kind: dtypes.dtype, count: int) -> TypedStorage:
        if not isinstance(storage, UntypedStorage | TypedStorage):
            raise InvalidValue(
                f"map_location returned {type(storage).__name__}, which is no storage",
                help=["return the storage, or a copy such as storage.cuda(1)"],
            )
        size = count * kind.itemsize
        if storage.nbytes() < size:
            raise self._limits.broken("it says two sizes of one storage")
        memory = storage._memory.view(_BYTE)
        return typed(memory[:size].view(kind.numpy))

    def _bytes(self, key: str, size: int, kind: dtypes.dtype) -> UntypedStorage:
        """The bytes of one entry, as they are in the file or in memory."""
        name = f"{self._root}data/{key}"
        entry = self._archive.entries.get(name)
        if entry is None:
            raise self._limits.broken(f"the storage {brief(key)} is missing")
        if not size <= entry.size < size + kind.itemsize:
            raise self._limits.broken(
                f"the storage {brief(key)} has {entry.size} bytes, and should have {size}"
            )
        if self._is_meta:
            return untyped(backend_of(META).empty((entry.size,), _BYTE))
        swapped = self._is_swapped and kind.itemsize > 1
        is_as_in_memory = not (entry.is_deflated or swapped or entry.start % kind.itemsize)
        if self._mapped is not None and is_as_in_memory and entry.size:
            return untyped(np.frombuffer(self._mapped, _BYTE, entry.size, entry.start))
        content = np.empty(entry.size, _BYTE)
        self._archive.read_into(name, content)
        if swapped:
            self._archive.check()
            content[:size].view(parts_of(kind)).byteswap(inplace=True)
        return untyped(content)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that `load` would refuse under `weights_only=True`.

    Args:
        f: a path, or a binary file that can be read and can seek, in the zip format.

    >>> import io, lamina
    >>> buffer = io.BytesIO()
    >>> lamina.save(lamina.ones(2), buffer)
    >>> get_unsafe_globals_in_checkpoint(buffer)
    []
    """
    with _opened(f) as (file, name), closing(ArchiveReader(file, name)) as archive:
        return _Checkpoint(archive, name, None, None).refused_names()
