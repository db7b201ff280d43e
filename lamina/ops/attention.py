"""Attention: averages of values, weighted by how well keys match queries."""

from __future__ import annotations

import math
from typing import Any

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.ops.attention_kernels import (
    attend_at_once,
    attend_by_blocks,
    future_of,
    goes_by_blocks,
)
from lamina.ops.attention_rules import scores_of
from lamina.ops.dropout import dropout

__all__ = ["scaled_dot_product_attention"]


# --- one operation -----------------------------------------------------------------------------


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: float
) -> tuple[Any, Any]:
    """The result, and what its gradients need: weights, or the logarithms of their sums."""
    if goes_by_blocks(query, key, value):
        return attend_by_blocks(query, key, value, attn_mask, is_causal, scale)
    future = future_of(query, key, is_causal)
    return attend_at_once(query, key, value, attn_mask, future, scale)


_attend = operation(
    "scaled_dot_product_attention",
    _attention,
    tensors="query key value ?attn_mask",
    grad=lambda F, g, query, key, value, attn_mask, out1, is_causal, scale, needs: (
        F.attention_backward(g, query, key, value, attn_mask, out1, is_causal, scale, needs)
    ),
    node_name="ScaledDotProductFlashAttentionForCpuBackward0",
    samples=lambda make: [
        sample(make(2, 3, 4), make(2, 5, 4), make(2, 5, 2), None, False, 0.5),
        sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), None, True, 0.5),
        sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), make(3, 3), False, 0.5),
    ],
    doc="Values averaged with the softmax of scaled products; and what their gradients need.",
)
_attend.op.constants = (1,)


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
    scores = scores_of(query, key, attn_mask, is_causal, scale)
    return traced.matmul(dropout(traced.softmax(scores, -1), p), value)
