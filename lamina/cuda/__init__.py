"""`lamina.cuda`: GPUs as PyTorch's programs see them, and simulated ones for machines without.

    LAMINA_CUDA=simulated python train.py        one simulated GPU
    LAMINA_CUDA=simulated:2 python train.py      two

or, in a program, `lamina.cuda.simulate(count=2)`. `transfers()` counts what was moved between host
and GPUs, and `why()` says in plain words why CUDA is or isn't available.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from types import TracebackType
from typing import Self, final

from lamina.core.tensor import Tensor
from lamina.cuda import amp
from lamina.cuda.memory import (
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from lamina.devices.backend import Counters
from lamina.devices.byte_counts import bytes_in_words
from lamina.devices.cuda_streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
    synchronize,
)
from lamina.devices.cuda_streams import Place as _Place
from lamina.devices.cuda_streams import index_of as _index
from lamina.devices.simulation import (
    HOW_TO_GET_CUDA,
    MemoryAccount,
    in_bytes,
    simulation,
)
from lamina.errors import ArgumentTypeError, InvalidArgument, OutOfMemoryError
from lamina.ops.device_random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from lamina.ops.typed_tensors import CUDA_TYPES as _CUDA_TYPES

BFloat16Tensor = _CUDA_TYPES["BFloat16Tensor"]
BoolTensor = _CUDA_TYPES["BoolTensor"]
ByteTensor = _CUDA_TYPES["ByteTensor"]
CharTensor = _CUDA_TYPES["CharTensor"]
DoubleTensor = _CUDA_TYPES["DoubleTensor"]
FloatTensor = _CUDA_TYPES["FloatTensor"]
HalfTensor = _CUDA_TYPES["HalfTensor"]
IntTensor = _CUDA_TYPES["IntTensor"]
LongTensor = _CUDA_TYPES["LongTensor"]
ShortTensor = _CUDA_TYPES["ShortTensor"]

# --- Lamina's own: simulation ------------------------------------------------------------------


@final
class simulate:
    """Have `count` simulated GPUs, from now on or for the length of a `with` block.

    A simulated GPU computes on the CPU, in a memory of its own: mixing, moving and copying behave
    and fail as on a real one. `simulate(0)` takes the GPUs away.

    Args:
        count: How many GPUs.
        memory: Bytes each has, such as `8 << 30` or "8GiB"; an allocation beyond them raises
            `OutOfMemoryError`. None sets no limit.

    >>> with simulate(count=2):
    ...     device_count()
    2
    """

    def __init__(self, count: int = 1, memory: int | str | None = None) -> None:
        if not isinstance(count, int) or isinstance(count, bool):
            raise ArgumentTypeError(
                f"simulate(): argument 'count' must be int, not {type(count).__name__}",
                help=["write for example lamina.cuda.simulate(count=2)"],
            )
        if count < 0:
            raise InvalidArgument(
                f"simulate(): argument 'count' must not be negative, got {count}",
                help=["lamina.cuda.simulate(0) takes the simulated GPUs away"],
            )
        limit = in_bytes(memory)
        accounts = [MemoryAccount(index, limit) for index in range(count)]
        self._before = simulation.replace_accounts(accounts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        simulation.replace_accounts(self._before)


def transfers() -> Counters:
    """What was moved since the start or the last `reset_transfers()`: counts and bytes.

    >>> transfers().host_to_device >= 0
    True
    """
    return simulation.counters.snapshot()


def reset_transfers() -> None:
    """Let `transfers()` begin again at zero."""
    simulation.counters.reset()


def why() -> str:
    """Why CUDA is or isn't available here, and what to do, in plain words."""
    if simulation.count:
        sizes = simulation.accounts[0].limit
        memory = "no memory limit" if sizes is None else f"{bytes_in_words(sizes)} of memory each"
        return (
            f"CUDA is available: {simulation.count} simulated GPU(s) with {memory}. They compute "
            "on the CPU and behave as real GPUs do when tensors are moved or mixed.\n"
            "  to go back to the CPU alone: lamina.cuda.simulate(0), and unset LAMINA_CUDA"
        )
    lines = ["CUDA is not available: there is no GPU here that Lamina can use."]
    return "\n".join([*lines, *(f"  {line}" for line in HOW_TO_GET_CUDA)])


# --- devices -----------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether there is a GPU, real or simulated."""
    return simulation.count > 0


def device_count() -> int:
    """How many GPUs there are."""
    return simulation.count


def is_initialized() -> bool:
    """Whether GPUs are ready for use; simulated ones always are."""
    return simulation.count > 0


def init() -> None:
    """Make GPUs ready for use; raises if there are none."""
    simulation.account(None)


def current_device() -> int:
    """The index of the GPU that `cuda` stands for in this thread."""
    return simulation.account(None).index


def set_device(device: _Place) -> None:
    """Let `cuda` stand for another GPU, in this thread."""
    index = _index(device)
    if index is not None and index >= 0:
        simulation.current = index


@final
class device:
    """A block in which `cuda` stands for another GPU; a negative index or None changes nothing."""

    def __init__(self, device: _Place) -> None:
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self) -> Self:
        self.prev_idx = simulation.current
        set_device(self.idx)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if simulation.count > self.prev_idx:
            simulation.current = self.prev_idx


def device_of(obj: Tensor) -> device:
    """A block in which `cuda` stands for the GPU of a tensor; for one on the CPU, nothing."""
    return device(obj.device.index if obj.is_cuda else None)


@dataclass(frozen=True)
class DeviceProperties:
    """What a GPU is."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device: _Place = None) -> DeviceProperties:
    """Name, compute capability and memory of a GPU."""
    account = simulation.account(_index(device))
    name = f"Simulated GPU ({platform.machine()} CPU)"
    return DeviceProperties(name, 0, 0, account.total, os.cpu_count() or 1)


def get_device_name(device: _Place = None) -> str:
    """The name of a GPU."""
    return get_device_properties(device).name


def get_device_capability(device: _Place = None) -> tuple[int, int]:
    """The compute capability of a GPU, (0, 0) for a simulated one."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU has bfloat16; a simulated one computes it on the CPU."""
    return simulation.count > 0


# --- what only a real GPU has -------------------------------------------------------------------


def get_arch_list() -> list[str]:
    """The kinds of GPU for which machine code was built: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler's flags for these kinds: none."""
    return ""


def is_tf32_supported() -> bool:
    """Whether the current GPU multiplies with shortened numbers: a simulated one does not."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether work is being recorded for a CUDA graph: it never is."""
    return False


def can_device_access_peer(device: _Place, peer_device: _Place) -> bool:
    """Whether a GPU reads another one's memory; every simulated one does, but for itself."""
    first, second = (simulation.account(_index(place)).index for place in (device, peer_device))
    return first != second


__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DeviceProperties",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "OutOfMemoryError",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "reset_transfers",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "simulate",
    "stream",
    "synchronize",
    "transfers",
    "why",
]
