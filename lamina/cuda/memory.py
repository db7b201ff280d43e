"""The memory of GPUs: what is in use, and was at most. All numbers are bytes; 0 without a GPU."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from lamina.core.warning import warn
from lamina.devices.byte_counts import bytes_in_words
from lamina.devices.cuda_streams import Place as _Place
from lamina.devices.cuda_streams import index_of
from lamina.devices.simulation import MemoryAccount, simulation
from lamina.errors import ArgumentTypeError, InvalidValue

__all__ = [
    "empty_cache", "ipc_collect", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_stats", "memory_stats_as_nested_dict", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip


def _account(device: _Place) -> MemoryAccount:
    return simulation.account(index_of(device))


def memory_allocated(device: _Place = None) -> int:
    """Bytes that living tensors take on a GPU; 0 without one."""
    return _account(device).allocated if simulation.count else 0


def max_memory_allocated(device: _Place = None) -> int:
    """The most that `memory_allocated` has been since the start or the last reset."""
    return _account(device).peak if simulation.count else 0


def reset_peak_memory_stats(device: _Place = None) -> None:
    """Let `max_memory_allocated` begin again at what is in use now."""
    _account(device).reset_peak()


def memory_reserved(device: _Place = None) -> int:
    """Bytes held for a GPU's tensors; a simulated one holds none in reserve."""
    return memory_allocated(device)


def max_memory_reserved(device: _Place = None) -> int:
    """The most that `memory_reserved` has been."""
    return max_memory_allocated(device)


def empty_cache() -> None:
    """Give back unused memory; a simulated GPU holds none."""


def ipc_collect() -> None:
    """Give back memory that other processes were lent; a simulated GPU lends none."""


def mem_get_info(device: _Place = None) -> tuple[int, int]:
    """Free and total bytes of a GPU."""
    account = _account(device)
    return max(account.total - account.allocated, 0), account.total


def set_per_process_memory_fraction(fraction: float, device: _Place = None) -> None:
    """Let a GPU have this part of its memory, and no more: then it raises `OutOfMemoryError`.

    Args:
        fraction: Between 0 and 1.
    """
    account = _account(device)
    if not isinstance(fraction, float):
        raise ArgumentTypeError(
            f"Invalid type for fraction argument, must be `float`, not {type(fraction).__name__}"
        )
    if not 0 <= fraction <= 1:
        raise InvalidValue(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    account.limit = int(account.total * fraction)


# --- all at once ----------------------------------------------------------------------------------


def memory_stats(device: _Place = None) -> OrderedDict[str, int]:
    """What is in use now and was at most, under PyTorch's names; empty without a GPU.

    >>> memory_stats()
    OrderedDict()
    """
    if not simulation.count:
        return OrderedDict()
    account = _account(device)
    stats = OrderedDict[str, int]()
    for kind in ("active_bytes", "allocated_bytes", "requested_bytes", "reserved_bytes"):
        stats[f"{kind}.all.current"] = account.allocated
        stats[f"{kind}.all.peak"] = account.peak
    return stats


def memory_stats_as_nested_dict(device: _Place = None) -> dict[str, Any]:
    """`memory_stats`, a dict in a dict for each dot in a name."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *outer, last = name.split(".")
        inside = nested
        for step in outer:
            inside = inside.setdefault(step, {})
        inside[last] = value
    return nested


def memory_summary(device: _Place = None, abbreviated: bool = False) -> str:
    """The memory of a GPU in words, to be printed.

    Args:
        abbreviated: Accepted: it is short anyway.
    """
    account = _account(device)
    rows = [
        ("in use", account.allocated), ("at most", account.peak), ("in all", account.total)
    ]  # fmt: skip
    lines = [f"  {name:<8}{bytes_in_words(count):>12}" for name, count in rows]
    return "\n".join([f"memory of cuda:{account.index} (simulated)", *lines])


# --- PyTorch's older names ------------------------------------------------------------------------


def _warn_of_older_name(old: str, new: str) -> None:
    warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning)


def memory_cached(device: _Place = None) -> int:
    """The older name of `memory_reserved`."""
    _warn_of_older_name("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: _Place = None) -> int:
    """The older name of `max_memory_reserved`."""
    _warn_of_older_name("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def reset_max_memory_allocated(device: _Place = None) -> None:
    """The older name of `reset_peak_memory_stats`."""
    _warn_of_older_name("reset_max_memory_allocated", "reset_peak_memory_stats")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: _Place = None) -> None:
    """The older name of `reset_peak_memory_stats`."""
    _warn_of_older_name("reset_max_memory_cached", "reset_peak_memory_stats")
    reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device: _Place = None) -> None:
    """Nothing: a simulated GPU adds nothing up."""
    _account(device)
