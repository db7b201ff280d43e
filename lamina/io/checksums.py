"""Checksums of large pieces of memory, by other threads while the first one reads or writes."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, final

# Below this, handing the work over takes longer than the work.
_LARGE: Final = 1 << 17
# Four compute checksums as fast as files in the system's cache are read.
_MOST_THREADS: Final = 4


@final
class Checksums:
    """Starts computations of CRC-32; `close` ends the threads."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def start(self, content: Any) -> Callable[[], int]:
        """Begin with one piece; what is returned waits for its checksum."""
        if len(content) < _LARGE:
            found = zlib.crc32(content)
            return lambda: found
        if self._pool is None:
            self._pool = ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1))
        return self._pool.submit(zlib.crc32, content).result

    def close(self) -> None:
        """End the threads, if there are any."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
