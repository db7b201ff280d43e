"""Processes of libraries, seen from the one that asks them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, final

_THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


@final
class Kind(NamedTuple):
    """One column: a library, and how it runs."""

    title: str
    library: str
    is_compiled: bool = False


EAGER: Final = Kind("lamina", "lamina")
COMPILED: Final = Kind("lamina.compile", "lamina", True)
PYTORCH: Final = Kind("torch", "torch")


class WorkerFailed(Exception):
    """A process could not do what it was asked for."""


@final
class Process:
    """A process of one library, started when it is first asked and again after it died."""

    def __init__(self, kind: Kind, threads: int) -> None:
        self.kind = kind
        self._threads = threads
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: str, **more: Any) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            WorkerFailed: If it failed, or its process ended.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps({"ask": request, **more}), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            raise WorkerFailed(f"the process ended with status {process.returncode}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer

    def _start(self) -> subprocess.Popen[str]:
        environment = os.environ | dict.fromkeys(_THREAD_VARIABLES, str(self._threads))
        # The same Lamina as here, and (-P) no module that happens to lie in the current folder.
        paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        how = "compiled" if self.kind.is_compiled else "eager"
        command = [
            sys.executable, "-P", "-m", "lamina.bench.worker",
            self.kind.library, how, str(self._threads),
        ]  # fmt: skip
        with _on_cores(self._threads):
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        with process:  # which closes the pipes: there are no more requests
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def _on_cores(count: int) -> Iterator[None]:
    """Processes that are started inside keep to the same cores, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


def core_count() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
