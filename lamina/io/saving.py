"""`save`: writing values with tensors in them in PyTorch's own format."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from lamina.devices import is_host
from lamina.errors import MissingAttribute, NotSupported
from lamina.io.archive_writer import ALIGNMENT, ArchiveWriter
from lamina.io.legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from lamina.io.pickling import SavedStorage, TensorPickler
from lamina.io.replacing import replaced

DEFAULT_PROTOCOL: Final = 2


def save(
    obj: object, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write a value, with the tensors in it, into a file that `load` and PyTorch's `load` read.

    A file with a path is replaced in one step, when the new one is on the disk: whoever is stopped
    in between leaves the old one. Tensors that share memory share it after loading. Hooks are left
    out, and so is the graph: what requires grad is a leaf in the file.

    Args:
        obj: the value; for a model, best `model.state_dict()`.
        f: a path, or a file with `write` (which is written to directly).
        pickle_module: Python's own `pickle`.
        pickle_protocol: of the pickle in the file, 2 or larger; PyTorch reads 2 by default.

    Raises:
        SaveFailed: (RuntimeError) If the file cannot be written.
        FileFormatError: (RuntimeError) If tensors share memory and have different dtypes.
        NotSupported: (NotImplementedError) For another `pickle_module`.

    >>> import io, lamina
    >>> buffer = io.BytesIO()
    >>> lamina.save([lamina.zeros(2)], buffer)
    >>> lamina.load(io.BytesIO(buffer.getvalue()))
    [tensor([0., 0.])]
    """
    if pickle_module is not pickle:
        raise NotSupported(
            f"save(): pickles are written by Lamina itself, not by {pickle_module!r}",
            help=["leave pickle_module out"],
        )
    with _opened(f) as (file, root):
        if _use_new_zipfile_serialization:
            _write_archive(obj, file, root, pickle_protocol, not _disable_byteorder_record)
        else:
            _write_legacy(obj, file, pickle_protocol)


@contextmanager
def _opened(f: Any) -> Iterator[tuple[Any, str]]:
    """Where to write, and the name of the folder inside the archive."""
    if isinstance(f, str | os.PathLike):
        with replaced(f) as file:
            yield file, Path(os.fsdecode(f)).stem or "archive"
        return
    if not hasattr(f, "write"):
        raise MissingAttribute(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, not "
            f"{type(f).__name__}",
            help=["the order is torch.save(value, path)"],
        )
    yield f, "archive"


def _write_archive(obj: Any, file: Any, root: str, protocol: int, says_order: bool) -> None:
    content = io.BytesIO()
    pickler = TensorPickler(content, protocol)
    pickler.dump(obj)
    with closing(ArchiveWriter(file, root)) as archive:
        _write_entries(archive, content, pickler.storages, says_order)


def _write_entries(
    archive: ArchiveWriter, content: io.BytesIO, storages: list[SavedStorage], says_order: bool
) -> None:
    identity = hashlib.sha256(content.getbuffer())
    archive.add("data.pkl", content.getbuffer())
    archive.add(".format_version", b"1")
    archive.add(".storage_alignment", str(ALIGNMENT).encode())
    if says_order:
        archive.add("byteorder", sys.byteorder.encode())
    for saved in storages:
        checksum = archive.add(f"data/{saved.key}", _bytes_of(saved))
        identity.update(checksum.to_bytes(4, "little"))
    archive.add("version", b"3\n")
    # Forty digits, as PyTorch's is: the same content has the same.
    number = int.from_bytes(identity.digest()) % 10**40
    archive.add(".data/serialization_id", f"{number:040d}".encode())
    archive.finish()


def _write_legacy(obj: Any, file: Any, protocol: int) -> None:
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        pickle.dump(part, file, protocol)
    pickler = TensorPickler(file, protocol, is_legacy=True)
    pickler.dump(obj)
    storages = sorted(pickler.storages, key=lambda saved: saved.key)
    pickle.dump([saved.key for saved in storages], file, protocol)
    for saved in storages:
        content = _bytes_of(saved)
        file.write(np.array(content.nbytes // saved.kind.itemsize, "<i8").tobytes())
        file.write(content)


def _bytes_of(saved: SavedStorage) -> memoryview:
    """A storage's bytes in host memory."""
    memory = saved.storage._memory
    host = memory if is_host(memory) else saved.storage.cpu()._memory
    return np.ascontiguousarray(host).data
