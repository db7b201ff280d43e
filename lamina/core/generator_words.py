"""The words of a random stream: the engine, its seed and state, and numbers in [0, 1)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from lamina.core import generator_math as exact
from lamina.core.generator_math import Array, cast

Shape = int | tuple[int, ...]

DEFAULT_SEED = 67280421310721
# Words worked on at a time, a multiple of 16: the temporaries then stay in a cache, and just below
# the 128 KiB from which the allocator asks the system each time.
CHUNK = 16320
_LOW_24, _LOW_53 = np.uint64(2**24 - 1), np.uint64(2**53 - 1)
_HIGH_HALF = np.uint64(32)


class Words:
    """A source of words with a state: the part of `Generator` that knows of no distribution."""

    __slots__ = ("_engine", "_fresh", "_lock", "_next_single", "_seed", "kept_normal")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._lock = threading.Lock()
        self._engine: np.random.MT19937 | None = None
        self.manual_seed(seed)

    @property
    def _bits(self) -> np.random.MT19937:
        """NumPy's source of words, made when first needed: `numpy.random` takes 12 ms to load."""
        if self._engine is None:
            self._engine = np.random.MT19937(0)
            self._engine._legacy_seeding(self._seed % 2**32)
        return self._engine

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
            bits = self._bits.state["state"]
            kept = self.kept_normal, self._next_single
            words = bits["key"], bits["pos"], self._fresh
            return exact.pack_state(exact.State(self._seed, *words, *kept))

    def set_state(self, state: Array) -> Self:
        """Continues from what `get_state` returned, here or in PyTorch.

        Raises:
            TypeError: `state` is not a uint8 array.
            RuntimeError: `state` is not 5056 long, or no generator could have made it.
        """
        new = exact.unpack_state(state)
        with self._lock:
            words = {"key": new.key, "pos": new.used}
            self._bits.state = {"bit_generator": "MT19937", "state": words}  # type: ignore[typeddict-item]
            self._seed, self._fresh = new.seed, new.fresh
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

    def _singles(self, count: int) -> Array:
        """float32 in [0, 1), from the low 24 bits of a word."""
        # int32 turns into float32 several times faster than uint64 does.
        low = (self._words(count) & _LOW_24).astype(np.int32)
        return np.multiply(low, np.float32(2.0**-24), dtype=np.float32)

    def _doubles(self, count: int) -> Array:
        """float64 in [0, 1), from the low 53 bits of a pair."""
        return (self._pairs(count) & _LOW_53).astype(np.int64) * 2.0**-53

    def _fill(self, shape: Shape, dtype: np.dtype[Any], block: Callable[[int], Array]) -> Array:
        """An array of `block(count)` after `block(count)`, cast to `dtype`."""
        out = np.empty(shape, dtype)
        flat = out.reshape(-1)
        with self._lock:
            for start in range(0, flat.size, CHUNK):
                piece = flat[start : start + CHUNK]
                piece[...] = cast(block(piece.size), dtype)
        return out
