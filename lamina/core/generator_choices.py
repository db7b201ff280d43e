"""Shuffling, and categories by weight: where `generator.py` chooses among what is there."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from lamina.core.generator_math import DIGITS, Array

# ---- shuffling ----

_FEW_SWAPS: Final = 500  # up to here Python's loop is faster


def swapped_in_order(ahead: Array) -> Array:
    """0 .. n - 1 after swapping place i with the one `ahead[i]` (int64) further, for i = 0, 1, ...

    The last place has nothing to be swapped with, so `ahead` has n - 1 numbers.
    """
    n = ahead.size + 1
    if n <= _FEW_SWAPS:
        order = list(range(n))
        for place, distance in enumerate(ahead.tolist()):
            other = place + distance
            order[place], order[other] = order[other], order[place]
        return np.array(order, np.int64)
    target = np.arange(n, dtype=np.int64)
    target[:-1] += ahead
    return _swapped_by_pointers(target)


def _swapped_by_pointers(target: Array) -> Array:
    """0 .. n - 1 after swapping places i and target[i] (int64, >= i) for i = 0, 1, ...

    The loop of swaps without the loop. Place i, once swapped, is never touched again, so the
    result is what lay at target[i] just before step i. What lies at place p was put there by the
    last earlier step k with target[k] == p, and is what lay at place k just before step k: a
    pointer to an earlier step, followed to its end by doubling. n must be below 2**31.
    """
    step = np.arange(target.size, dtype=np.int64)
    keys = target << 32 | step
    keys.sort()  # by target, then by step; distinct keys, so any sort does, and this is the fastest
    order, place = keys & (2**32 - 1), keys >> 32
    repeats = place[1:] == place[:-1]
    previous = np.full(target.size, -1)  # the step before, with the same target
    previous[order[1:][repeats]] = order[:-1][repeats]
    # The last step to write a place before its own: the last of all but itself.
    last = np.full(target.size, -1)
    ends = np.append(~repeats, True)[: target.size]
    last[place[ends]] = order[ends]
    source = np.where(last == step, previous, last)
    source = np.where(source < 0, step, source)
    while True:
        further = source[source]
        if np.array_equal(further, source):
            break
        source = further
    found = np.where(previous >= 0, source[previous], target)
    return np.where(target == step, source, found)


# ---- multinomial ----


def check_multinomial(probs: Array, num_samples: int, replacement: bool) -> None:
    """Raises RuntimeError where `multinomial` has nothing to draw from."""
    if probs.dtype.name not in DIGITS:
        raise RuntimeError(f"multinomial needs floating weights, but got {probs.dtype}")
    if probs.ndim not in (1, 2):
        raise RuntimeError(f"multinomial: prob_dist must be 1 or 2 dim, but has {probs.ndim}")
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: cannot sample n_sample <= 0 samples ({num_samples})")
    if not replacement and num_samples > probs.shape[-1]:
        raise RuntimeError(
            f"multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement"
            f" ({num_samples} > {probs.shape[-1]}); pass replacement=True"
        )
    largest = np.maximum.reduce(probs, axis=-1, initial=0)  # NaN, if there is one
    most = largest if probs.ndim == 1 else np.maximum.reduce(largest, initial=0)
    if not (most < math.inf and np.minimum.reduce(probs, axis=None, initial=0) >= 0):
        raise RuntimeError(
            "invalid multinomial distribution: probability tensor contains either `inf`, `nan` or"
            " element < 0"
        )
    if not np.logical_and.reduce(largest > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def search_sorted_rows(weights: Array, unit: Array) -> Array:
    """For each row, the first category whose share of the running sum reaches `unit` (int64)."""
    sums = np.cumsum(weights if weights.itemsize >= 4 else weights.astype(np.float32), axis=1)
    sums /= sums[:, -1:].copy()
    sums[:, -1] = 1
    rows = zip(sums.astype(np.float64), unit, strict=True)
    return np.array([np.searchsorted(row, u) for row, u in rows], np.int64).reshape(unit.shape)
