"""The derivatives of attention, on arrays and on tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.codegen.fused import fused
from lamina.core.op import raw, traced
from lamina.core.tensor import wrap
from lamina.ops.attention_kernels import (
    attend_by_blocks_backward,
    dropped,
    goes_by_blocks,
)
from lamina.ops.constants import constant_like

__all__: list[str] = []


# --- on arrays -----------------------------------------------------------------------------------


def backward_on_arrays(
    g: Any, query: Any, key: Any, value: Any, mask: Any, kept: Any, result: Any, saved: Any,
    is_causal: bool, scale: float, factor: float, is_recorded: bool, needs: Any,
) -> tuple[Any, Any, Any, Any, None]:  # fmt: skip
    """The gradients; what was saved are the weights, or the logarithms of their sums."""
    if not goes_by_blocks(query, key, value, is_recorded):
        shape = None if mask is None else mask.shape
        return _from_weights(g[0], query, key, value, saved, kept, shape, scale, factor, needs)
    found = attend_by_blocks_backward(
        g[0], query, key, value, mask, kept, result, saved, is_causal, scale, factor, bool(needs[3])
    )
    of_query, of_key, of_value = (
        raw.sum_to_size(gradient, array.shape) if wanted else None
        for gradient, array, wanted in zip(found, (query, key, value), needs[:3], strict=False)
    )
    of_mask = None
    if needs[3]:
        shape = (1,) * (2 - mask.ndim) + mask.shape
        of_mask = raw.sum_to_size(found[3], shape).reshape(mask.shape)
    return of_query, of_key, of_value, of_mask, None


@fused
def _from_weights(
    g: Any, query: Any, key: Any, value: Any, weights: Any, kept: Any, mask_shape: Any,
    scale: float, factor: float, needs: Any,
) -> tuple[Any, Any, Any, Any, None]:  # fmt: skip
    of_query = of_key = of_value = of_mask = None
    if needs[2]:
        turned = np.swapaxes(dropped(weights, kept, factor), -1, -2)
        of_value = raw.sum_to_size(np.matmul(turned, g), value.shape)
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, of_value, None, None
    of_weights = dropped(np.matmul(g, np.swapaxes(value, -1, -2)), kept, factor)
    along = np.expand_dims(np.vecdot(of_weights, weights), -1)
    of_scores = of_weights - along
    of_scores *= weights
    if needs[0]:
        of_query = raw.sum_to_size(np.matmul(of_scores, key) * scale, query.shape)
    if needs[1]:
        product = np.matmul(np.swapaxes(of_scores, -1, -2), query) * scale
        of_key = raw.sum_to_size(product, key.shape)
    if needs[3]:
        of_mask = raw.sum_to_size(of_scores, mask_shape)
    return of_query, of_key, of_value, of_mask, None


# --- on tensors ----------------------------------------------------------------------------------


def backward_on_tensors(
    g: Any, query: Any, key: Any, value: Any, mask: Any, kept: Any, result: Any, saved: Any,
    is_causal: bool, scale: float, factor: float, is_recorded: bool, needs: Any,
) -> tuple[Any, Any, Any, Any, None]:  # fmt: skip
    """The same, to be differentiated again: the weights are computed anew, with a history."""
    scores = _scores_of(query, key, mask, is_causal, scale)
    weights = _safe_softmax(scores) if mask is not None else traced.softmax(scores, -1)
    after = _dropped(weights, kept, factor)
    of_value = traced.sum_to_size(traced.matmul(after.transpose(-1, -2), g[0]), value.shape)
    of_weights = _dropped(traced.matmul(g[0], value.transpose(-1, -2)), kept, factor)
    of_scores = (of_weights - traced.sum(of_weights * weights, -1, True)) * weights
    product = traced.matmul(of_scores.transpose(-1, -2), query) * scale
    return (
        traced.sum_to_size(traced.matmul(of_scores, key) * scale, query.shape),
        traced.sum_to_size(product, key.shape),
        of_value,
        traced.sum_to_size(of_scores, mask.shape) if needs[3] else None,
        None,
    )


def _dropped(weights: Any, kept: Any, factor: float) -> Any:
    return weights if kept is None else traced.where(kept, weights * factor, 0.0)


def _scores_of(query: Any, key: Any, mask: Any, is_causal: bool, scale: float) -> Any:
    """Scaled products of queries and keys, less infinity where a key takes no part."""
    scores = traced.matmul(query * scale, key.transpose(-1, -2))
    if is_causal:
        past = np.tril(np.ones(scores._array.shape[-2:], bool))
        mask = wrap(constant_like(scores._array, past), None)
    return scores if mask is None else scores + _added_mask(mask, scores)


def _added_mask(mask: Any, like: Any) -> Any:
    """A mask as what is added to scores: minus infinity where a boolean mask is False."""
    if mask._array.dtype.kind != "b":
        return mask
    lowest = np.where(mask._array, 0, -math.inf).astype(like._array.dtype)
    return wrap(lowest, None)


def _safe_softmax(scores: Any) -> Any:
    """Softmax, and zeros for a query that sees no key."""
    is_blind = (scores == -math.inf).all(-1, True)
    seen = traced.masked_fill(scores, is_blind, 0.0)
    return traced.masked_fill(traced.softmax(seen, -1), is_blind, 0.0)
