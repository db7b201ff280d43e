"""The tasks that make random numbers, compiled one by one when first needed."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Final, final

from lamina.codegen.kernels.tasks import random_normals as normals
from lamina.codegen.kernels.tasks import random_numbers as numbers
from lamina.codegen.kernels.tasks.random_words import FIRST_PARAMETER, word_functions
from lamina.codegen.llvm.ir import IN_MEMORY, KIND_OF, Function, module
from lamina.codegen.llvm.machine import Machine, lane_count


@final
class Task:
    """What makes numbers of one dtype from words.

    Args:
        function: The task.
        words: How many words a number takes.
        piece: How many numbers a piece makes.
        parameters: Their format, as `struct` has it.
        is_whole: Whether words are drawn for whole pieces.
        is_shared: Whether threads may share it.

    Attributes:
        address: Where the task is.
        call, call_alone: Draw words, and do all pieces of the task that the table names. While the
            first one runs, no other thread of Python does.
        pack: Writes a table.
    """

    def __init__(
        self, function: Function, words: int, piece: int, parameters: str = "",
        is_whole: bool = False, is_shared: bool = True,
    ) -> None:  # fmt: skip
        self._machine = Machine(module([*word_functions(lane_count()), function]))
        self.address = self._machine.address_of(function.name)
        entry = self._machine.address_of("draw_and_fill")
        self.call = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(entry)
        self.call_alone = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entry)
        self.words, self.piece = words, piece
        self.is_whole, self.is_shared = is_whole, is_shared
        self.pack = struct.Struct(f"={FIRST_PARAMETER}q{parameters}").pack_into


@functools.cache
def task_of(name: str, char: str) -> Task | None:
    """The task that makes numbers of a dtype; None if machine code has none for it."""
    chars, make = _MAKERS[name]
    return make(char) if char in chars else None


def _uniform(char: str) -> Task:
    words = 1 if char == "f" else 2
    return _by_vectors("uniform", char, numbers.uniform, words, lane_count() // words, "ddd")


def _chosen(char: str) -> Task:
    parameters = "dd" if char in "fd" else "dq"
    return _by_vectors("chosen", char, numbers.chosen, 2, lane_count() // 2, parameters)


def _chosen_by(char: str) -> Task:
    words = 1 if char == "f" else 2
    return _by_vectors("chosen_by", char, numbers.chosen_by, words, lane_count() // words, "q")


def _exponential(char: str) -> Task:
    return _by_vectors("exponential", char, numbers.exponential, 2, lane_count() // 2, "d")


def _whole(char: str) -> Task:
    return _by_vectors("whole", char, numbers.whole, 1, lane_count() // 2, "ddq")


def _wide(char: str) -> Task:
    return _by_vectors("wide", char, numbers.wide, 2, lane_count() // 2, "Qq")


def _by_vectors(
    name: str, char: str, body: Callable[[numbers.Given], numbers.Lanes], words: int, width: int,
    parameters: str,
) -> Task:  # fmt: skip
    kind = KIND_OF[char]
    function = numbers.write_task(name, IN_MEMORY.get(kind, kind), width, body)
    return Task(function, words, width, parameters)


def _normal_blocks(char: str) -> Task:
    words = 1 if char == "f" else 2
    return Task(normals.normal_blocks(KIND_OF[char]), words, 2 * normals.HALF, "dd")


def _normal_pairs(char: str) -> Task:
    return Task(normals.normal_pairs(), 2, 2, "q", is_whole=True)


def _swap_places(char: str) -> Task:
    return Task(numbers.swap_places(KIND_OF[char]), 1, 1, is_shared=False)


_MAKERS: Final[dict[str, tuple[str, Callable[[str], Task]]]] = {
    "uniform": ("fd", _uniform),
    "chosen": ("fd?bBilq", _chosen),
    "chosen_by": ("fd", _chosen_by),
    "exponential": ("fd", _exponential),
    "whole": ("ilq", _whole),
    "wide": ("ilq", _wide),
    "normal_blocks": ("fd", _normal_blocks),
    "normal_pairs": ("d", _normal_pairs),
    "swap_places": ("ilq", _swap_places),
}
"""For each task the characters of its dtypes, and what makes it for one."""
