"""Convolutions, pooling and attention by their definitions, in float64."""

import math
from itertools import product

import numpy as np


def _places(offset, strides, dilations, counts):
    """Where one element of a kernel is, for all positions, as an index of spatial dimensions."""
    return tuple(
        slice(k * d, k * d + s * (n - 1) + 1, s) if n else slice(0)
        for k, d, s, n in zip(offset, dilations, strides, counts, strict=True)
    )


def _padded(x, padding):
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])


def counts_of(sizes, kernel, stride, padding, dilation):
    """How many positions a kernel has along each dimension."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )


def convolution(x, w, stride, padding, dilation, groups):
    """The convolution of x with w."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    counts = counts_of(x.shape[2:], w.shape[2:], stride, padding, dilation)
    y = np.zeros((x.shape[0], groups, w.shape[0] // groups, *counts))
    x = _padded(x, padding)
    x = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    for offset in product(*map(range, w.shape[3:])):
        part = x[(..., *_places(offset, stride, dilation, counts))]
        y += np.einsum("goc,ngc...->ngo...", w[(..., *offset)], part)
    return y.reshape(x.shape[0], w.shape[0] * w.shape[1], *counts)


def input_gradient(g, w, sizes, stride, padding, dilation, groups):
    """What `convolution` takes back to an x with these sizes."""
    g, w = g.astype(np.float64), w.astype(np.float64)
    counts = g.shape[2:]
    room = [n + 2 * p for n, p in zip(sizes, padding, strict=True)]
    x = np.zeros((g.shape[0], groups, w.shape[1], *room))
    g = g.reshape(g.shape[0], groups, g.shape[1] // groups, *counts)
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    for offset in product(*map(range, w.shape[3:])):
        part = np.einsum("goc,ngo...->ngc...", w[(..., *offset)], g)
        x[(..., *_places(offset, stride, dilation, counts))] += part
    inner = tuple(slice(p, p + n) for n, p in zip(sizes, padding, strict=True))
    return x.reshape(g.shape[0], groups * x.shape[2], *room)[(..., *inner)]


def weight_gradient(x, g, kernel, stride, padding, dilation, groups):
    """What `convolution` takes back to a w with such a kernel."""
    x, g = _padded(x.astype(np.float64), padding), g.astype(np.float64)
    counts, batch = g.shape[2:], x.shape[0]
    x = x.reshape(batch, groups, x.shape[1] // groups, *x.shape[2:])
    g = g.reshape(batch, groups, g.shape[1] // groups, math.prod(counts))
    w = np.zeros((groups, g.shape[2], x.shape[2], *kernel))
    for offset in product(*map(range, kernel)):
        part = x[(..., *_places(offset, stride, dilation, counts))]
        part = part.reshape(*part.shape[:3], math.prod(counts))
        w[(..., *offset)] = np.einsum("ngop,ngcp->goc", g, part)
    return w.reshape(-1, *w.shape[2:])


def windows(x, size, stride, padding, dilation, counts):
    """For each window (leading dimensions first): the flat places of its elements inside."""
    for lead in np.ndindex(x.shape[: x.ndim - len(size)]):
        sizes = x.shape[x.ndim - len(size) :]
        for position in np.ndindex(*counts):
            inside = []
            for offset in product(*map(range, size)):
                place = [
                    t * s - p + k * d
                    for t, s, p, k, d in zip(
                        position, stride, padding, offset, dilation, strict=True
                    )
                ]
                if all(0 <= at < n for at, n in zip(place, sizes, strict=True)):
                    inside.append(int(np.ravel_multi_index(place, sizes)))
            yield lead, position, inside


def attention(query, key, value, mask, is_causal, scale, dropped=1.0):
    """Attention by its formula in float64: averages of values, and the weights before dropout.

    `dropped` is what dropout multiplies weights by.
    """
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    scores = query @ np.swapaxes(key, -1, -2) * scale
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = powers.sum(-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    return (weights * dropped) @ value, weights


def attention_gradients(g, query, key, value, weights, scale, dropped=1.0):
    """The gradients of query, key, value and scores, before what was broadcast is summed up."""
    g, query, key, value = (array.astype(np.float64) for array in (g, query, key, value))
    of_weights = g @ np.swapaxes(value, -1, -2) * dropped
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True))
    scaled, after = of_scores * scale, weights * dropped
    turned = np.swapaxes(scaled, -1, -2)
    return scaled @ key, turned @ query, np.swapaxes(after, -1, -2) @ g, of_scores


def attention_sizes(g, query, key, value, weights, scale, dropped=1.0):
    """How large the terms of these gradients are, which may cancel each other."""
    g, query, key, value = (np.abs(array.astype(np.float64)) for array in (g, query, key, value))
    of_scores = 2 * weights * (g @ np.swapaxes(value, -1, -2)) * np.max(dropped)
    scaled = abs(scale) * of_scores
    turned, after = np.swapaxes(scaled, -1, -2), np.swapaxes(weights * dropped, -1, -2)
    products = scaled @ key, turned @ query, after @ g, of_scores
    return [product.max(initial=1.0) for product in products]


# --- the error function, in the widest type that NumPy has ---------------------------------------

_TWO_OVER_ROOT_PI = np.longdouble("1.12837916709551257389615890312154517")


def _gauss(x):
    """exp(-x^2), where what rounding takes from the square is put back."""
    coarse = x.astype(np.float32).astype(np.longdouble)
    return np.exp(-coarse * coarse) * np.exp((coarse - x) * (coarse + x))


def _series(x):
    """erf by a series without cancellation (Abramowitz and Stegun, 7.1.6), for |x| < 2."""
    total, term = x.copy(), x.copy()
    for n in range(1, 60):
        term = term * (2 * x * x / (2 * n + 1))
        total += term
    return _TWO_OVER_ROOT_PI * _gauss(x) * total


def _fraction(x):
    """erfc by a continued fraction (7.1.14), for x > 1.5."""
    bottom = x.copy()
    for n in range(250, 0, -1):
        bottom = x + np.longdouble(n) / 2 / bottom
    return _gauss(x) * _TWO_OVER_ROOT_PI / 2 / bottom


def erfc(x):
    """The complement of the error function."""
    x = x.astype(np.longdouble)
    size = np.minimum(np.abs(x), 30)
    near = 1 - _series(np.where(size < 2, x, 0))
    far = _fraction(np.maximum(size, 1.5))
    return np.where(np.isnan(x), x, np.where(size < 1.5, near, np.where(x < 0, 2 - far, far)))


def erf(x):
    """The error function."""
    x = x.astype(np.longdouble)
    near = _series(np.where(np.abs(x) < 2, x, 0))
    return np.where(np.abs(x) < 2, near, np.copysign(1 - erfc(np.abs(x)), x))


def erfinv(x, start):
    """The inverse of the error function: two steps of Newton's method from a close number."""
    x, y = x.astype(np.longdouble), start.astype(np.longdouble)
    inside = np.abs(x) < 1
    found = np.where(inside, y, 0)
    for _ in range(2):
        by_erf = erf(found) - x
        by_erfc = np.sign(x) * ((1 - np.abs(x)) - erfc(np.abs(found)))
        error = np.where(np.abs(x) < 0.5, by_erf, by_erfc)
        found = found - error / (_TWO_OVER_ROOT_PI * _gauss(found))
    end = np.where(np.abs(x) == 1, np.copysign(np.longdouble(np.inf), x), np.longdouble(np.nan))
    return np.where(inside, np.where(x == 0, x, found), end)
