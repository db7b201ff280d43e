"""The pretended GPUs of this process: how many, their memory, and what was moved."""

from __future__ import annotations

import os
import re
import threading
from typing import Final, final

from lamina.devices.backend import Counters
from lamina.devices.byte_counts import bytes_in_words
from lamina.devices.device import device
from lamina.errors import (
    InvalidArgument,
    InvalidDevice,
    OutOfMemoryError,
    SimulatedCudaUnavailable,
)

BLOCK: Final = 512
"""Allocations are counted in blocks of so many bytes, as PyTorch's allocator does."""

DEFAULT_TOTAL: Final = 16 << 30
"""The memory a simulated GPU says it has when no limit was set."""

HOW_TO_GET_CUDA: Final = (
    "to run device code without a GPU, set LAMINA_CUDA=simulated or call lamina.cuda.simulate()",
    "to run on the CPU: device = 'cuda' if torch.cuda.is_available() else 'cpu'",
    "a real GPU needs the package CuPy (pip install cupy-cuda12x), which this version of Lamina "
    "does not use yet",
)


@final
class MemoryAccount:
    """The memory of one simulated GPU. Views cost nothing; an array's bytes return when it dies.

    Attributes:
        index: Which GPU.
        limit: Bytes it has, or None for no limit.
        allocated, peak: Bytes in use now, and at most since the last `reset_peak`.
    """

    __slots__ = ("_lock", "allocated", "index", "limit", "peak")

    def __init__(self, index: int, limit: int | None = None) -> None:
        self.index = index
        self.limit = limit
        self.allocated = 0
        self.peak = 0
        # Finalizers run at any moment, also inside `allocate` of the same thread.
        self._lock = threading.RLock()

    @property
    def total(self) -> int:
        """Bytes this GPU says it has."""
        return DEFAULT_TOTAL if self.limit is None else self.limit

    def allocate(self, nbytes: int) -> int:
        """Take memory; returns what to give to `release`. `OutOfMemoryError` past the limit."""
        with self._lock:
            self.require(nbytes)
            size = in_blocks(nbytes)
            self.allocated += size
            self.peak = max(self.peak, self.allocated)
        return size

    def require(self, nbytes: int) -> None:
        """Raise `OutOfMemoryError` unless there is so much memory left."""
        size = in_blocks(nbytes)
        if self.limit is not None and self.allocated + size > self.limit:
            raise self.out_of_memory(size)

    def release(self, size: int) -> None:
        """Give memory back."""
        with self._lock:
            self.allocated -= size

    def reset_peak(self) -> None:
        """Let the peak begin again at what is in use now."""
        with self._lock:
            self.peak = self.allocated

    def out_of_memory(self, size: int) -> OutOfMemoryError:
        """The error for an allocation that does not fit."""
        free = self.total - self.allocated
        return OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {bytes_in_words(size)}. GPU {self.index} has a "
            f"total capacity of {bytes_in_words(self.total)} of which {bytes_in_words(free)} is "
            f"free; {bytes_in_words(self.allocated)} is allocated by Lamina",
            help=[
                "use smaller batches, or drop tensors that are no longer needed with `del`",
                "this GPU is simulated: lamina.cuda.simulate(memory=...) sets its size",
            ],
        )


def in_blocks(nbytes: int) -> int:
    """Bytes that an allocation really takes."""
    return -(-nbytes // BLOCK) * BLOCK


_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def in_bytes(memory: int | str | None) -> int | None:
    """An amount of memory, such as `8 << 30` or "8GiB", as a number of bytes.

    >>> in_bytes("2 KiB")
    2048
    """
    if memory is None or (isinstance(memory, int) and not isinstance(memory, bool) and memory > 0):
        return memory
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+)\s*([kmg]?)(?:i?b)?\s*", memory.lower())
        if match:
            return int(match.group(1)) * _UNITS[match.group(2)]
    raise InvalidArgument(
        f"simulate(): argument 'memory' is no amount of memory: {memory!r}",
        help=["write a number of bytes, or a text such as '512MiB' or '8GiB'"],
    )


@final
class _Current(threading.local):
    """The CUDA device that this thread uses when no index is given."""

    index: int = 0


@final
class Simulation:
    """All simulated GPUs. There is one, `simulation`; it is off while `accounts` is empty.

    Attributes:
        accounts: The memory of each GPU.
        counters: What was moved between host and GPUs.
    """

    def __init__(self) -> None:
        self.accounts: list[MemoryAccount] = []
        self.counters = Counters()
        self._current = _Current()

    @property
    def count(self) -> int:
        """How many GPUs there are; zero when nothing is simulated."""
        return len(self.accounts)

    def replace_accounts(self, accounts: list[MemoryAccount]) -> list[MemoryAccount]:
        """Have other GPUs from now on; returns those there were. Living arrays keep theirs."""
        before, self.accounts = self.accounts, accounts
        return before

    @property
    def current(self) -> int:
        """The index that `cuda` without one stands for, in this thread."""
        return self._current.index if self._current.index < self.count else 0

    @current.setter
    def current(self, index: int) -> None:
        self.account(index)
        self._current.index = index

    def account(self, index: int | None) -> MemoryAccount:
        """The memory of a GPU, or of the current one.

        Raises:
            SimulatedCudaUnavailable: (RuntimeError) When there is no GPU, not even a simulated one.
            InvalidDevice: (RuntimeError) When there are GPUs, but not that one.
        """
        if not self.accounts:
            raise SimulatedCudaUnavailable(
                "Torch not compiled with CUDA enabled: there is no GPU here that Lamina can use",
                help=list(HOW_TO_GET_CUDA),
            )
        if index is None:
            index = self.current
        if not 0 <= index < len(self.accounts):
            raise InvalidDevice(
                f"CUDA error: invalid device ordinal: there is no {device('cuda', abs(index))}, "
                f"only {len(self.accounts)} simulated GPU(s)",
                help=[f"to have more: lamina.cuda.simulate(count={abs(index) + 1})"],
            )
        return self.accounts[index]


simulation: Final = Simulation()


def check_accelerator() -> None:
    """Raise if there is no GPU at all."""
    if not simulation.count:
        raise SimulatedCudaUnavailable(
            "Cannot access accelerator device when none is available.", help=HOW_TO_GET_CUDA
        )


def begin_as_asked(setting: str) -> None:
    """Do what LAMINA_CUDA asks for: nothing, `simulated`, or `simulated:<count>`."""
    if not setting or setting == "0":
        return
    match = re.fullmatch(r"simulated(?::(\d+))?", setting)
    if match is None:
        raise InvalidArgument(
            f"LAMINA_CUDA={setting} is not understood",
            help=["set LAMINA_CUDA=simulated or LAMINA_CUDA=simulated:2, or unset it"],
        )
    simulation.replace_accounts([MemoryAccount(k) for k in range(int(match.group(1) or 1))])


begin_as_asked(os.environ.get("LAMINA_CUDA", ""))
