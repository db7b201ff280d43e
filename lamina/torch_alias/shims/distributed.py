"""`torch.distributed` in a program that runs as one process: it is not available.

Programs ask first (`is_available() and is_initialized()`), and then go on alone. The names that
stand in signatures exist; communicating is an error that names the missing function.
"""

from __future__ import annotations

import enum
from typing import final

__all__ = [
    "ProcessGroup",
    "ReduceOp",
    "group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]


def is_available() -> bool:
    """False: there is one process."""
    return False


def is_initialized() -> bool:
    """False: there is one process."""
    return False


def is_backend_available(backend: str) -> bool:
    """False for every way to communicate."""
    return False


def is_gloo_available() -> bool:
    """False: Lamina has no Gloo."""
    return False


def is_mpi_available() -> bool:
    """False: Lamina does not use MPI here."""
    return False


def is_nccl_available() -> bool:
    """False: Lamina has no NCCL."""
    return False


def is_ucc_available() -> bool:
    """False: Lamina has no UCC."""
    return False


def is_xccl_available() -> bool:
    """False: Lamina has no XCCL."""
    return False


def is_torchelastic_launched() -> bool:
    """False: the process was not started by `torchrun`."""
    return False


@final
class ReduceOp(enum.Enum):
    """How values of several processes are brought together."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


@final
class ProcessGroup:
    """Processes that communicate; there are none, so nothing is an instance."""


@final
class group:
    """The groups that PyTorch names."""

    WORLD: ProcessGroup | None = None
