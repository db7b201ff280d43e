"""Attention on arrays: block by block with machine code, or with all scores at once.

By blocks, memory grows with the lengths of queries and keys, and not with their product.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.fused import fused
from lamina.codegen.later import Later, is_available
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.constants import constant_like

if TYPE_CHECKING:
    from lamina.codegen.kernels import attention as native_attention
else:
    native_attention = Later("lamina.codegen.kernels.attention")

LEAST_SCORES: Final = 1 << 16
"""From how many scores of a head on machine code makes them block by block, if it can be made."""

LEAST_QUERIES: Final = 16
"""With fewer queries most lanes of the blocks would be idle."""


def goes_by_blocks(query: Any, key: Any, value: Any) -> bool:
    """Whether attention is done block by block; for the same shapes and dtypes always the same."""
    queries, keys = query.shape[-2], key.shape[-2]
    return bool(
        queries * keys >= LEAST_SCORES
        and queries >= LEAST_QUERIES
        and is_available()
        and query.dtype == key.dtype == value.dtype
        and query.dtype.char in "fd"
        and query.dtype.isnative
        and min(query.size, key.size, value.size) > 0
    )


# --- by blocks -----------------------------------------------------------------------------------


def batch_of(*matrices: Any) -> tuple[int, ...]:
    """What the batch dimensions of some matrices broadcast to; those that are None don't count."""
    return np.broadcast_shapes(*(each.shape[:-2] for each in matrices if each is not None))


def _attended(
    query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> tuple[Any, Any]:
    batch = batch_of(query, key, value, mask)
    shape = (*batch, query.shape[-2], value.shape[-1])
    sums = fresh(shape[:-1], np.float64)
    if _has_heads_inside(query):
        inside = fresh((shape[0], shape[2], shape[1], shape[3]), query.dtype)
        return np.swapaxes(inside, 1, 2), sums
    return fresh(shape, query.dtype), sums


def _has_heads_inside(query: Any) -> bool:
    """Whether the heads of a query lie side by side, as projections make them.

    The result lies in the same order then: so it can be projected without being copied.
    """
    if query.ndim != 4:
        return False
    _, head, row, column = query.strides
    return bool(column == query.itemsize and head < row)


@array_function(_attended)
def attend_by_blocks(
    query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> tuple[Any, Any]:
    """Averages of values, and the logarithm of each query's sum, in float64.

    Halves keep their precision by that: what is float32 is rounded with the results.
    """
    batch = batch_of(query, key, value, mask)
    shape = (*batch, query.shape[-2], value.shape[-1])
    if _has_heads_inside(query):
        result = np.empty((shape[0], shape[2], shape[1], shape[3]), query.dtype).swapaxes(1, 2)
    else:
        result = np.empty(shape, query.dtype)
    sums = np.empty(shape[:-1], query.dtype)
    native_attention.attend(
        query, key, value, _in_kind_of(mask, query), is_causal, scale, result, sums
    )
    return result, sums.astype(np.float64)


def _in_kind_of(mask: Any, query: Any) -> Any:
    if mask is None or mask.dtype.kind == "b":
        return mask
    return mask.astype(query.dtype, copy=False)


# --- all scores at once --------------------------------------------------------------------------


def future_of(query: Any, key: Any, is_causal: bool) -> Any:
    """Where keys lie behind a query's place; None unless that is asked for."""
    if not is_causal:
        return None
    sizes = query.shape[-2], key.shape[-2]
    return constant_like(query, np.triu(np.ones(sizes, bool), 1))


def _scores(query: Any, key: Any, mask: Any, future: Any, scale: float) -> Any:
    """Scaled products of queries and keys, with what hides some of them; new memory."""
    scores = np.matmul(query * scale, np.swapaxes(key, -1, -2))
    if mask is not None:
        if mask.dtype.kind == "b":
            mask = np.where(mask, 0, -math.inf).astype(query.dtype, copy=False)
        scores = scores + mask
    if future is not None:
        scores = np.where(future, -math.inf, scores).astype(query.dtype, copy=False)
    return scores


def _softmax_in_place(scores: Any) -> Any:
    top = np.max(scores, axis=-1, keepdims=True, initial=-math.inf)
    # A row in which everything is masked becomes a row of zeros.
    scores -= np.where(top == -math.inf, 0, top)
    np.exp(scores, out=scores)
    total = np.sum(scores, axis=-1, keepdims=True)
    scores /= np.where(total == 0, 1, total)
    return scores


@fused
def attend_at_once(
    query: Any, key: Any, value: Any, mask: Any, future: Any, scale: float
) -> tuple[Any, Any]:
    """Averages and weights; nobody looks at where `future` is set."""
    weights = _softmax_in_place(_scores(query, key, mask, future, scale))
    return np.matmul(weights, value), weights


@fused
def weights_again(query: Any, key: Any, mask: Any, future: Any, sums: Any, scale: float) -> Any:
    """The weights, from the logarithms of their sums."""
    scores = _scores(query, key, mask, future, scale)
    return np.exp(scores - np.expand_dims(sums, -1).astype(scores.dtype))
