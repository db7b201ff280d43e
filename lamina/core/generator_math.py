"""The arithmetic under `generator.py`: exact roundings, Box-Muller, the saved state.

Pure functions on arrays. A library compiled for AVX2 rounds differently from the obvious NumPy
expression, and the last bit is part of the answer.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple, SupportsIndex, final

import numpy as np

from lamina.codegen import cephes

Array = np.ndarray[Any, np.dtype[Any]]

STATE_BYTES = 5056
WORDS = 624
# Bits in the significand; a floating dtype that is not here has no random numbers.
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
REAL_OF = {"complex64": "float32", "complex128": "float64"}

# PyTorch's generator in memory: name, offset, format.
_LAYOUT = [
    ("seed", 0, "<u8"),
    ("left", 8, "<i4"),
    ("seeded", 12, "<i4"),
    ("next", 16, "<u8"),
    ("words", 24, ("<u8", WORDS)),
    ("normal", 5024, "<f8"),
    ("has_normal", 5040, "<i4"),
    ("single", 5048, "<f4"),
    ("has_single", 5052, "u1"),
]
_names, _offsets, _formats = (list(column) for column in zip(*_LAYOUT, strict=True))
_STATE = np.dtype(
    {"names": _names, "offsets": _offsets, "formats": _formats, "itemsize": STATE_BYTES}
)


# ---- the saved state ----


class State(NamedTuple):
    """All that a generator is: the seed, 624 words (uint32), words used, and what it kept.

    `fresh` tells "seeded, no word drawn" from "all 624 drawn"; `used` is 624 for both.
    """

    seed: int
    key: Array
    used: int
    fresh: bool
    normal: float | None
    single: float | None


def pack_state(state: State) -> Array:
    """`state` as 5056 bytes (uint8)."""
    record = np.zeros((), _STATE)
    record["seed"], record["seeded"], record["words"] = state.seed, 1, state.key
    record["next"] = 0 if state.fresh else state.used
    record["left"] = WORDS + 1 - state.used
    if state.normal is not None:
        record["normal"], record["has_normal"] = state.normal, 1
    if state.single is not None:
        record["single"], record["has_single"] = state.single, 1
    return np.frombuffer(record.tobytes(), np.uint8).copy()


def unpack_state(state: Array) -> State:
    """The inverse of `pack_state`; raises as `Generator.set_state` says."""
    if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
        found = getattr(state, "dtype", type(state).__name__)
        raise TypeError(f"RNG state must be an array of bytes (uint8), but got {found}")
    if state.size != STATE_BYTES:
        raise RuntimeError(f"RNG state must have {STATE_BYTES} bytes, but has {state.size}")
    record = np.frombuffer(state.tobytes(), _STATE)[0]
    left, position, words = int(record["left"]), int(record["next"]), record["words"]
    fresh = position == 0 and left == 1
    in_step = 1 <= left <= WORDS and position == WORDS + 1 - left
    if record["seeded"] != 1 or not (fresh or in_step) or words.max() >= 2**32:
        raise RuntimeError("Invalid mt19937 state: no generator is ever in this one")
    return State(
        int(record["seed"]),
        words.astype(np.uint32),
        WORDS if fresh else position,
        fresh,
        float(record["normal"]) if record["has_normal"] else None,
        float(record["single"]) if record["has_single"] else None,
    )


# ---- arguments ----


@final
class NotChances(RuntimeError):
    """Probabilities that are not from 0 to 1."""


def seed_number(seed: int) -> int:
    """`seed` as an unsigned 64-bit number; a negative one stands for 2**64 more.

    Raises:
        RuntimeError: `seed` is not an integer.
        ValueError: `seed` does not fit in 64 bits.
    """
    if isinstance(seed, bool) or not isinstance(seed, SupportsIndex):
        raise RuntimeError(
            f"manual_seed expected a long, but got {type(seed).__name__}; pass an integer"
        )
    seed = operator.index(seed)
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"manual_seed: {seed} does not fit in 64 bits")
    return seed % 2**64


@functools.lru_cache(64)
def floating(op: str, dtype: Any, allow_complex: bool = False) -> tuple[np.dtype[Any], bool]:
    """`dtype` as NumPy's object, and whether it is computed from 53-bit uniforms.

    Raises:
        NotImplementedError: `dtype` is not floating (nor complex, where that is allowed).
    """
    dtype = np.dtype(dtype)
    if dtype.name in DIGITS or (allow_complex and dtype.name in REAL_OF):
        return dtype, dtype.name == "float64"
    raise NotImplementedError(f'"{op}" not implemented for {dtype}; use a floating dtype')


@functools.lru_cache(64)
def uniform_limits(
    dtype: Any, low: float, high: float
) -> tuple[np.dtype[Any], bool, tuple[float, float, float]]:
    """What `floating` gives for a dtype, and of the range [low, high): width, start and end.

    The end is rounded to the dtype, the rest to float32 or float64.

    Raises:
        NotImplementedError: `dtype` is neither floating nor complex.
        RuntimeError: the range is empty, or does not fit.
    """
    dtype, wide = floating("uniform", dtype, True)
    if not low <= high:
        raise RuntimeError(f"uniform_ expects low <= high, but found low={low} > high={high}")
    number = np.float64 if dtype.name in ("float64", "complex128") else np.float32
    with np.errstate(over="ignore"):
        start, width = float(number(low)), float(number(high) - number(low))
    if not math.isfinite(width):
        raise RuntimeError(f"uniform_: high - low does not fit {dtype}: [{low}, {high})")
    end = number(high) if dtype.kind == "c" else cast(np.asarray(number(high)), dtype)
    return dtype, wide, (width, start, float(end))


def are_chances(p: float | Array) -> bool:
    """Whether a number, or each of an array, is from 0 to 1."""
    if not isinstance(p, np.ndarray):
        return 0 <= p <= 1
    if not p.size:
        return True
    flat = p.reshape(-1) if p.flags.c_contiguous else p.ravel()
    # Called so they take half the time of the methods. Both are NaN where there is one.
    return bool(np.minimum.reduce(flat) >= 0 and np.maximum.reduce(flat) <= 1)


def cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """`values` in `dtype`; 16-bit floats by way of float32, as C++ casts them."""
    if values.dtype is dtype or values.dtype == dtype:
        return values
    with np.errstate(over="ignore", invalid="ignore"):  # C++ makes these infinite in silence
        if dtype.name in ("float16", "bfloat16"):
            values = values.astype(np.float32)
        return values.astype(dtype, copy=False)


def complex_from(parts: Array) -> Array:
    """Complex numbers from (..., 2) real and imaginary parts, in the same memory."""
    return parts.view(np.result_type(parts.dtype, np.complex64))[..., 0]


def representable_bounds(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """The range moved inwards, where rounding to floating `dtype` would leave [low, high)."""
    digits = DIGITS[dtype.name]

    def rounded(number: int) -> int:
        return int(cast(np.asarray(number, np.int64), dtype).astype(np.float64))

    above, below = rounded(low + 1), rounded(high - 1)
    if above < low:
        low = above + (1 << abs(low + 1).bit_length() - digits)
    if below >= high:
        high = below - (1 << abs(high - 1).bit_length() - digits)
    return low, high


# ---- roundings ----


def function(name: str, wide: bool) -> Callable[[Array], Array]:
    """The function `name` of float64 arrays of one dimension; to the C library's bit if `wide`.

    NumPy's float64 functions differ between processors in the last bit, the C library's do not.
    Where the result goes on into a smaller dtype, that bit is lost and NumPy's speed is free.
    """
    ufunc, scalar = getattr(np, name), getattr(math, name)

    def quiet(values: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(ufunc(values))

    def exact(values: Array) -> Array:
        try:
            return np.fromiter(map(scalar, values.tolist()), np.float64, values.size)
        except (ValueError, OverflowError):  # `math` refuses what C makes infinite
            return quiet(values)

    return exact if wide else quiet


def polar(radius: Array, angle: Array) -> Array:
    """radius (cos angle + i sin angle), complex128, with the C library's cos and sin."""
    points = map(cmath.rect, radius.tolist(), angle.tolist())
    return np.fromiter(points, np.complex128, radius.size)


def scaled(x: Array, scale: float, offset: float) -> Array:
    """x * scale + offset, rounded once (a fused multiply-add), in the dtype of `x`.

    `x`, `scale` and `offset` all float32, or all float64. (In float64 an offset that is lost beside
    a product half-way between two numbers does not decide which of them comes out, as it should.)
    """
    if x.dtype == np.float32:  # the product of two float32 is exact in float64
        return (x * np.float64(scale) + np.float64(offset)).astype(np.float32)
    scale, offset = float(scale), float(offset)
    plain = x * scale + offset
    if offset == 0 or abs(math.frexp(scale)[0]) == 0.5:  # the product has no rounding to lose
        return plain
    # Dekker's product and Knuth's sum: what each rounding dropped is itself a float64.
    with np.errstate(all="ignore"):
        product = x * scale
        x_high, x_low = _halves(x)
        s_high, s_low = _halves(np.float64(scale))
        lost = x_low * s_low - (product - x_high * s_high - x_low * s_high - x_high * s_low)
        total = product + offset
        back = total - product
        lost += (product - (total - back)) + (offset - back)
        fused = total + lost
    return np.where(np.isfinite(fused), fused, plain)


def _halves(x: Any) -> tuple[Any, Any]:
    """Two 26-bit numbers with sum `x` (Veltkamp)."""
    shifted = x * 134217729.0
    high = shifted - (shifted - x)
    return high, x - high


# ---- Box-Muller ----


def box_muller_double(unit: Array, mean: float, std: float) -> Array:
    """Normal float64 from float64 uniforms, in blocks of 16 (8 radii, then 8 angles)."""
    blocks = unit.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * function("log", True)(1.0 - blocks[:, 0].ravel()))
    points = polar(radius, 2.0 * math.pi * blocks[:, 1].ravel()).reshape(-1, 8)
    return scaled(np.stack([points.real, points.imag], axis=1).ravel(), std, mean)


# Note: single precision
#
# PyTorch evaluates float32 log, sin and cos by the polynomials of the Cephes library (Moshier,
# logf.c and sinf.c), with fused multiply-adds. They are evaluated the same way here, each number
# a float32 held in a float64: a product of two is then exact, a sum almost always (its double
# rounding matters about once in 2**28), and one rounding to float32 ends the step. This uses only
# + and *, so unlike np.log and np.sin the result is the same on every machine.


def _numbers(*values: float) -> tuple[Array, ...]:
    """Constants as arrays: ufuncs take these in half the time."""
    return tuple(np.array(value) for value in values)


_LOG, _LOG_2, _QUARTER_PI = _numbers(*cephes.LOG), _numbers(*cephes.LOG_2), cephes.QUARTER_PI
_WAVES: Final = tuple(np.array(pair)[:, None] for pair in zip(cephes.SIN, cephes.COS, strict=True))
_TWO_PI, _PER_QUARTER_PI = _numbers(cephes.TWO_PI, cephes.PER_QUARTER_PI)


def box_muller_single(unit: Array, mean: float, std: float) -> Array:
    """Normal float32 from float32 uniforms, in blocks of 16 (8 radii, then 8 angles)."""
    blocks = unit.reshape(-1, 2, 8)
    step = _Steps((unit.size // 2,))
    radius = np.sqrt(-2.0 * _log(1.0 - blocks[:, 0].ravel().astype(np.float64), step))
    step.round(radius)
    angle = blocks[:, 1].ravel().astype(np.float64)
    sine, cosine = _sin_cos(step.fused(angle, _TWO_PI), step)
    out = np.empty((unit.size // 16, 2, 8), np.float32)
    factor, term = np.array([std, mean], np.float32).astype(np.float64)
    for column, wave in enumerate((cosine, sine)):
        out[:, column] = step.fused(step.fused(wave, radius), factor, term).reshape(-1, 8)
    return out.ravel()


class _Steps:
    """Float32 steps on float64 arrays of one shape, in place."""

    __slots__ = ("_narrow",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._narrow = np.empty(shape, np.float32)

    def round(self, x: Array) -> Array:
        """x to the nearest float32."""
        self._narrow[...] = x
        x[...] = self._narrow
        return x

    def fused(self, x: Array, factor: Array, term: Array | None = None) -> Array:
        """x * factor + term, rounded once."""
        np.multiply(x, factor, x)  # given by position: keywords cost 0.1 us each
        if term is not None:
            np.add(x, term, x)
        return self.round(x)

    def polynomial(self, x: Array, coefficients: tuple[Array, ...]) -> Array:
        """Horner's rule, highest power first, into a new array."""
        y = np.empty(self._narrow.shape)
        y[...] = coefficients[0]
        for c in coefficients[1:]:
            self.fused(y, x, c)
        return y


def _log(x: Array, step: _Steps) -> Array:
    """Natural logarithm of float32 numbers in (0, 1]."""
    fraction, exponent = np.frexp(x)
    small = fraction < cephes.SQRT_HALF
    power = np.subtract(exponent, small, dtype=np.float64)
    x = np.where(small, fraction + fraction, fraction) - 1.0
    square = step.fused(x.copy(), x)
    high, low = _LOG_2
    y = step.fused(step.polynomial(x, _LOG), x)
    step.fused(y, square, step.fused(power.copy(), low))
    step.round(np.subtract(y, 0.5 * square, y))
    step.round(np.add(x, y, x))
    return step.fused(power, high, x)


def _sin_cos(x: Array, step: _Steps) -> tuple[Array, Array]:
    """Sine and cosine of float32 numbers from 0 to 2 pi."""
    octant = step.fused(x.copy(), _PER_QUARTER_PI).astype(np.int32)
    octant = (octant + 1) & ~1
    turns = octant.astype(np.float64)
    for part in _QUARTER_PI:
        step.round(np.subtract(x, turns * part, x))
    square = step.fused(x.copy(), x)
    both = _Steps((2, x.size))
    sine, cosine = both.fused(both.polynomial(square, _WAVES), square)
    step.fused(sine, x, x)
    step.fused(cosine, square, -0.5 * square)
    step.round(np.add(cosine, 1.0, cosine))
    swap = (octant & 2) != 0
    sine, cosine = np.where(swap, cosine, sine), np.where(swap, sine, cosine)
    sine *= 1.0 - 0.5 * (octant & 4)  # a sign from the bit is faster than a masked negation
    cosine *= 1.0 - 0.5 * ((octant + 2) & 4)
    return sine, cosine
