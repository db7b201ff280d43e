"""Workers in processes of their own: for data sets whose Python code should run in parallel.

Each worker has one pipe, which nobody else uses: a worker that is killed at any moment leaves no
lock behind, and its end of the pipe closes, which the loader sees at once.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing import connection, parent_process
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, final

from lamina import errors
from lamina.utils.data._utils.pool import Pool, stopped, timed_out
from lamina.utils.data._utils.worker import Failure, Setup, work

__all__ = ["ProcessPool"]

# How long workers may take to end by themselves, in seconds.
_GRACE: Final = 2.0


@final
class ProcessPool(Pool):
    """Processes started in a given way: "fork", "spawn" or "forkserver"."""

    word = "process"

    def __init__(self, setup: Setup, context: Any) -> None:
        self._owner = os.getpid()
        self._is_forked = context.get_start_method() == "fork"
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
        try:
            for number in range(setup.count):
                self._start(context, setup, number)
        except BaseException as error:
            self.close()
            if not self._is_forked:
                error.add_note(_PICKLED)
            raise

    def _start(self, context: Any, setup: Setup, number: int) -> None:
        own, theirs = context.Pipe()
        self._pipes.append(own)
        # A forked worker holds copies of our ends; while it does, they would not close with us.
        inherited = tuple(self._pipes) if self._is_forked else ()
        process = context.Process(
            target=_run, args=(setup, number, theirs, inherited), daemon=True,
            name=f"DataLoader worker {number}",
        )  # fmt: skip
        process.start()
        self._processes.append(process)
        theirs.close()

    def send(self, worker: int, message: Any) -> None:
        try:
            self._pipes[worker].send(message)
        except (BrokenPipeError, ConnectionResetError):
            raise self._ended(worker) from None

    def receive(self, timeout: float | None) -> tuple[int, int, Any]:
        if not self.is_open:
            raise stopped()
        sentinels = [process.sentinel for process in self._processes]
        ready: list[Any] = connection.wait([*self._pipes, *sentinels], timeout)
        if not ready:
            raise timed_out(timeout or 0, self.word)
        for worker, pipe in enumerate(self._pipes):
            if pipe in ready or (sentinels[worker] in ready and pipe.poll()):
                try:
                    result: tuple[int, int, Any] = pickle.loads(pipe.recv_bytes())
                    return result
                except (EOFError, ConnectionResetError):
                    raise self._ended(worker) from None
        raise self._ended(next(k for k, mark in enumerate(sentinels) if mark in ready))

    def _ended(self, worker: int) -> errors.WorkerFailed:
        """The error for a worker that is no more. It ends the others too."""
        process = self._processes[worker]
        process.join(_GRACE)
        code = process.exitcode
        how = f"its exit code is {code}"
        help = []
        if code is not None and code < 0:
            how = f"it was killed by signal {_signal_name(-code)}"
            help = ["the system kills processes when memory runs out: try fewer workers"]
        elif not self._is_forked:
            help = [
                "a program that starts processes this way must guard what it does by "
                "`if __name__ == '__main__':`, since each process reads it again"
            ]
        self.close()
        return errors.WorkerFailed(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly: worker {worker} ended "
            f"while it was needed, and {how}",
            help=help,
        )

    def close(self) -> None:
        if not self.is_open or os.getpid() != self._owner:
            return  # a forked process is none of whose workers these are
        self.is_open = False
        for pipe in self._pipes:
            pipe.close()
        end = time.monotonic() + _GRACE
        for process in self._processes:
            process.join(max(0.0, end - time.monotonic()))
        for stop in ("terminate", "kill"):
            late = [process for process in self._processes if process.is_alive()]
            for process in late:
                getattr(process, stop)()
            for process in late:
                process.join(_GRACE)


_PICKLED: Final = (
    "what a DataLoader's workers need is sent to them with pickle, under this start method: define "
    "the data set's class, `collate_fn` and `worker_init_fn` at the top level of a module; or "
    "leave out `multiprocessing_context=`, and the workers are threads"
)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


# --- in the worker's process ----------------------------------------------------------------------


def _run(setup: Setup, number: int, pipe: Any, inherited: Iterable[Any]) -> None:
    """A worker's process: what it computes, beside threads that read tasks and send results."""
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it comes to all; who started us ends us
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    leaving = threading.Event()
    threading.Thread(target=_read, args=(pipe, tasks, leaving), daemon=True).start()
    writer = threading.Thread(target=_write, args=(pipe, results), daemon=True)
    writer.start()

    def receive() -> Any:
        task = tasks.get()
        return None if leaving.is_set() else task

    def send(position: int, worker: int, result: Any) -> None:
        results.put(_packed(position, worker, result))

    work(setup, number, True, receive, send)
    results.put(None)
    writer.join()  # where the loader has closed the pipe, writing fails, and that ends it too


def _read(pipe: Any, tasks: Any, leaving: threading.Event) -> None:
    """Pass tasks on, so that who sends them never waits; until the pipe closes."""
    parent: Any = parent_process()
    with suppress(EOFError, OSError):
        while pipe in connection.wait([pipe, parent.sentinel]):
            tasks.put(pipe.recv())
    leaving.set()
    tasks.put(None)


def _write(pipe: Any, results: Any) -> None:
    with suppress(OSError):
        while (result := results.get()) is not None:
            pipe.send_bytes(result)


def _packed(position: int, worker: int, result: Any) -> Any:
    """A result as bytes; if it has no such form, the failure to make them."""
    if isinstance(result, Failure):
        result = Failure(_portable(result.error), result.is_final)
    try:
        return ForkingPickler.dumps((position, worker, result))
    except Exception as error:
        error.add_note(
            f"a batch of type {type(result).__name__} cannot be sent from a worker process: give "
            "tensors, arrays, numbers or strings, or let the workers be threads"
        )
        return ForkingPickler.dumps((position, worker, Failure(_portable(error))))


def _portable(error: BaseException) -> BaseException:
    """An error that reaches another process, with its traceback as text."""
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = _replaced(error)
    error.__dict__["worker_traceback"] = text
    return error


def _replaced(error: BaseException) -> BaseException:
    """An error of the same class with the same text, if such can be sent; else a RuntimeError."""
    message = f"{type(error).__name__}: {error}"
    try:
        made = type(error)(message)
        pickle.loads(pickle.dumps(made))
    except Exception:
        made = RuntimeError(message)
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made
