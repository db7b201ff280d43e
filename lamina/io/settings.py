"""Settings of a whole program: how files are mapped, checked, and read where they do not say."""

from __future__ import annotations

import mmap
from enum import Enum
from types import TracebackType
from typing import Final, Self, final

from lamina.errors import ArgumentTypeError, InvalidArgument

MAP_SHARED: Final = getattr(mmap, "MAP_SHARED", 1)
MAP_PRIVATE: Final = getattr(mmap, "MAP_PRIVATE", 2)


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


@final
class _Settings:
    """The values themselves."""

    __slots__ = ("checks_crc32", "endianness", "mmap_flags")

    def __init__(self) -> None:
        self.mmap_flags = MAP_PRIVATE
        self.checks_crc32 = True
        self.endianness: LoadEndianness | None = None


settings: Final = _Settings()


def get_default_mmap_options() -> int:
    """How `load(mmap=True)` maps files: MAP_PRIVATE or MAP_SHARED."""
    return settings.mmap_flags


@final
class set_default_mmap_options:
    """Choose how `load(mmap=True)` maps files; as a context manager, for the length of a block.

    Args:
        flags: `MAP_PRIVATE` (writes to tensors stay in memory) or `MAP_SHARED` (they reach the
            file).

    >>> with set_default_mmap_options(MAP_SHARED):
    ...     get_default_mmap_options() == MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise InvalidArgument(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )
        self._before = settings.mmap_flags
        settings.mmap_flags = flags

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        settings.mmap_flags = self._before


def get_crc32_options() -> bool:
    """Whether `load` compares checksums with what it reads."""
    return settings.checks_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether `load` compares checksums. `save` always writes them."""
    settings.checks_crc32 = bool(compute_crc32)


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that `load` takes for files that do not say theirs; None means little."""
    return settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the byte order that `load` takes for files that do not say theirs."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise ArgumentTypeError("Invalid argument type in function set_default_load_endianness")
    settings.endianness = endianness
