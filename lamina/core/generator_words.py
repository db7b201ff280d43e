"""The words of a random stream: the engine, its seed and state, and numbers in [0, 1)."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self, final

import numpy as np

from lamina.codegen.later import Later, is_available
from lamina.core import generator_math as exact
from lamina.core.generator_math import Array, cast

if TYPE_CHECKING:
    from lamina.codegen.kernels import random as kernels
else:
    kernels = Later("lamina.codegen.kernels.random")

Shape = int | tuple[int, ...]

DEFAULT_SEED = 67280421310721
# Words worked on at a time, a multiple of 16: the temporaries then stay in a cache, and just below
# the 128 KiB from which the allocator asks the system each time.
CHUNK = 16320
WORTH: Final = 1 << 15
"""After so many uniform numbers, a millisecond of NumPy's time, machine code is loaded."""

_CALL = 512  # numbers that NumPy makes in the time that a call takes by itself
_LOW_24, _LOW_53 = np.uint64(2**24 - 1), np.uint64(2**53 - 1)
_HIGH_HALF = np.uint64(32)


@final
class _Usage:
    """How much was drawn with NumPy, by all streams of the process."""

    def __init__(self) -> None:
        self._work = 0

    def is_worth_machine_code(self, count: int, steps: int) -> bool:
        """Whether to load it for a stream that is asked for `count` numbers of so many steps."""
        self._work += (_CALL + count) * steps
        return self._work >= WORTH and is_available()


_usage: Final = _Usage()


@functools.cache
def _no_seed() -> Any:
    """What an engine starts from that is seeded in another way right after: 60 us less."""

    class NoSeed(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Array:
            return np.zeros(n_words, dtype)

    return NoSeed()


class Words:
    """A source of words with a state: the part of `Generator` that knows of no distribution."""

    __slots__ = (
        "_draws", "_engine", "_fresh", "_lock", "_memory", "_next_single", "_seed", "kept_normal",
    )  # fmt: skip

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._lock = threading.Lock()
        self._engine: np.random.MT19937 | None = None
        self._memory: Array | None = None
        self._draws: kernels.Draws | None = None
        self.manual_seed(seed)

    @property
    def _bits(self) -> np.random.MT19937:
        """NumPy's source of words, made when first needed: `numpy.random` takes 12 ms to load."""
        if self._engine is None:
            self._engine = np.random.MT19937(_no_seed())
            self._engine._legacy_seeding(self._seed % 2**32)
        return self._engine

    @property
    def _state(self) -> Array:
        """The engine's own memory: 624 words, and how many are used up.

        To ask NumPy for its `state`, which copies them, takes 30 us.
        """
        if self._memory is None:
            place = (ctypes.c_uint32 * (exact.WORDS + 1)).from_address(
                self._bits.ctypes.state_address
            )
            self._memory = np.frombuffer(memoryview(place), np.uint32)
        return self._memory

    # ---- seed and state ----

    def manual_seed(self, seed: int) -> Self:
        """Restarts the stream; the words depend on the low 32 bits of `seed` alone.

        Args:
            seed: from -2**63 to 2**64 - 1; a negative number stands for 2**64 more.

        Raises:
            RuntimeError: `seed` is not an integer.
            ValueError: `seed` does not fit in 64 bits.
        """
        number = exact.seed_number(seed)
        with self._lock:
            self._seed = number
            if self._engine is not None:
                self._engine._legacy_seeding(number % 2**32)
            # PyTorch tells "no word drawn yet" from "all 624 drawn"; NumPy's position does not.
            self._fresh = True
            self.kept_normal: float | None = None
            # PyTorch keeps one for float32 that no CPU op uses; carried so that states survive.
            self._next_single: float | None = None
        return self

    def seed(self) -> int:
        """Seeds from the operating system's entropy, and returns the seed."""
        # As PyTorch: 53 bits, which a float64 holds exactly.
        return self.manual_seed(int.from_bytes(os.urandom(7)) >> 3).initial_seed()

    def initial_seed(self) -> int:
        """The seed last given, as an unsigned 64-bit number."""
        return self._seed

    def get_state(self) -> Array:
        """The whole state: 5056 bytes (uint8), which PyTorch's `set_state` takes too."""
        with self._lock:
            kept = self.kept_normal, self._next_single
            memory = self._state
            words = memory[:-1], int(memory[-1]), self._fresh
            return exact.pack_state(exact.State(self._seed, *words, *kept))

    def set_state(self, state: Array) -> Self:
        """Continues from what `get_state` returned, here or in PyTorch.

        Raises:
            TypeError: `state` is not a uint8 array.
            RuntimeError: `state` is not 5056 long, or no generator could have made it.
        """
        new = exact.unpack_state(state)
        with self._lock:
            self._seed, self._fresh = new.seed, new.fresh
            memory = self._state
            memory[:-1], memory[-1] = new.key, new.used
            self.kept_normal, self._next_single = new.normal, new.single
        return self

    # ---- drawing; the caller of these holds the lock ----

    def _words(self, count: int) -> Array:
        """The next `count` 32-bit words, in a uint64 array."""
        self._fresh = self._fresh and not count
        return self._bits.random_raw(count)

    def _pairs(self, count: int) -> Array:
        """The next `count` 64-bit numbers; the first word of two is the high half."""
        words = self._words(2 * count)
        return words[0::2] << _HIGH_HALF | words[1::2]

    def _machine(self, count: int, steps: int = 1) -> kernels.Draws | None:
        """What makes `count` numbers by machine code; None if that is not there, or not worth it.

        Whoever gets it draws: the stream is not fresh any more.

        Args:
            count: How many numbers.
            steps: How many times as long as for uniform numbers NumPy takes for them.
        """
        draws = self._draws
        if draws is None:
            if not _usage.is_worth_machine_code(count, steps):
                return None
            draws = self._draws = kernels.Draws(self._bits)
        if count:
            self._fresh = False
        return draws

    def _singles(self, count: int) -> Array:
        """float32 in [0, 1), from the low 24 bits of a word."""
        if (draws := self._machine(count)) is not None:
            return draws.units(count, np.float32)
        # int32 turns into float32 several times faster than uint64 does.
        low = (self._words(count) & _LOW_24).astype(np.int32)
        return np.multiply(low, np.float32(2.0**-24), dtype=np.float32)

    def _doubles(self, count: int) -> Array:
        """float64 in [0, 1), from the low 53 bits of a pair."""
        if (draws := self._machine(count)) is not None:
            return draws.units(count, np.float64)
        return (self._pairs(count) & _LOW_53).astype(np.int64) * 2.0**-53

    def _fill(self, out: Array, block: Callable[[int], Array]) -> Array:
        """`block(count)` after `block(count)` into an array, cast to its dtype."""
        flat = out.reshape(-1)
        with self._lock:
            for start in range(0, flat.size, CHUNK):
                piece = flat[start : start + CHUNK]
                piece[...] = cast(block(piece.size), out.dtype)
        return out

    def _filled(self, task: str, out: Array, parameters: tuple[float, ...]) -> bool:
        """Fill an array by a task of machine code, where that is worth it; says whether it was."""
        with self._lock:
            draws = self._draws
            if draws is None or self._fresh:
                draws = self._machine(out.size)
            return draws is not None and draws.fill(task, out, parameters)
