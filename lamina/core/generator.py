"""PyTorch's CPU random stream, on NumPy arrays.

The words are those of the standard MT19937, seeded with one 32-bit number. The rest is what
PyTorch 2.13 makes of the words: which of their bits a number uses, how many words a call takes,
and in which order. So after `manual_seed(s)` the same calls give the same numbers, leave the
stream at the same place, and a saved state can be loaded by either library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from lamina.core import generator_choices as choices
from lamina.core import generator_math as exact
from lamina.core.generator_math import Array, cast, floating
from lamina.core.generator_words import CHUNK, Shape, Words
from lamina.core.generator_words import DEFAULT_SEED as DEFAULT_SEED

# Note: agreement with PyTorch
#
# Compared bit for bit with PyTorch 2.13.0's CPU build on x86-64 with AVX2. Where float64 values
# need `log`, `sin`, `exp`, ..., both sides call the C library, and agree where that is the same.
#
# - On Intel processors only, PyTorch takes `bernoulli_` with a number, and `exponential_`, from
#   MKL's own streams. Lamina gives what PyTorch gives on every other processor.
# - `multinomial` without replacement orders categories of weight zero by their index.
# - `permutation` of 214,748,364 or more has not been compared.

# Ranges from here on take 64-bit draws: a 32-bit word modulo them would be visibly uneven.
_WIDE_RANGE = 2**28

# So many 64-bit numbers do not fit into a first-level cache.
_FAR_PLACES = 1 << 13


@final
class Generator(Words):
    """A stream of random numbers, with the state and the answers of PyTorch's CPU generator.

    Every sampling method returns a new C-contiguous array, and may be called from several threads.
    Before a word is drawn it raises NotImplementedError for a dtype that PyTorch has no such
    numbers for, and RuntimeError for an argument out of range.

    Args:
        seed: as for `manual_seed`.

    Example:
        >>> Generator(0).uniform((3,), np.float32)
        array([0.4962566 , 0.7682218 , 0.08847743], dtype=float32)
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[Array], Generator], tuple[Array]]:
        return _from_state, (self.get_state(),)

    def clone(self) -> Generator:
        """A second generator, at the same place of the same stream."""
        return _from_state(self.get_state())

    # ---- real numbers ----

    def uniform(
        self, shape: Shape, dtype: Any, low: float = 0.0, high: float = 1.0,
        *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """Even on [low, high): `rand`, `uniform_`. Real or complex dtype (then for each part)."""
        dtype, wide, limits = exact.uniform_limits(dtype, low, high)
        if dtype.kind == "c":
            parts_shape = (*np.broadcast_shapes(shape), 2)  # shape may be a bare number
            parts = self.uniform(parts_shape, exact.REAL_OF[dtype.name], low, high)
            return exact.complex_from(parts)
        if out is None:
            out = np.empty(shape, dtype)
        if self._filled("uniform", out, limits):
            return out
        span, start, end = limits

        def block(count: int) -> Array:
            unit = self._doubles(count) if wide else self._singles(count)
            if low == 0 and high == 1 and dtype.itemsize >= 4:
                return unit
            values = cast(exact.scaled(unit, span, start), dtype)
            values[values == dtype.type(end)] = start  # rounding must not reach the open end
            return values

        return self._fill(out, block)

    def normal(
        self, shape: Shape, dtype: Any, mean: float = 0.0, std: float = 1.0,
        *, packed: bool = True, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """The bell curve: `randn`, `normal_`. For a complex dtype each part has `std / sqrt(2)`.

        Fewer than 16 numbers (a complex one counts as two) come one pair at a time, the second
        of a pair being kept for the next call. From 16 on, Box-Muller runs over blocks of 16,
        the last 16 are drawn anew if a block is left open, and nothing is kept or used.

        Args:
            packed: False gives what PyTorch puts into a tensor that is not contiguous: pairs.
        """
        dtype, wide = floating("normal", dtype, True)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        if dtype.kind == "c":
            real, parts_shape = exact.REAL_OF[dtype.name], (*np.broadcast_shapes(shape), 2)
            parts = self.normal(parts_shape, real, mean, std / math.sqrt(2), packed=packed)
            return exact.complex_from(parts)
        if out is None:
            out = np.empty(shape, dtype)
        count = out.size
        with self._lock:
            if count < 16 or not packed:
                pairs = cast(exact.scaled(self._paired_normals(count), std, mean), dtype)
                out[...] = pairs.reshape(out.shape)
            else:
                draws = self._machine(count, steps=4)
                if draws is None or not draws.fill_normal(out, std, mean):
                    self._fill_blocks(out.reshape(-1), mean, std, wide)
        return out

    def normal_by_pairs(
        self, shape: Shape, dtype: Any, mean: float = 0.0, std: float = 1.0,
        *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """What `normal` puts into a tensor that is not contiguous."""
        return self.normal(shape, dtype, mean, std, packed=False, out=out)

    def _fill_blocks(self, flat: Array, mean: float, std: float, wide: bool) -> None:
        """Fills 16 or more normal numbers, by Box-Muller over blocks of 16."""
        draw = self._doubles if wide else self._singles
        transform = exact.box_muller_double if wide else exact.box_muller_single
        whole = flat.size - flat.size % 16
        for start in range(0, whole, CHUNK):
            piece = flat[start : min(start + CHUNK, whole)]
            piece[...] = cast(transform(draw(piece.size), mean, std), flat.dtype)
        if whole != flat.size:
            if flat.itemsize >= 4:
                draw(flat.size - whole)  # drawn into the open block, then overwritten
            flat[-16:] = cast(transform(draw(16), mean, std), flat.dtype)

    def _paired_normals(self, count: int) -> Array:
        """Standard normal float64, two from two uniforms; the one left over is kept."""
        out = rest = np.empty(count)
        if count and self.kept_normal is not None:
            out[0], self.kept_normal = self.kept_normal, None
            rest = out[1:]
        if not rest.size:
            return out
        if (draws := self._machine(rest.size)) is not None:
            self.kept_normal = draws.fill_pairs(rest)
            return out
        pairs = (rest.size + 1) // 2
        first, second = self._doubles(2 * pairs).reshape(-1, 2).T
        radius = np.sqrt(-2.0 * exact.function("log1p", True)(-second))
        numbers = exact.polar(radius, 2.0 * math.pi * first).view(np.float64)
        rest[...] = numbers[: rest.size]
        if numbers.size != rest.size:
            self.kept_normal = float(numbers[-1])
        return out

    def exponential(
        self, shape: Shape, dtype: Any, lambd: float = 1.0, *, out: Array | None = None
    ) -> Array:
        """Waiting times at a rate lambd > 0: `exponential_`. Floating dtype."""
        dtype, wide = floating("exponential", dtype)
        if not lambd > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
        out = _room(shape, dtype, out)
        scale = -1.0 / lambd
        if self._filled("exponential", out, (scale,)):
            return out
        log1p = exact.function("log1p", wide)
        return self._fill(out, lambda count: scale * log1p(-self._doubles(count)))

    def log_normal(
        self, shape: Shape, dtype: Any, mean: float = 1.0, std: float = 2.0,
        *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """exp of a normal number with std > 0, always by pairs: `log_normal_`. Floating dtype."""
        dtype, wide = floating("log_normal", dtype)
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
        exp = exact.function("exp", wide)

        def block(count: int) -> Array:
            return exp(exact.scaled(self._paired_normals(count), std, mean))

        return self._fill(_room(shape, dtype, out), block)

    def cauchy(
        self, shape: Shape, dtype: Any, median: float = 0.0, sigma: float = 1.0,
        *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """median + sigma tan(pi (u - 1/2)), sigma > 0: `cauchy_`. Floating dtype."""
        dtype, wide = floating("cauchy", dtype)
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
        tan = exact.function("tan", wide)

        def block(count: int) -> Array:
            return exact.scaled(tan(math.pi * (self._doubles(count) - 0.5)), sigma, median)

        return self._fill(_room(shape, dtype, out), block)

    # ---- whole numbers ----

    def integers(self, low: int, high: int, shape: Shape, dtype: Any = np.int64) -> Array:
        """Even on low .. high - 1: `randint`, `random_(low, high)`. Any dtype but complex.

        A word modulo the range, or a 64-bit number where the range is 2**28 or more. The range
        -2**63 .. 2**63 stands for `random_(-2**63, None)`. For a floating dtype the bounds are
        first moved inwards to where rounding cannot leave them.
        """
        dtype = np.dtype(dtype)
        if dtype.kind in "fV" and high - low < 2**64:
            low, high = exact.representable_bounds(low, high, dtype)
        if low >= high:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
            )
        span = high - low
        return self._whole(np.empty(shape, dtype), span >= _WIDE_RANGE, span, low)

    def random_full(self, shape: Shape, dtype: Any, *, out: Array | None = None) -> Array:
        """`random_()`: 0 .. the largest of an integer dtype, 0 .. 2**digits of a floating one."""
        dtype = np.dtype(dtype)
        if dtype.name in exact.DIGITS:
            span = 2 ** exact.DIGITS[dtype.name] + 1
        elif dtype.kind in "iu" and dtype.name not in ("uint16", "uint32", "uint64"):
            span = int(np.iinfo(dtype).max) + 1
        elif dtype.kind == "b":
            span = 2
        else:
            raise NotImplementedError(f"random_ not implemented for {dtype}; give it bounds")
        return self._whole(_room(shape, dtype, out), dtype.name in ("int64", "float64"), span, 0)

    def _whole(self, out: Array, is_wide: bool, span: int, low: int) -> Array:
        """Words, or 64-bit numbers, modulo `span` (2**64 at most, 2**32 for words), plus `low`."""
        if out.dtype.char in "ilq" and span < 2**64 and low < 2**63:
            if is_wide:
                is_filled = self._filled("wide", out, (span, low))
            else:
                is_filled = self._filled("whole", out, (span, 1.0 / span, low))
            if is_filled:
                return out
        draw = self._pairs if is_wide else self._words
        base = np.uint64(low % 2**64)

        def block(count: int) -> Array:
            values = draw(count)
            if span == 2**64:
                return values.view(np.int64)
            divisor = np.uint64(span)
            values -= values // divisor * divisor  # NumPy's // by a scalar is twice as fast as %
            values += base
            return values.view(np.int64)

        return self._fill(out, block)

    def bernoulli(self, p: float | Array, shape: Shape, dtype: Any) -> Array:
        """1 with probability `p`, else 0: `bernoulli`, `bernoulli_`. Any dtype.

        Args:
            p: a number, or a floating array that broadcasts to `shape`. A number or a float64
               array is compared with 53-bit uniforms, another array with 24-bit ones.
        """
        return self.chosen(shape, np.dtype(dtype), p)

    def chosen(
        self, shape: Shape, dtype: np.dtype[Any], p: float | Array, value: float = 1.0,
        *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """`bernoulli`, its arguments in the order that all distributions share.

        Args:
            value: what stands for 1 where `p` is a number: one that the dtype has.
        """
        if not exact.are_chances(p):
            raise exact.NotChances(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        if out is None:
            out = np.empty(shape, dtype)
        if not isinstance(p, np.ndarray):
            if self._filled("chosen", out, (p, value if dtype.kind == "f" else int(value))):
                return out
            one = dtype.type(value)
            return self._fill(out, lambda count: (self._doubles(count) < p) * one)
        wide = floating("bernoulli", p.dtype)[1]
        chance = p if wide else p.astype(np.float32, copy=False)
        if chance.shape != out.shape:
            chance = np.broadcast_to(chance, out.shape)
        with self._lock:
            draws = self._machine(out.size)
            if draws is None or not draws.fill_by("chosen_by", out, chance):
                unit = (self._doubles if wide else self._singles)(out.size)
                out[...] = unit.reshape(out.shape) < chance
        return out

    def geometric(self, shape: Shape, dtype: Any, p: float, *, out: Array | None = None) -> Array:
        """Trials up to the first success: `geometric_`. Integer or floating dtype."""
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
        log, scale = exact.function("log", False), math.log1p(-p)

        def block(count: int) -> Array:
            return np.ceil(log(self._doubles(count)) / scale)

        return self._fill(_room(shape, np.dtype(dtype), out), block)

    def permutation(self, n: int) -> Array:
        """0 .. n - 1 (int64) in random order: `randperm`."""
        if not 0 <= n < 2**31:
            raise RuntimeError(f"randperm: n must be from 0 to 2**31 - 1, but got {n}")
        if n < 2:
            return np.arange(n, dtype=np.int64)
        # Half as many bytes wait for half as long to be moved.
        order = np.arange(n, dtype=np.int64 if n < _FAR_PLACES else np.int32)
        if n < 2**32 // 20 and self._filled("swap_places", order[:-1], ()):
            return order.astype(np.int64, copy=False)
        with self._lock:
            words = self._words(n - 1) if n < 2**32 // 20 else self._pairs(n - 1)
        ahead = words % np.arange(n, 1, -1, dtype=np.uint64)
        return choices.swapped_in_order(ahead.view(np.int64))

    def whole(self, shape: Shape, dtype: Any, low: int, high: int) -> Array:
        """`integers`, its arguments in the order that all distributions share."""
        return self.integers(low, high, shape, dtype)

    def shuffled(self, shape: tuple[int], dtype: Any) -> Array:
        """`permutation`, its arguments in the order that all distributions share."""
        return self.permutation(*shape).astype(dtype, copy=False)

    def multinomial(self, probs: Array, num_samples: int, replacement: bool = False) -> Array:
        """Categories (int64) by weight: `multinomial`.

        Args:
            probs: floating weights, (categories,) or (rows, categories); need not sum to 1.

        Returns:
            (num_samples,) or (rows, num_samples).
        """
        probs = np.asarray(probs)
        choices.check_multinomial(probs, num_samples, replacement)
        rows = probs.reshape(-1, probs.shape[-1])
        if not replacement or num_samples == 1:
            # weight / exponential is largest at k with probability weight[k].
            with np.errstate(divide="ignore", invalid="ignore"):
                race = rows / self.exponential(rows.shape, rows.dtype)
            if num_samples == 1:
                picks = race.argmax(axis=1)
            else:
                picks = np.argsort(-race, axis=1, kind="stable")[:, :num_samples].copy()
        else:
            with self._lock:
                unit = self._doubles(len(rows) * num_samples).reshape(len(rows), num_samples)
            picks = choices.search_sorted_rows(rows, unit)
        shaped: Array = picks.reshape(*probs.shape[:-1], num_samples)
        return shaped


def _room(shape: Shape, dtype: np.dtype[Any], out: Array | None) -> Array:
    """Where numbers go: the array that is there already, or a new one."""
    return np.empty(shape, dtype) if out is None else out


def _from_state(state: Array) -> Generator:
    """A new generator in `state`."""
    return Generator().set_state(state)


default_generator = Generator()
