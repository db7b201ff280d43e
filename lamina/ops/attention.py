"""Attention: averages of values, weighted by how well keys match queries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.core.arguments import takes_tensors
from lamina.core.call import operation
from lamina.core.op import offer, raw, traced
from lamina.core.samples import sample
from lamina.core.tensor import wrap
from lamina.ops.constants import constant_like
from lamina.ops.dropout import dropout
from lamina.ops.halves import in_float

__all__ = ["scaled_dot_product_attention"]


# --- one operation -----------------------------------------------------------------------------


def _softmax_in_place(scores: Any) -> Any:
    top = np.max(scores, axis=-1, keepdims=True, initial=-math.inf)
    # A row in which everything is masked becomes a row of zeros.
    scores -= np.where(top == -math.inf, 0, top)
    np.exp(scores, out=scores)
    total = np.sum(scores, axis=-1, keepdims=True)
    scores /= np.where(total == 0, 1, total)
    return scores


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: float
) -> tuple[Any, Any]:
    future = None
    if is_causal:
        sizes = query.shape[-2], key.shape[-2]
        future = constant_like(query, np.triu(np.ones(sizes, bool), 1))
    return _averaged(query, key, value, attn_mask, future, scale)


@fused
def _averaged(
    query: Any, key: Any, value: Any, attn_mask: Any, future: Any, scale: float
) -> tuple[Any, Any]:
    """Averages and weights; nobody looks at where `future` is set."""
    scores = np.matmul(query * scale, np.swapaxes(key, -1, -2))
    if attn_mask is not None:
        if attn_mask.dtype.kind == "b":
            scores = np.where(attn_mask, scores, -math.inf).astype(query.dtype, copy=False)
        else:
            scores = scores + attn_mask
    if future is not None:
        scores = np.where(future, -math.inf, scores)
        scores = scores.astype(query.dtype, copy=False)
    weights = _softmax_in_place(scores)
    return np.matmul(weights, value), weights


@fused
def _attention_backward(
    g: Any, query: Any, key: Any, value: Any, weights: Any, mask_shape: Any, scale: float,
    needs: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The gradients on arrays; `g` are those of the result and of the weights (or None)."""
    of_weights, of_value = g[1], None
    if g[0] is not None:
        if needs[2]:
            of_value = raw.sum_to_size(np.matmul(np.swapaxes(weights, -1, -2), g[0]), value.shape)
        through = np.matmul(g[0], np.swapaxes(value, -1, -2))
        of_weights = through if of_weights is None else of_weights + through
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, of_value, None
    along = np.expand_dims(np.vecdot(of_weights, weights), -1)
    of_scores = of_weights - along
    of_scores *= weights
    of_query = of_key = of_mask = None
    if needs[0]:
        of_query = raw.sum_to_size(np.matmul(of_scores, key) * scale, query.shape)
    if needs[1]:
        product = np.matmul(np.swapaxes(of_scores, -1, -2), query) * scale
        of_key = raw.sum_to_size(product, key.shape)
    if needs[3]:
        of_mask = raw.sum_to_size(of_scores, mask_shape)
    return of_query, of_key, of_value, of_mask


def _attention_backward_on_tensors(
    g: Any, query: Any, key: Any, value: Any, weights: Any, mask_shape: Any, scale: float,
    needs: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The same on tensors: to be differentiated again. The weights are a result with a history."""
    of_weights, of_value = g[1], None
    if g[0] is not None:
        product = traced.matmul(weights.transpose(-1, -2), g[0])
        of_value = traced.sum_to_size(product, value.shape)
        through = traced.matmul(g[0], value.transpose(-1, -2))
        of_weights = through if of_weights is None else of_weights + through
    of_scores = (of_weights - traced.sum(of_weights * weights, -1, True)) * weights
    product = traced.matmul(of_scores.transpose(-1, -2), query) * scale
    return (
        traced.sum_to_size(traced.matmul(of_scores, key) * scale, query.shape),
        traced.sum_to_size(product, key.shape),
        of_value,
        traced.sum_to_size(of_scores, mask_shape) if needs[3] else None,
    )


offer("attention_backward", in_float(_attention_backward), _attention_backward_on_tensors)
_attend = operation(
    "scaled_dot_product_attention",
    _attention,
    tensors="query key value ?attn_mask",
    grad=lambda F, g, query, key, value, out1, attn_mask_shape, scale, needs: F.attention_backward(
        g, query, key, value, out1, attn_mask_shape, scale, needs
    ),
    node_name="ScaledDotProductFlashAttentionForCpuBackward0",
    samples=lambda make: [
        sample(make(2, 3, 4), make(2, 5, 4), make(2, 5, 2), None, False, 0.5),
        sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), None, True, 0.5),
        sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), make(3, 3), False, 0.5),
    ],
    doc="Values averaged with the softmax of scaled products of queries and keys; and the weights.",
)


@takes_tensors
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    r"""$\mathrm{softmax}(Q K^T / \sqrt d + M) V$.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        attn_mask: what is added to scores, or True where a key takes part; broadcasts to
            (..., L, S).
        dropout_p: the probability with which weights are set to zero.
        is_causal: whether a query sees no keys behind its own position.
        scale: by what scores are multiplied instead of $1 / \sqrt E$.
        enable_gqa: whether several heads of queries share one of keys and values.

    >>> import lamina
    >>> q = lamina.ones(1, 2, 4)
    >>> lamina.nn.functional.scaled_dot_product_attention(q, q, lamina.eye(2)[None])
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """
    if is_causal and attn_mask is not None:
        raise errors.InvalidArgument(
            "scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True",
            help=["put the causal part into the mask"],
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise errors.InvalidArgument(
            "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
            "dimensional"
        )
    if enable_gqa:
        key = _repeated_heads(key, query)
        value = _repeated_heads(value, query)
    if scale is None:
        scale = 1 / math.sqrt(query._array.shape[-1]) if query._array.shape[-1] else 1.0
    if dropout_p > 0:
        return _with_dropout(query, key, value, attn_mask, dropout_p, is_causal, scale)
    return _attend(query, key, value, attn_mask, is_causal, scale)[0]


def _repeated_heads(tensor: Any, query: Any) -> Any:
    heads, wanted = tensor.shape[-3], query.shape[-3]
    if heads == wanted:
        return tensor
    if wanted % heads:
        raise errors.InvalidArgument(
            f"scaled_dot_product_attention: {wanted} heads of queries can't share {heads} heads"
        )
    return tensor.repeat_interleave(wanted // heads, -3)


def _with_dropout(
    query: Any, key: Any, value: Any, attn_mask: Any, p: float, is_causal: bool, scale: float
) -> Any:
    """The same from smaller operations, since weights are dropped before values are averaged."""
    scores = traced.matmul(query * scale, key.transpose(-1, -2))
    if is_causal:
        attn_mask = _causal_mask(scores)
    if attn_mask is not None:
        scores = scores + added_mask(attn_mask, scores)
    return traced.matmul(dropout(traced.softmax(scores, -1), p), value)


def _causal_mask(scores: Any) -> Any:
    past = np.tril(np.ones(scores._array.shape[-2:], bool))
    return wrap(constant_like(scores._array, past), None)


def added_mask(mask: Any, like: Any) -> Any:
    """A mask as what is added to scores: minus infinity where a boolean mask is False."""
    if mask._array.dtype.kind != "b":
        return mask
    lowest = np.where(mask._array, 0, -math.inf).astype(like._array.dtype)
    return wrap(lowest, None)
