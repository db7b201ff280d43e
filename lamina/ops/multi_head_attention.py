"""Attention with several heads, each with its own projections."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.op import traced
from lamina.core.tensor import wrap
from lamina.core.warning import warn
from lamina.ops.affine import linear
from lamina.ops.attention import scaled_dot_product_attention
from lamina.ops.dropout import dropout
from lamina.ops.joining import cat

__all__ = ["added_mask"]


def _check_shapes(query: Any, key: Any, value: Any, padding: Any, mask: Any, heads: int) -> bool:
    """Whether the inputs have a batch dimension; raise if they don't fit together."""
    ndim = query.dim()
    if ndim not in (2, 3):
        raise errors.LayerMismatch(
            f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor"
        )
    if key.dim() != ndim or value.dim() != ndim:
        raise errors.LayerMismatch(
            f"for a {ndim}-D query, expected key and value to be {ndim}-D but found {key.dim()}-D "
            f"and {value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != ndim - 1:
        raise errors.LayerMismatch(
            f"for a {ndim}-D query, expected key_padding_mask to be None or {ndim - 1}-D but found "
            f"{padding.dim()}-D"
        )
    if mask is not None:
        if mask.dim() not in (2, 3):
            raise errors.LayerMismatch(
                f"attn_mask's dimension {mask.dim()} is not supported; it should be 2 or 3"
            )
        count = heads if ndim == 2 else heads * query.shape[1]
        wanted = (*[count] * (mask.dim() - 2), query.shape[0], key.shape[0])
        if tuple(mask.shape) != wanted:
            raise errors.LayerMismatch(
                f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
            )
    return ndim == 3


def _check_options(
    query: Any, key: Any, value: Any, expected: int, heads: int, is_causal: bool, mask: Any,
    separate: bool,
) -> None:  # fmt: skip
    """Raise if sizes and heads don't fit, or the mask that a hint speaks of is missing."""
    if is_causal and mask is None:
        raise errors.LayerMismatch(
            "Need attn_mask if specifying the is_causal hint.",
            help=["pass `nn.Transformer.generate_square_subsequent_mask(length)` too"],
        )
    size = query.shape[-1]
    if size != expected:
        raise errors.LayerMismatch(
            f"was expecting embedding dimension of {expected}, but got {size}"
        )
    if size % heads:
        raise errors.LayerMismatch(f"embed_dim {size} not divisible by num_heads {heads}")
    places = slice(0, 2 if separate else None)
    if key.shape[places] != value.shape[places]:
        raise errors.LayerMismatch(
            f"key shape {key.shape} does not match value shape {value.shape}"
        )


def _as_batch(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """The inputs as a batch of one; what was one tensor stays one."""
    queries = query.unsqueeze(1)
    keys = queries if key is query else key.unsqueeze(1)
    return queries, keys, keys if value is key else value.unsqueeze(1)


def added_mask(mask: Any, like: Any, name: str, other: Any = None, other_name: str = "") -> Any:
    """A mask as what is added to scores: where it says True, a key takes no part.

    Args:
        mask: of booleans or floating point numbers, or None.
        like: the tensor whose dtype the result gets.
        name: what the caller calls the mask.
        other: a second mask, which should be of the same kind; a warning says so if it is not.
        other_name: what the caller calls that one.
    """
    if mask is None:
        return None
    kind = mask._array.dtype.kind
    if kind != "b" and not mask.is_floating_point():
        raise errors.LayerMismatch(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype != mask.dtype:
        warn(
            f"Support for mismatched {name} and {other_name} is deprecated. "
            "Use same type for both instead."
        )
    if kind != "b":
        return mask
    return wrap(np.where(mask._array, -math.inf, 0).astype(like._array.dtype), None)


def _projected(
    query: Any, key: Any, value: Any, weight: Any, separate: Any, bias: Any
) -> tuple[Any, Any, Any]:
    """Queries, keys and values through their projections."""
    size = query.shape[-1]
    if separate is None:
        if key is value and query is key:
            joint = linear(query, weight, bias)
            return joint[..., :size], joint[..., size : 2 * size], joint[..., 2 * size :]
        separate = weight[:size], weight[size : 2 * size], weight[2 * size :]
    biases = (None,) * 3 if bias is None else (bias[:size], bias[size : 2 * size], bias[2 * size :])
    return tuple(
        linear(x, w, b) for x, w, b in zip((query, key, value), separate, biases, strict=True)
    )


def _heads(x: Any, count: int, heads: int, size: int) -> Any:
    """(L, N, heads * size) as (N * heads, L, size)."""
    return x.reshape(x.shape[0], count * heads, size).transpose(0, 1)


def _with_zeros(x: Any) -> Any:
    """Keys or values of each head with one more, of zeros."""
    zero = np.zeros_like(x._array, shape=(x.shape[0], 1, x.shape[2]))
    return cat([x, wrap(zero, None)], dim=1)


def _by_sample(weights: Any, count: int, heads: int, is_averaged: bool) -> Any:
    """(N * heads, L, S) as (N, heads, L, S), or the mean over the heads."""
    weights = weights.view(count, heads, *weights.shape[1:])
    return weights.mean(1) if is_averaged else weights


def _grown(mask: Any, by: int) -> Any:
    """A mask with room for more keys, which all take part."""
    if mask is None or by == 0:
        return mask
    array = mask._array
    more = np.zeros_like(array, shape=(*array.shape[:-1], by))
    return wrap(np.concatenate([array, more], axis=-1), None)


def _merged(mask: Any, padding: Any, count: int, heads: int, keys: int) -> Any:
    """The masks of positions and of padding together, for each head of each sample."""
    if mask is not None and mask.dim() == 2:
        mask = mask.unsqueeze(0)
    if padding is None:
        return mask
    if padding.shape != (count, keys):
        raise errors.LayerMismatch(
            f"expecting key_padding_mask shape of {(count, keys)}, but got {tuple(padding.shape)}"
        )
    spread = padding.view(count, 1, 1, keys).expand(-1, heads, -1, -1)
    spread = spread.reshape(count * heads, 1, keys)
    return spread if mask is None else mask + spread


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Attention with several heads, between projections.

    Args:
        query, key, value: (L, N, E), (S, N, E), (S, N, E), or without N.
        embed_dim_to_check: E.
        num_heads: how many heads share E.
        in_proj_weight, in_proj_bias: the projections of query, key and value, stacked.
        bias_k, bias_v: a further key and value, or None.
        add_zero_attn: whether to add a key and value of zeros.
        dropout_p: the probability with which weights are set to zero in training.
        out_proj_weight, out_proj_bias: the projection of the result.
        training: whether to drop weights.
        key_padding_mask: (N, S); True for keys that take no part, or what is added to scores.
        need_weights: whether to return the weights too.
        attn_mask: (L, S) or (N * num_heads, L, S), with the same meaning.
        use_separate_proj_weight: whether the projections are the next three instead.
        q_proj_weight, k_proj_weight, v_proj_weight: projections of query, key and value.
        static_k, static_v: keys and values (N * num_heads, S, E / num_heads), instead of projected
            ones.
        average_attn_weights: whether the weights are averaged over heads.
        is_causal: says that `attn_mask` is the causal mask.

    Returns:
        The result (L, N, E), and the weights (N, L, S) or None.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    _check_options(
        query, key, value, embed_dim_to_check, num_heads, is_causal, attn_mask,
        use_separate_proj_weight,
    )  # fmt: skip
    padding = added_mask(key_padding_mask, query, "key_padding_mask", attn_mask, "attn_mask")
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else added_mask(attn_mask, query, "attn_mask")
    if not batched:
        query, key, value = _as_batch(query, key, value)
        padding = None if padding is None else padding.unsqueeze(0)
    length, count, size = query.shape
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, separate, in_proj_bias)
    more_keys = int(add_zero_attn)
    if bias_k is not None and bias_v is not None:
        k, v = cat([k, bias_k.repeat(1, count, 1)]), cat([v, bias_v.repeat(1, count, 1)])
        more_keys += 1
    width = size // num_heads
    q = _heads(q, count, num_heads, width)
    k = _heads(k, count, num_heads, width) if static_k is None else static_k
    v = _heads(v, count, num_heads, width) if static_v is None else static_v
    if add_zero_attn:
        k, v = _with_zeros(k), _with_zeros(v)
    attn_mask, padding = _grown(attn_mask, more_keys), _grown(padding, more_keys)
    mask = _merged(attn_mask, padding, count, num_heads, k.shape[1])
    drop = dropout_p if training else 0.0
    made, weights = _averaged(q, k, v, mask, drop, need_weights, is_causal)
    rows = made.transpose(0, 1).reshape(length * count, size)
    made = linear(rows, out_proj_weight, out_proj_bias).view(length, count, size)
    if weights is not None:
        weights = _by_sample(weights, count, num_heads, average_attn_weights)
        weights = weights if batched else weights.squeeze(0)
    return made if batched else made.squeeze(1), weights


def _averaged(
    q: Any, k: Any, v: Any, mask: Any, drop: float, need_weights: bool, is_causal: bool
) -> tuple[Any, Any]:
    """Values averaged for each head, and the weights if they are needed."""
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, drop, is_causal), None
    scores = traced.matmul(q * math.sqrt(1 / q.shape[-1]), k.transpose(-2, -1))
    if mask is not None:
        scores = scores + mask
    weights = traced.softmax(scores, -1)
    if drop:
        weights = dropout(weights, drop)
    return traced.matmul(weights, v), weights
