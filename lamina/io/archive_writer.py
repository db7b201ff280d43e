"""Writing the zip archives that PyTorch's checkpoints are.

Entries are stored, not compressed, and the bytes of each begin at a multiple of 64, so that a
reader can map them into memory. The layout is the one that PyTorch's own writer gives (sizes follow
the bytes, padding stands in an extra field named "FB"): its readers may compute positions from it.

Source: APPNOTE.TXT, the zip file format specification, sections 4.3 to 4.5.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple, final

from lamina.io.checksums import Checksums

ALIGNMENT: Final = 64
# Sizes and positions from here on stand in 64-bit fields, and this mark in the plain ones.
LARGE: Final = 0xFFFFFFFF
IN_64_BITS: Final = 0xFFFFFFFF

_SIZES_FOLLOW: Final = 0x0008
_NAMES_ARE_UTF8: Final = 0x0800
# The first day that the format can name: archives do not depend on when they are written.
_DATE: Final = 0x0021
_PLAIN_VERSION: Final = 20
_LARGE_VERSION: Final = 45


class _Entry(NamedTuple):
    name: bytes
    flags: int
    size: int
    position: int
    checksum: int = 0


@final
class ArchiveWriter:
    """Writes entries one after the other; needs nothing of the file but `write`.

    Args:
        file: Where to write.
        root: The folder, inside the archive, of all entries.
    """

    def __init__(self, file: Any, root: str) -> None:
        self._file = file
        self._root = root
        self._entries: list[_Entry] = []
        self._position = 0
        self._checksums = Checksums()

    def add(self, name: str, content: Any) -> int:
        """Write one entry, of bytes or a flat view of bytes; returns its checksum."""
        path = f"{self._root}/{name}".encode()
        content = memoryview(content) if len(content) else b""
        size = len(content)
        flags = _NAMES_ARE_UTF8 | (_SIZES_FOLLOW if size else 0)
        entry = _Entry(path, flags, size, self._position)
        checksum = self._checksums.start(content)
        self._write(_local_header(entry))
        if size:
            self._write(content)
            form = "<4sIQQ" if _is_large(entry) else "<4sIII"
            self._write(struct.pack(form, b"PK\x07\x08", checksum(), size, size))
        self._entries.append(entry._replace(checksum=checksum()))
        return checksum()

    def close(self) -> None:
        """End what works beside this thread. The file itself stays open."""
        self._checksums.close()

    def finish(self) -> None:
        """Write the directory, after the last entry."""
        start = self._position
        for entry in self._entries:
            self._write(_directory_entry(entry))
        self._write(_end(len(self._entries), self._position - start, start))

    def _write(self, content: Any) -> None:
        self._file.write(content)
        self._position += len(content)


def _is_large(entry: _Entry) -> bool:
    return entry.size >= LARGE or entry.position >= LARGE


def _local_header(entry: _Entry) -> bytes:
    extra = b""
    size = 0
    if _is_large(entry):
        extra = struct.pack("<HHQQ", 1, 16, entry.size, entry.size)
        size = IN_64_BITS
    unpadded = entry.position + 30 + len(entry.name) + len(extra) + 4
    padding = -unpadded % ALIGNMENT
    extra += b"FB" + struct.pack("<H", padding) + b"Z" * padding
    version = _LARGE_VERSION if _is_large(entry) else _PLAIN_VERSION
    head = struct.pack(
        "<4sHHHHHIIIHH", b"PK\x03\x04", version, entry.flags, 0, 0, _DATE, 0, size, size,
        len(entry.name), len(extra),
    )  # fmt: skip
    return head + entry.name + extra


def _directory_entry(entry: _Entry) -> bytes:
    large = []
    sizes, position = entry.size, entry.position
    if sizes >= LARGE:
        large += [sizes, sizes]
        sizes = IN_64_BITS
    if position >= LARGE:
        large.append(position)
        position = IN_64_BITS
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    version = _LARGE_VERSION if large else _PLAIN_VERSION
    head = struct.pack(
        "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", version, version, entry.flags, 0, 0, _DATE,
        entry.checksum, sizes, sizes, len(entry.name), len(extra), 0, 0, 0, 0, position,
    )  # fmt: skip
    return head + entry.name + extra


def _end(count: int, size: int, start: int) -> bytes:
    """What ends an archive: where its directory is, in the 64-bit form too where that is needed."""
    ending = b""
    if count >= 0xFFFF or size >= LARGE or start >= LARGE:
        ending = struct.pack(
            "<4sQHHIIQQQQ", b"PK\x06\x06", 44, _LARGE_VERSION, _LARGE_VERSION, 0, 0,
            count, count, size, start,
        )  # fmt: skip
        ending += struct.pack("<4sIQI", b"PK\x06\x07", 0, start + size, 1)
        count, size, start = 0xFFFF, IN_64_BITS, IN_64_BITS
    return ending + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, size, start, 0)
