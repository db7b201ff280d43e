"""The library of tasks that are compiled once a process, when first needed, for all shapes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.library import Library
from lamina.codegen.kernels.tasks.attention import AttendWriter, pack_keys_function
from lamina.codegen.kernels.tasks.attention_backward import BackwardWriter
from lamina.codegen.kernels.tasks.attention_parts import part_functions
from lamina.codegen.kernels.tasks.convolution import ConvolveWriter, pack_weight_function
from lamina.codegen.kernels.tasks.depthwise import depthwise_functions
from lamina.codegen.kernels.tasks.packing import copy_planes, packing_functions
from lamina.codegen.kernels.tasks.pooling import pooling_functions
from lamina.codegen.kernels.tasks.tiles import tile_functions
from lamina.codegen.kernels.tasks.weights import WeighWriter, fold_function
from lamina.codegen.llvm import machine
from lamina.codegen.llvm.ir import KIND_OF, Function

_CHAPTERS: Final[dict[str, Callable[[str, int], list[Function]]]] = {
    "convolution": lambda kind, width: [
        *tile_functions(kind, width),
        *packing_functions(kind, width),
        pack_weight_function(),
        ConvolveWriter(kind, width).write(),
        WeighWriter(kind, width).write(),
        fold_function(kind, width),
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

_free: list[Any] = []


@contextmanager
def scratch(size: int) -> Iterator[int]:
    """The address of some bytes whose content does not matter, used again afterwards."""
    try:
        memory = _free.pop()
    except IndexError:
        memory = np.empty(0, np.uint8)
    if memory.nbytes < size + 64:
        memory = np.empty(size + 64, np.uint8)
    try:
        yield -(-memory.ctypes.data // 64) * 64
    finally:
        if len(_free) < 4 and memory.nbytes <= MOST_KEPT:
            _free.append(memory)


def rounded(size: int, step: int = 64) -> int:
    """The least multiple of `step` that is not less."""
    return math.ceil(size / step) * step
