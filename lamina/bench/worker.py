"""The process of one library: sets workloads up and times them, as it is told line by line.

Requests and answers are JSON, one a line, on standard input and output. What a library prints goes
to standard error instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from lamina.bench.catalogue import WORKLOADS
from lamina.bench.workloads import numbers

CHECKED_CALLS = 6
"""Results of so many calls are compared; a compiled step runs as a program well before the last."""


@final
class Worker:
    """Answers requests about one library.

    Args:
        library: The name of a module with PyTorch's names.
        compiled: Whether workloads go through its `compile`.
        threads: How many threads it may use.
    """

    def __init__(self, library: str, compiled: bool, threads: int) -> None:
        self._torch = importlib.import_module(library)
        self._is_compiled = compiled
        if hasattr(self._torch, "set_num_threads"):
            self._torch.set_num_threads(threads)
        self._call: Callable[[], Any] = lambda: None
        gc.collect()
        gc.freeze()  # a collection before each batch would take 0.25 s with PyTorch's own objects

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a request asks for; errors become an answer too."""
        try:
            answer: dict[str, Any] = getattr(self, request.pop("ask"))(**request)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        return answer

    def version(self) -> dict[str, Any]:
        return {"version": str(self._torch.__version__)}

    def build(self, name: str) -> dict[str, Any]:
        """Set a workload up and call it: what it gave, and whether it runs as a program."""
        self._call = lambda: None  # the last workload's memory goes first
        gc.collect()
        self._call = self._built(name)
        results = [numbers(self._call()) for _ in range(CHECKED_CALLS)]
        refusals = getattr(self._call, "refusals", [])
        is_program = bool(getattr(self._call, "programs", True))
        return {"results": results, "refusal": "" if is_program else "; ".join(refusals)}

    def calibrate(self, seconds: float) -> dict[str, Any]:
        """How many calls take so long."""
        calls, taken = 1, self._timed(1)
        while taken < seconds / 4 and calls < 1 << 20:
            calls *= 2
            taken = self._timed(calls)
        return {"calls": max(1, round(calls * seconds / taken))}

    def time(self, calls: int) -> dict[str, Any]:
        """Seconds that a call takes, and how many cores others used meanwhile."""
        gc.collect()
        busy, own = _busy_seconds(), time.process_time()
        seconds = self._timed(calls)
        others = _busy_seconds() - busy - (time.process_time() - own)
        return {"seconds": seconds / calls, "others": max(others / seconds, 0.0)}

    def memory(self, name: str) -> dict[str, Any]:
        """Megabytes that calls need at most, beyond parameters and inputs."""
        warm = self._built("micro_mlp")  # what is loaded once is not counted
        for _ in range(CHECKED_CALLS):
            warm()
        call = self._built(name)
        before = _resident("VmRSS")
        for _ in range(CHECKED_CALLS):
            call()
        _tidy_memory()
        _forget_peak()
        for _ in range(2):
            call()
        peak = _resident("VmHWM")
        return {"megabytes": None if before is None or peak is None else (peak - before) / 1e6}

    def _built(self, name: str) -> Callable[[], Any]:
        call = WORKLOADS[name].build(self._torch)
        _tidy_memory()
        if not self._is_compiled:
            return call
        compiled: Callable[[], Any] = self._torch.compile(call)
        return compiled

    def _timed(self, calls: int) -> float:
        call = self._call
        started = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - started


# --- what Linux tells; elsewhere nothing is known ------------------------------------------------


def _busy_seconds() -> float:
    """How long all cores have been at work, for whomever; 0 where nobody says."""
    with contextlib.suppress(OSError):
        first, *_ = Path("/proc/stat").read_text().splitlines()
        user, nice, system, _idle, _waiting, *interrupts = map(int, first.split()[1:9])
        return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _resident(field: str) -> int | None:
    """Bytes of memory that the process has (`VmRSS`) or had at most (`VmHWM`)."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return None


def _tidy_memory() -> None:
    """Give back what is free, so that it is not taken for memory in use."""
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # the C library is another one
            ctypes.CDLL(None).malloc_trim(0)


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Answer until there are no more requests."""
    library, compiled, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")  # what runs eagerly is reported by `build`
    worker = Worker(library, compiled == "compiled", int(threads))
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # the process that asks was interrupted too
        main()
