"""Random numbers by machine code, drawn from the engine that NumPy draws from too."""

from __future__ import annotations

import ctypes
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.random_tasks import Task, task_of
from lamina.codegen.kernels.tasks.random_words import FIRST_PARAMETER
from lamina.codegen.llvm.threads import pool
from lamina.codegen.stores import address_of

FEW: Final = 1 << 12
"""Up to so many words are drawn and used in one call of machine code, by one thread."""

MANY: Final = 1 << 17
"""Else so many words are drawn at a time, and threads share them: they stay in a cache."""

GRAIN: Final = 1 << 12
"""How many numbers a thread makes in one go, about."""

_BEHIND: Final = 64  # words that whole vectors may read behind the last one
_MOST_PARAMETERS: Final = 3


@final
class Draws:
    """Draws from one engine. Whoever calls holds the lock of its stream.

    Args:
        engine: NumPy's `MT19937`, whose memory is read and written.
    """

    __slots__ = ("_engine", "_kept", "_state", "_table", "_table_at", "_words", "_words_at")

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._state = engine.ctypes.state_address
        self._table = bytearray(8 * (FIRST_PARAMETER + _MOST_PARAMETERS))
        self._table_at = ctypes.addressof(ctypes.c_char.from_buffer(self._table))
        self._words = np.empty(FEW + _BEHIND, np.uint32)
        self._words_at = address_of(self._words)
        self._kept = ctypes.c_double()

    def fill(self, name: str, out: Any, parameters: tuple[float, ...]) -> bool:
        """Fill an array by a task, if there is one for its dtype; says whether there is.

        Args:
            name: The task's name.
            out: A C-contiguous array.
            parameters: What the task wants.
        """
        task = task_of(name, out.dtype.char)
        if task is None:
            return False
        self._fill(task, address_of(out), out.size, parameters)
        return True

    def units(self, count: int, dtype: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """An array of numbers in [0, 1), float32 or float64."""
        out = np.empty(count, dtype)
        self.fill("uniform", out, (1.0, 0.0, 2.0))  # the high end is never reached
        return out

    def fill_normal(self, out: Any, std: float, mean: float) -> bool:
        """Fill an array of 16 numbers or more with normal ones, in blocks of 16.

        If a block is left open, the last 16 are drawn anew.
        """
        task = task_of("normal_blocks", out.dtype.char)
        if task is None:
            return False
        first, count = address_of(out), out.size
        rest = count % task.piece
        self._fill(task, first, count - rest, (std, mean))
        if rest:
            self._skip(task, rest, (std, mean))
            last = first + (count - task.piece) * out.itemsize
            self._fill(task, last, task.piece, (std, mean))
        return True

    def fill_pairs(self, out: Any) -> float | None:
        """Fill an array of float64 with standard normal numbers, from pairs of uniform ones.

        Returns:
            The one of the last pair that is left over, if one is.
        """
        self.fill("normal_pairs", out, (ctypes.addressof(self._kept),))
        return self._kept.value if out.size % 2 else None

    def fill_by(self, name: str, out: Any, other: Any) -> bool:
        """`fill`, where the task reads an array of the same shape and dtype."""
        if other.dtype is not out.dtype or not other.flags.c_contiguous:
            return False
        return self.fill(name, out, (address_of(other),))

    def _fill(self, task: Task, out: int, count: int, parameters: tuple[float, ...]) -> None:
        words = task.words * count
        if words > FEW - task.words:
            self._fill_many(task, out, count, parameters)
            return
        pieces = -(-count // task.piece)
        if task.is_whole:
            words = task.words * pieces * task.piece
        task.pack(
            self._table, 0, self._state, self._words_at, words, task.address, pieces, out, count, 0,
            *parameters,
        )  # fmt: skip
        task.call(self._table_at)

    def _fill_many(self, task: Task, out: int, count: int, parameters: tuple[float, ...]) -> None:
        memory = np.empty(MANY + _BEHIND, np.uint32)
        words_at, step = address_of(memory), MANY // task.words
        for start in range(0, count, step):
            own = min(step, count - start)
            pieces = -(-own // task.piece)
            words = task.words * (pieces * task.piece if task.is_whole else own)
            at_once = 0 if task.is_shared else pieces
            task.pack(
                self._table, 0, self._state, words_at, words, task.address, at_once, out, count,
                start, *parameters,
            )  # fmt: skip
            task.call_alone(self._table_at)
            if task.is_shared:
                pool().run(task.address, self._table_at, pieces, max(GRAIN // task.piece, 1))

    def _skip(self, task: Task, count: int, parameters: tuple[float, ...]) -> None:
        """Draw the words of a few numbers, and nothing more."""
        words = count * task.words
        task.pack(
            self._table, 0, self._state, self._words_at, words, task.address, 0, 0, 0, 0,
            *parameters,
        )  # fmt: skip
        task.call(self._table_at)
