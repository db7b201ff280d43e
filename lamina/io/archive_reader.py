"""Reading zip archives that nobody vouches for.

Everything is checked before it is used: positions lie in the file, entries do not overlap and have
different names without tricks, checksums are right, and what is compressed unpacks to the size that
it says, within bounds. What is wrong raises `FileFormatError`.

Source: APPNOTE.TXT, the zip file format specification, sections 4.3 to 4.5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final, NamedTuple, NoReturn, final

import numpy as np

from lamina.errors import FileFormatError
from lamina.io.archive_writer import IN_64_BITS
from lamina.io.checksums import Checksums

_STORED: Final = 0
_DEFLATED: Final = 8
_ENCRYPTED: Final = 0x0001
_END_SIZE: Final = 22
_LONGEST_COMMENT: Final = 0xFFFF
# So much may come out of one compressed byte: real weights shrink to a half at best, zeros by 1032.
_MOST_UNPACKED: Final = 100
_ALWAYS_UNPACKED: Final = 1 << 20

BROKEN_HELP: Final = (
    "the file was cut off or changed after it was written: copy or download it again",
)


class Entry(NamedTuple):
    """One entry of an archive.

    Attributes:
        name: Its path inside the archive.
        start: Where its bytes begin in the file.
        packed: How many bytes it has in the file.
        size: How many bytes it has when it is unpacked.
    """

    name: str
    is_deflated: bool
    checksum: int
    packed: int
    size: int
    header: int
    start: int


@final
class ArchiveReader:
    """The entries of one archive.

    Args:
        file: A binary file that can seek.
        name: What errors call the file.
        checks_content: Whether checksums are compared with what is read.
    """

    def __init__(self, file: Any, name: str, checks_content: bool = True) -> None:
        self._file = file
        self._name = name
        self._checks_content = checks_content
        self._length = file.seek(0, 2)
        self._checksums = Checksums()
        self._waiting: list[tuple[Entry, Callable[[], int]]] = []
        self.entries: dict[str, Entry] = {}
        self._read_directory()

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def refuse(self, what: str) -> NoReturn:
        """Raise the error about this archive."""
        raise FileFormatError(f"{self._name} is no sound zip archive: {what}", help=BROKEN_HELP)

    # --- content -------------------------------------------------------------------------------

    def read(self, name: str) -> bytes:
        """All bytes of one entry."""
        entry = self.entries[name]
        if not entry.is_deflated:
            content = np.empty(entry.size, np.uint8)
            self.read_into(name, content)
            self.check()
            return content.tobytes()
        return self._inflated(entry)

    def read_into(self, name: str, target: Any) -> None:
        """Write the first bytes of one entry into an array of bytes, for `check` to look at."""
        entry = self.entries[name]
        if entry.is_deflated:
            target[...] = np.frombuffer(self._inflated(entry), np.uint8)[: target.size]
            return
        self._file.seek(entry.start)
        if target.size:
            self._fill(memoryview(target), entry)
        if self._checks_content:
            if target.size < entry.size:
                rest = self._file.read(entry.size - target.size)
                self._compare(entry, zlib.crc32(rest, zlib.crc32(target)))
            else:
                self._waiting.append((entry, self._checksums.start(target)))

    def check(self) -> None:
        """Compare the checksums of what was read since the last time."""
        for entry, checksum in self._waiting:
            self._compare(entry, checksum())
        self._waiting.clear()

    def close(self) -> None:
        """End what works beside this thread. The file itself stays open."""
        self._checksums.close()

    def _fill(self, target: memoryview, entry: Entry) -> None:
        position = 0
        while position < len(target):
            # A raw file gives 2 GB at a time at most.
            if hasattr(self._file, "readinto"):
                count = self._file.readinto(target[position:])
            else:
                found = self._file.read(len(target) - position)
                count = len(found)
                target[position : position + count] = found
            if not count:
                self.refuse(f"{entry.name!r} ends before its {entry.size} bytes")
            position += count

    def _inflated(self, entry: Entry) -> bytes:
        self._file.seek(entry.start)
        packed = self._file.read(entry.packed)
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = unpacker.decompress(packed, entry.size + 1)
        except zlib.error as error:
            self.refuse(f"{entry.name!r} cannot be unpacked ({error})")
        if len(content) != entry.size:
            self.refuse(f"{entry.name!r} unpacks to another size than its {entry.size} bytes")
        if self._checks_content:
            self._compare(entry, zlib.crc32(content))
        return content

    def _compare(self, entry: Entry, checksum: int) -> None:
        if checksum != entry.checksum:
            self.refuse(f"the bytes of {entry.name!r} do not have their checksum (CRC-32)")

    # --- the directory -------------------------------------------------------------------------

    def _read_directory(self) -> None:
        count, size, start = self._find_directory()
        directory = self._at(start, size)
        found, position = [], 0
        for _ in range(count):
            entry, position = self._parse(directory, position)
            if entry.name.endswith("/") and not entry.size:
                continue  # a folder, as zip programs list them
            found.append(self._located(entry, start))
        for entry in found:
            if entry.name in self.entries:
                self.refuse(f"it has two entries named {entry.name!r}")
            self.entries[entry.name] = entry
        self._check_overlap(found)

    def _at(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        found: bytes = self._file.read(size)
        if len(found) != size:
            self.refuse("it ends too early")
        return found

    def _find_directory(self) -> tuple[int, int, int]:
        """How many entries the directory has, its size, and where it begins."""
        tail_start = max(0, self._length - _END_SIZE - _LONGEST_COMMENT)
        tail = self._at(tail_start, self._length - tail_start)
        found = tail.rfind(b"PK\x05\x06")
        if found < 0 or len(tail) - found < _END_SIZE:
            self.refuse("failed finding central directory (the list of entries at its end)")
        end = tail_start + found
        fields = struct.unpack_from("<HHHHIIH", tail, found + 4)
        disk, first_disk, here, count, size, start, comment = fields
        if found + _END_SIZE + comment != len(tail):
            self.refuse("something follows its end")
        if disk or first_disk or here != count:
            self.refuse("it is one of several parts")
        if count == 0xFFFF or IN_64_BITS in (size, start):
            count, size, start, end = self._large_directory(end)
        if start + size > end or count * 46 > size:
            self.refuse("its directory does not lie where it says")
        return count, size, start

    def _large_directory(self, end: int) -> tuple[int, int, int, int]:
        """The same from the 64-bit form, and where that stands."""
        if end < 20:
            self.refuse("its 64-bit directory is missing")
        signature, _, position, _ = struct.unpack("<4sIQI", self._at(end - 20, 20))
        if signature != b"PK\x06\x07" or position > end - 20 - 56:
            self.refuse("its 64-bit directory is missing")
        fields = struct.unpack("<4sQHHIIQQQQ", self._at(position, 56))
        if fields[0] != b"PK\x06\x06" or fields[4] or fields[5] or fields[6] != fields[7]:
            self.refuse("its 64-bit directory is broken")
        return fields[7], fields[8], fields[9], position

    def _parse(self, directory: bytes, position: int) -> tuple[Entry, int]:
        """One entry of the directory, not located yet, and where the next one begins."""
        if position + 46 > len(directory) or directory[position : position + 4] != b"PK\x01\x02":
            self.refuse("its directory is broken")
        fields = struct.unpack_from("<HHHHHHIIIHHHHHII", directory, position + 4)
        flags, method = fields[2], fields[3]
        checksum, packed, size = fields[6:9]
        lengths, header = fields[9:12], fields[15]
        after = position + 46 + sum(lengths)
        if after > len(directory):
            self.refuse("its directory is broken")
        name_end = position + 46 + lengths[0]
        name = self._checked_name(directory[position + 46 : name_end])
        extra = directory[name_end : name_end + lengths[1]]
        size, packed, header = self._large_fields(name, extra, size, packed, header)
        if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
            self.refuse(f"{name!r} is encrypted, or packed in an unknown way")
        is_deflated = method == _DEFLATED
        if not is_deflated and packed != size:
            self.refuse(f"{name!r} has two sizes")
        if is_deflated and size > max(_ALWAYS_UNPACKED, _MOST_UNPACKED * packed):
            self.refuse(
                f"{name!r} would unpack from {packed} bytes to {size}: more than "
                f"{_MOST_UNPACKED} times as much (a zip bomb)"
            )
        return Entry(name, is_deflated, checksum, packed, size, header, 0), after

    def _checked_name(self, raw: bytes) -> str:
        try:
            name = raw.decode()
        except UnicodeDecodeError:
            self.refuse("it has an entry whose name is no text")
        parts = name.removesuffix("/").split("/")
        if "\\" in name or "\0" in name or ":" in name or {"", ".", ".."} & set(parts):
            self.refuse(f"the entry {name!r} leads out of it")
        return name

    def _large_fields(
        self, name: str, extra: bytes, size: int, packed: int, header: int
    ) -> tuple[int, int, int]:
        """Sizes and position, from the 64-bit extra field where they did not fit."""
        wanted = [value == IN_64_BITS for value in (size, packed, header)]
        if not any(wanted):
            return size, packed, header
        position = 0
        while position + 4 <= len(extra):
            kind, length = struct.unpack_from("<HH", extra, position)
            if kind == 1:
                content = extra[position + 4 : position + 4 + length]
                if len(content) >= 8 * sum(wanted):
                    large = iter(struct.unpack_from(f"<{sum(wanted)}Q", content))
                    plain = (size, packed, header)
                    found = [
                        next(large) if is_large else value
                        for is_large, value in zip(wanted, plain, strict=True)
                    ]
                    return found[0], found[1], found[2]
            position += 4 + length
        self.refuse(f"{name!r} has no 64-bit sizes")

    def _located(self, entry: Entry, directory_start: int) -> Entry:
        """The entry with the place of its bytes, which its own header tells."""
        if entry.header + 30 > directory_start:
            self.refuse(f"{entry.name!r} does not lie where it says")
        head = self._at(entry.header, 30)
        fields = struct.unpack("<4sHHHHHIIIHH", head)
        if fields[0] != b"PK\x03\x04" or (fields[3] == _DEFLATED) != entry.is_deflated:
            self.refuse(f"{entry.name!r} does not begin as it should")
        start = entry.header + 30 + fields[9] + fields[10]
        if start + entry.packed > directory_start:
            self.refuse(f"{entry.name!r} does not lie where it says")
        if self._at(entry.header + 30, fields[9]) != entry.name.encode():
            self.refuse(f"{entry.name!r} has two names")
        return entry._replace(start=start)

    def _check_overlap(self, entries: list[Entry]) -> None:
        ordered = sorted(entries, key=lambda entry: entry.header)
        for first, second in pairwise(ordered):
            if first.start + first.packed > second.header:
                self.refuse(f"{first.name!r} and {second.name!r} overlap")
