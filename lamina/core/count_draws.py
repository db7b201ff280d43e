"""Random counts, drawn number by number from the same stream of uniform numbers as PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.core.generator import Generator
from lamina.core.single_numbers import SingleNumbers

_REJECTION_FROM = 10.0
"""From this mean on a count is proposed and accepted or not; below, uniform numbers are used up."""

Uniform = Callable[[], float]

# --- Poisson -----------------------------------------------------------------------------------


def poisson(stream: Generator, rates: Any) -> Any:
    """A count for each rate of a host array, in its dtype."""
    numbers = SingleNumbers(stream)
    flat = rates.astype(np.float64).reshape(-1).tolist()
    counts = [_count(rate, numbers.uniform) for rate in flat]
    numbers.finish()
    return np.array(counts, np.float64).astype(rates.dtype).reshape(rates.shape)


def _count(rate: float, uniform: Uniform) -> float:
    if rate == 0.0 or rate == math.inf:
        return rate
    return _accepted(rate, uniform) if rate >= _REJECTION_FROM else _multiplied(rate, uniform)


def _multiplied(rate: float, uniform: Uniform) -> float:
    """Knuth: how many uniform numbers have a product above exp(-rate)."""
    limit, product, count = math.exp(-rate), uniform(), 0.0
    while product > limit:
        count += 1.0
        product *= uniform()
    return count


def _accepted(rate: float, uniform: Uniform) -> float:
    """Hörmann (1993), "The transformed rejection method for generating Poisson variables": PTRS."""
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, v = uniform() - 0.5, uniform()
        distance = 0.5 - abs(u)
        if distance <= 0.0:
            continue
        count = float(math.floor((2.0 * a / distance + b) * u + rate + 0.43))
        if distance >= 0.07 and v <= sure:
            return count
        if count < 0.0 or (distance < 0.013 and v > distance):
            continue
        if v <= 0.0:
            return count
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (distance * distance) + b)
        if left <= -rate + count * log_rate - math.lgamma(count + 1.0):
            return count


# --- binomial ----------------------------------------------------------------------------------


def binomial(stream: Generator, counts: Any, chances: Any) -> Any:
    """The number of successes in `counts` tries of probability `chances`, for host arrays."""
    numbers = SingleNumbers(stream)
    pairs = zip(
        counts.astype(np.float64).reshape(-1).tolist(),
        chances.astype(np.float64).reshape(-1).tolist(),
        strict=True,
    )
    drawn = [_successes(count, chance, numbers.uniform) for count, chance in pairs]
    numbers.finish()
    return np.array(drawn, np.float64).astype(counts.dtype).reshape(counts.shape)


def _successes(count: float, chance: float, uniform: Uniform) -> float:
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return count
    if chance > 0.5:  # the rarer side is drawn
        return count - _rare_successes(count, 1 - chance, uniform)
    return _rare_successes(count, chance, uniform)


def _rare_successes(count: float, chance: float, uniform: Uniform) -> float:
    if count * chance != count * chance:
        return math.nan
    draw = _proposed if count * chance >= _REJECTION_FROM else _waited
    return draw(count, chance, uniform)


def _waited(count: float, chance: float, uniform: Uniform) -> float:
    """Devroye (1986), X.4.3: how many geometric waiting times fit into `count` tries."""
    scale, tries, found = math.log1p(-chance), 0.0, 0.0
    while True:
        number = uniform()
        tries += math.ceil(math.log(number) / scale) if number > 0 else math.inf
        if tries > count:
            return found
        found += 1.0


def _proposed(count: float, chance: float, uniform: Uniform) -> float:
    """Hörmann (1993), "The generation of binomial random variates": BTRS."""
    spread = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    c = count * chance + 0.5
    sure = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    odds, mode = chance / (1 - chance), math.floor((count + 1) * chance)
    while True:
        u, v = uniform() - 0.5, uniform()
        distance = 0.5 - abs(u)
        if distance <= 0.0:
            continue
        k = float(math.floor((2 * a / distance + b) * u + c))
        if distance >= 0.07 and v <= sure:
            return k
        if k < 0 or k > count:
            continue
        height = v * alpha / (a / (distance * distance) + b)
        if height <= 0.0 or math.log(height) <= _log_ratio(count, odds, mode, k):
            return k


def _log_ratio(count: float, odds: float, mode: float, k: float) -> float:
    """The logarithm of the probability of k over that of the mode."""
    return (
        math.lgamma(mode + 1)
        + math.lgamma(count - mode + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + (k - mode) * math.log(odds)
    )
