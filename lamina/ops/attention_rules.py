"""The derivatives of attention, on arrays and on tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.codegen.fused import fused
from lamina.core.op import offer, raw, traced
from lamina.core.tensor import wrap
from lamina.ops.attention_kernels import (
    attend_by_blocks_backward,
    future_of,
    goes_by_blocks,
    weights_again,
)
from lamina.ops.constants import constant_like
from lamina.ops.halves import in_float

__all__ = ["added_mask", "scores_of"]


# --- on arrays -----------------------------------------------------------------------------------


def _attention_backward(
    g: Any, query: Any, key: Any, value: Any, mask: Any, result: Any, kept: Any, is_causal: bool,
    scale: float, is_recorded: bool, needs: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The gradients; what is kept are the weights, or the logarithms of their sums."""
    weights = kept
    if goes_by_blocks(query, key, value, is_recorded):
        if not needs[3]:
            found = attend_by_blocks_backward(
                g[0], query, key, value, mask, result, kept, is_causal, scale
            )
            of_query, of_key, of_value = (
                raw.sum_to_size(gradient, array.shape) if wanted else None
                for gradient, array, wanted in zip(
                    found, (query, key, value), needs[:3], strict=True
                )
            )
            return of_query, of_key, of_value, None
        future = future_of(query, key, is_causal)
        weights = weights_again(query, key, mask, future, kept, scale)
    shape = None if mask is None else mask.shape
    return _from_weights(g[0], query, key, value, weights, shape, scale, needs)


@fused
def _from_weights(
    g: Any, query: Any, key: Any, value: Any, weights: Any, mask_shape: Any, scale: float,
    needs: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    of_query = of_key = of_value = of_mask = None
    if needs[2]:
        of_value = raw.sum_to_size(np.matmul(np.swapaxes(weights, -1, -2), g), value.shape)
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, of_value, None
    of_weights = np.matmul(g, np.swapaxes(value, -1, -2))
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
    return of_query, of_key, of_value, of_mask


# --- on tensors ----------------------------------------------------------------------------------


def _attention_backward_on_tensors(
    g: Any, query: Any, key: Any, value: Any, mask: Any, result: Any, kept: Any, is_causal: bool,
    scale: float, is_recorded: bool, needs: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The same, to be differentiated again: the weights are computed anew, with a history."""
    scores = scores_of(query, key, mask, is_causal, scale)
    weights = _safe_softmax(scores) if mask is not None else traced.softmax(scores, -1)
    of_value = traced.sum_to_size(traced.matmul(weights.transpose(-1, -2), g[0]), value.shape)
    of_weights = traced.matmul(g[0], value.transpose(-1, -2))
    of_scores = (of_weights - traced.sum(of_weights * weights, -1, True)) * weights
    product = traced.matmul(of_scores.transpose(-1, -2), query) * scale
    return (
        traced.sum_to_size(traced.matmul(of_scores, key) * scale, query.shape),
        traced.sum_to_size(product, key.shape),
        of_value,
        traced.sum_to_size(of_scores, mask.shape) if needs[3] else None,
    )


def scores_of(query: Any, key: Any, mask: Any, is_causal: bool, scale: float) -> Any:
    """Scaled products of queries and keys, less infinity where a key takes no part."""
    scores = traced.matmul(query * scale, key.transpose(-1, -2))
    if is_causal:
        past = np.tril(np.ones(scores._array.shape[-2:], bool))
        mask = wrap(constant_like(scores._array, past), None)
    return scores if mask is None else scores + added_mask(mask, scores)


def added_mask(mask: Any, like: Any) -> Any:
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


offer("attention_backward", in_float(_attention_backward), _attention_backward_on_tensors)
