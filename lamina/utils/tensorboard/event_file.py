"""One event file: what is added stands in it after `flush`, or after some seconds."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, final

from lamina.utils.tensorboard.package import part_of_package

__all__ = ["EventFile"]


@final
class EventFile:
    """A file of events in a folder, which is made.

    tensorboardX's own writer hands events to a thread, and its `flush` does not wait for it.

    Args:
        suffix: Added to the file's name.
        most: After how many events the file is flushed.
        seconds: How long an event may wait for that.
    """

    def __init__(self, folder: str, suffix: str, most: int, seconds: float) -> None:
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self._most, self._seconds = most, seconds
        self._waiting = 0
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        self._event = part_of_package("tensorboardX.proto.event_pb2").Event
        prefix = os.path.join(folder, "events")
        writer = part_of_package("tensorboardX.event_file_writer").EventsWriter
        self._file: Any = writer(prefix, suffix)

    def add(self, step: Any = None, walltime: float | None = None, **content: Any) -> None:
        """Add an event: a `summary`, a `graph_def`, or a `session_log`."""
        event = self._event(wall_time=time.time() if walltime is None else walltime, **content)
        if step is not None:
            event.step = int(step)
        with self._lock:
            if self._file is None:
                raise ValueError(f"the event file in {self.folder} is closed")
            self._file.write_event(event)
            self._waiting += 1
            if self._waiting >= self._most:
                self.flush()
            elif self._timer is None:
                self._timer = threading.Timer(self._seconds, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write what waits in memory."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._waiting = 0
            if self._file is not None:
                self._file.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        with self._lock:
            self.flush()
            if self._file is not None:
                self._file.close()
                self._file = None
