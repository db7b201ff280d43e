"""Attention: averages of values, weighted by how well keys match queries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.call import operation
from lamina.core.modes import state
from lamina.core.op import offer
from lamina.core.samples import sample
from lamina.core.tensor import wrap
from lamina.ops.attention_kernels import (
    attend_at_once,
    attend_by_blocks,
    batch_of,
    future_of,
    goes_by_blocks,
)
from lamina.ops.attention_rules import backward_on_arrays, backward_on_tensors
from lamina.ops.constants import constant_like
from lamina.ops.draws import draw
from lamina.ops.dropout import check_probability
from lamina.ops.halves import in_float

__all__ = ["scaled_dot_product_attention"]


# --- one operation -----------------------------------------------------------------------------


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any, kept: Any, is_causal: bool, scale: float,
    factor: float = 1.0, is_recorded: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """The result, and what its gradients need: weights, or the logarithms of their sums."""
    if goes_by_blocks(query, key, value, is_recorded):
        return attend_by_blocks(query, key, value, attn_mask, kept, is_causal, scale, factor)
    future = future_of(query, key, is_causal)
    return attend_at_once(query, key, value, attn_mask, kept, future, scale, factor)


def _gradients(
    F: Any, g: Any, query: Any, key: Any, value: Any, attn_mask: Any, kept: Any, out0: Any,
    out1: Any, is_causal: bool, scale: float, factor: float, is_recorded: bool, needs: Any,
) -> Any:  # fmt: skip
    return F.attention_backward(
        g, query, key, value, attn_mask, kept, out0, out1, is_causal, scale, factor, is_recorded,
        needs,
    )  # fmt: skip


offer("attention_backward", in_float(backward_on_arrays), backward_on_tensors)
_attend = operation(
    "scaled_dot_product_attention",
    _attention,
    tensors="query key value ?attn_mask ?kept",
    grad=_gradients,
    node_name="ScaledDotProductFlashAttentionForCpuBackward0",
    samples=lambda make: [
        sample(make(2, 3, 4), make(2, 5, 4), make(2, 5, 2), None, None, False, 0.5),
        sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), None, None, True, 0.5),
        sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), make(3, 3), None, False, 0.5),
        sample(
            make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), None, make.integers(2, 3, 3) > 0, True,
            0.5, 1.5,
        ),
    ],
    doc="Values averaged with the softmax of scaled products; and what their gradients need.",
)  # fmt: skip
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

    With llvmlite, long sequences go by blocks (online softmax): memory grows with L and S, and not
    with their product. Dropout keeps one byte for each weight.

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
    if scale is None:
        scale = 1 / math.sqrt(query._array.shape[-1]) if query._array.shape[-1] else 1.0
    if enable_gqa and query.shape[-3] != key.shape[-3] == value.shape[-3]:
        query, key, value, attn_mask = _grouped(query, key, value, attn_mask)
        averages = _averaged(query, key, value, attn_mask, dropout_p, is_causal, scale)
        return averages.flatten(-4, -3)
    if enable_gqa:
        key, value = _repeated_heads(key, query), _repeated_heads(value, query)
    return _averaged(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _averaged(
    query: Any, key: Any, value: Any, attn_mask: Any, p: float, is_causal: bool, scale: float
) -> Any:
    kept, factor = None, 1.0
    if p > 0:
        check_probability(p)
        kept, factor = _kept(query, key, attn_mask, p), 1 / (1 - p) if p < 1 else 1.0
    inputs = query, key, value, attn_mask
    is_recorded = state.grad_enabled and any(t is not None and t.requires_grad for t in inputs)
    return _attend(query, key, value, attn_mask, kept, is_causal, scale, factor, is_recorded)[0]


def _kept(query: Any, key: Any, attn_mask: Any, p: float) -> Any:
    """Which weights dropout keeps: drawn for all scores in their order, a byte for each."""
    arrays = [None if each is None else each._array for each in (query, key, attn_mask)]
    shape = (*batch_of(*arrays), query._array.shape[-2], key._array.shape[-2])
    if p == 1:
        return wrap(constant_like(query._array, np.zeros(shape, bool)), None)
    return wrap(draw("chosen", None, shape, np.dtype(bool), query.device, 1 - p), None)


def _shares(tensor: Any, query: Any) -> int:
    """How many heads of queries share one of keys or values."""
    heads, wanted = tensor.shape[-3], query.shape[-3]
    if not heads or wanted % heads:
        raise errors.InvalidArgument(
            f"scaled_dot_product_attention: {wanted} heads of queries can't share {heads} heads"
        )
    return int(wanted // heads)


def _grouped(query: Any, key: Any, value: Any, mask: Any) -> tuple[Any, Any, Any, Any]:
    """Views in which heads of queries that share keys are a dimension, so that these broadcast."""
    groups = key.shape[-3], _shares(key, query)
    if mask is not None and mask.dim() > 2:
        is_same = mask.shape[-3] == 1
        mask = mask.unsqueeze(-3) if is_same else mask.unflatten(-3, groups)
    return query.unflatten(-3, groups), key.unsqueeze(-3), value.unsqueeze(-3), mask


def _repeated_heads(tensor: Any, query: Any) -> Any:
    count = _shares(tensor, query)
    return tensor if count == 1 else tensor.repeat_interleave(count, -3)
