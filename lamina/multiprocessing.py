"""Python's `multiprocessing`, and `spawn`: tensors are pickled like any value.

Processes share the memory of tensors that were asked to (`share_memory_`), and get copies of all
others.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 -- all that Python offers, under this name
from multiprocessing import connection, reducer
from typing import Any, final

from lamina import errors

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reducer",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

_strategies = ["file_system"]

# A traceback longer than a pipe holds would wait for a reader.
_LONGEST = 30_000


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """What was set last. How memory is shared is up to Python's `multiprocessing`."""
    return _strategies[-1]


def set_sharing_strategy(new_strategy: str) -> None:
    """Keep the wish; how memory is shared is up to Python's `multiprocessing`.

    Raises:
        AssertionError: There is no such strategy.
    """
    known = get_all_sharing_strategies()
    if new_strategy not in known:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {known}")
    _strategies[:] = [new_strategy]


class ProcessException(Exception):
    """One of several processes failed.

    Attributes:
        msg: What happened.
        error_index: Which of them it was.
        error_pid: Its number in the system.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


@final
class ProcessRaisedException(ProcessException):
    """One of several processes raised an error: the text holds its traceback."""


@final
class ProcessExitedException(ProcessException):
    """One of several processes ended with an exit code, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        found = (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
        return type(self), found


@final
class ProcessContext:
    """Processes that run together: if one fails, the others are ended."""

    def __init__(self, processes: list[Any], errors_of: list[Any]) -> None:
        self.processes = processes
        self._errors_of = errors_of
        self.sentinels = {process.sentinel: k for k, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The processes' numbers in the system."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for the processes; True when all have ended.

        Args:
            timeout: How long to wait for the next one to end, in seconds.
            grace_period: How long the others may take to end if one failed.

        Raises:
            ProcessRaisedException: One raised an error.
            ProcessExitedException: One ended in another way than by coming to its end.
        """
        if not self.sentinels:
            return True
        for sentinel in connection.wait([*self.sentinels], timeout):
            index = self.sentinels.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                self._end_others(grace_period)
                raise self._failure(index, process)
        return not self.sentinels

    def _end_others(self, grace_period: float | None) -> None:
        end = time.monotonic() + (30.0 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, index: int, process: Any) -> ProcessException:
        pipe = self._errors_of[index]
        if pipe.poll():
            try:
                text = pipe.recv()
            except EOFError:
                pass
            else:
                message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
                return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = _signal_name(-code)
            message = f"process {index} terminated with signal {name}"
            return ProcessExitedException(message, index, process.pid, code, name)
        message = f"process {index} terminated with exit code {code}"
        return ProcessExitedException(message, index, process.pid, code)


SpawnContext = ProcessContext


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"<Unknown signal {number}>"


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
    daemon: bool = False, start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run `fn(k, *args)` in processes k = 0, 1, ...; see `spawn`.

    Args:
        start_method: "spawn", "fork" or "forkserver".
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, pipes = [], []
    for index in range(nprocs):
        reads, writes = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, writes), daemon=daemon)
        process.start()
        writes.close()
        processes.append(process)
        pipes.append(reads)
    running = ProcessContext(processes, pipes)
    if not join:
        return running
    while not running.join():
        pass
    return None


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], pipe: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # whoever started the processes gets it too
    except Exception:
        pipe.send(traceback.format_exc()[-_LONGEST:])
        raise SystemExit(1) from None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
    daemon: bool = False, start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run `fn(k, *args)` in new processes k = 0, 1, ..., `nprocs - 1`.

    The program must guard what it does by `if __name__ == "__main__":`, since each process reads it
    again; `fn` and `args` are sent with pickle.

    Args:
        join: Whether to wait. Otherwise the `ProcessContext` is returned.
        daemon: Whether the processes end with this one.

    Raises:
        ProcessRaisedException: One raised an error; the others are ended.
        ProcessExitedException: One ended in another way.
    """
    if start_method != "spawn":
        raise errors.InvalidValue(
            f"spawn starts processes by 'spawn', not {start_method!r}",
            help=["use torch.multiprocessing.start_processes(..., start_method=...)"],
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method)
