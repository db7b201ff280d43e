"""The library of tasks that are compiled once a process, when first needed, for all shapes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.tasks.attention import AttendWriter, pack_keys_function
from lamina.codegen.kernels.tasks.attention_backward import BackwardWriter
from lamina.codegen.kernels.tasks.attention_parts import part_functions
from lamina.codegen.kernels.tasks.convolution import ConvolveWriter, pack_weight_function
from lamina.codegen.kernels.tasks.depthwise import depthwise_functions
from lamina.codegen.kernels.tasks.packing import copy_planes, packing_functions, turn
from lamina.codegen.kernels.tasks.pooling import pooling_functions
from lamina.codegen.kernels.tasks.recurrence import walk_functions
from lamina.codegen.kernels.tasks.recurrence_backward import return_functions
from lamina.codegen.kernels.tasks.recurrence_gates import GATES
from lamina.codegen.kernels.tasks.recurrence_units import units_functions
from lamina.codegen.kernels.tasks.tiles import tile_functions
from lamina.codegen.kernels.tasks.weights import WeighWriter, fold_function
from lamina.codegen.kernels.tasks.winograd import FilterWriter, filters_function
from lamina.codegen.kernels.tasks.winograd_weights import weight_functions
from lamina.codegen.llvm import machine
from lamina.codegen.llvm.ir import KIND_OF, Function


def _recurrent_functions(name: str, kind: str, width: int) -> list[Function]:
    return [*walk_functions(name, kind, width), *return_functions(name, kind, width)]


_CHAPTERS: Final[dict[str, Callable[[str, int], list[Function]]]] = {
    "convolution": lambda kind, width: [
        *tile_functions(kind, width),
        *packing_functions(kind, width),
        pack_weight_function(),
        ConvolveWriter(kind, width).write(),
        WeighWriter(kind, width).write(),
        fold_function(kind, width),
    ],
    "winograd": lambda kind, width: [
        *tile_functions(kind, width),
        turn(kind, width),
        filters_function(kind, width),
        FilterWriter(kind, width).write(),
        *weight_functions(kind, width),
    ],
    "attention": lambda kind, width: [
        *tile_functions(kind, width),
        *packing_functions(kind, width),
        *part_functions(kind, width),
        pack_keys_function(kind, width),
        AttendWriter(kind, width).write(),
        BackwardWriter(kind, width).write(),
    ],
    "pooling": lambda kind, width: [copy_planes(kind, width), *pooling_functions(kind, width)],
    "depthwise": lambda kind, width: [
        copy_planes(kind, width),
        *depthwise_functions(kind, width),
    ],
    **{name: functools.partial(_recurrent_functions, name) for name in GATES},
    **{f"{name}, units": functools.partial(units_functions, name) for name in GATES},
}


def lanes_of(char: str) -> int:
    """How many numbers of a dtype a vector of this machine holds."""
    return machine.lane_count() * 4 // np.dtype(char).itemsize


@functools.cache
def _library(chapter: str, char: str) -> Library:
    return Library(_CHAPTERS[chapter](KIND_OF[char], lanes_of(char)))


def run(
    task: tuple[str, str, str], table: Mapping[str, int], names: tuple[str, ...], pieces: int,
    grain: int = 1,
) -> None:  # fmt: skip
    """Do all pieces of a task, `grain` at a time.

    Args:
        task: Its chapter, its name, and the dtype.
        table: The numbers it reads, by name.
        names: Their order.
        pieces, grain: How many pieces there are, and how many a thread does in one go.
    """
    chapter, name, char = task
    numbers = [table[each] for each in names]
    _library(chapter, char).run(name, numbers, pieces, grain)


MOST_KEPT: Final = 64 << 20
"""The largest scratch memory, in bytes, that is kept for the next call."""


@final
class Scratch:
    """Memory whose content does not matter, from an address that is a multiple of 64."""

    __slots__ = ("_memory", "address", "nbytes")

    def __init__(self, nbytes: int) -> None:
        self._memory = np.empty(nbytes + 64, np.uint8)
        self.address: int = -(-self._memory.ctypes.data // 64) * 64
        self.nbytes = nbytes

    def give_back(self) -> None:
        """Let it be used again."""
        if len(_free) < 4 and self.nbytes <= MOST_KEPT:
            _free.append(self)


_free: Final[list[Scratch]] = []


def borrowed(size: int) -> Scratch:
    """So many bytes, until they are given back."""
    try:
        memory = _free.pop()
    except IndexError:
        return Scratch(size)
    return memory if memory.nbytes >= size else Scratch(size)


@contextmanager
def scratch(size: int) -> Iterator[int]:
    """The address of some bytes whose content does not matter, used again afterwards."""
    memory = borrowed(size)
    try:
        yield memory.address
    finally:
        memory.give_back()


def rounded(size: int, step: int = 64) -> int:
    """The least multiple of `step` that is not less."""
    return math.ceil(size / step) * step
