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
    from lamina.codegen.kernels import attention_backward as native_backward
    from lamina.codegen.kernels import attention_forms as forms
else:
    forms = Later("lamina.codegen.kernels.attention_forms")
    native_attention = Later("lamina.codegen.kernels.attention")
    native_backward = Later("lamina.codegen.kernels.attention_backward")

LEAST_SCORES: Final = 1 << 11
"""From how many scores of a head on machine code makes them block by block, if it can be made."""

LEAST_RECORDED: Final = 1 << 14
"""The same where gradients are wanted: making few scores again takes longer than keeping them."""

LEAST_QUERIES: Final = 16
"""With fewer queries most lanes of the blocks would be idle."""


def goes_by_blocks(query: Any, key: Any, value: Any, is_recorded: bool) -> bool:
    """Whether attention is done block by block; for the same shapes and dtypes always the same."""
    queries, keys = query.shape[-2], key.shape[-2]
    return bool(
        queries * keys >= (LEAST_RECORDED if is_recorded else LEAST_SCORES)
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


def _has_heads_inside(array: Any) -> bool:
    """Whether the heads of an array lie side by side, as projections make them.

    What is made for it lies in the same order then: so it is projected without being copied.
    """
    return bool(
        array.ndim > 3
        and array.strides[-1] == array.itemsize
        and array.strides[-3] < array.strides[-2]
    )


def _inside(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes in the order in which they lie, heads and their groups after rows."""
    return (shape[0], shape[-2], *shape[1:-2], shape[-1])


def _layout_like(array: Any, shape: tuple[int, ...]) -> Any:
    """The layout of `_room_like`."""
    if len(shape) > 3 and _has_heads_inside(array):
        return np.moveaxis(fresh(_inside(shape), array.dtype), 1, -2)
    return fresh(shape, array.dtype)


def _room_like(array: Any, shape: tuple[int, ...], *before: int) -> Any:
    """Memory for results of a shape, whose heads lie as those of an array do."""
    if len(shape) > 3 and _has_heads_inside(array):
        inside = np.empty((*before, *_inside(shape)), array.dtype)
        return np.moveaxis(inside, len(before) + 1, -2)
    return np.empty((*before, *shape), array.dtype)


def _attended(query: Any, key: Any, value: Any, mask: Any, *_: Any) -> tuple[Any, Any]:
    shape = (*batch_of(query, key, value, mask), query.shape[-2], value.shape[-1])
    return _layout_like(query, shape), fresh(shape[:-1], np.float64)


@array_function(_attended)
def attend_by_blocks(
    query: Any, key: Any, value: Any, mask: Any, kept: Any, is_causal: bool, scale: float,
    factor: float,
) -> tuple[Any, Any]:  # fmt: skip
    """Averages of values, and the logarithm of each query's sum, in float64.

    Halves keep their precision by that: what is float32 is rounded with the results. Where there is
    `kept`, weights for which it is True are multiplied by the factor, the others by zero.
    """
    shape = (*batch_of(query, key, value, mask), query.shape[-2], value.shape[-1])
    result, sums = _room_like(query, shape), np.empty(shape[:-1], query.dtype)
    native_attention.attend(
        query, key, value, _in_kind_of(mask, query), _dropout(kept, factor), is_causal, scale,
        result, sums,
    )  # fmt: skip
    return result, sums.astype(np.float64)


def _gradients(
    gradient: Any, query: Any, key: Any, value: Any, mask: Any, *rest: Any
) -> tuple[Any, ...]:
    batch, pair = batch_of(gradient, query, key, value, mask), batch_of(key, value)
    found = (
        _layout_like(query, (*batch, *query.shape[-2:])),
        _layout_like(key, (*pair, *key.shape[-2:])),
        _layout_like(value, (*pair, *value.shape[-2:])),
    )
    wants_mask = rest[-1]
    return (*found, fresh(_shape_of_mask(mask, key), query.dtype)) if wants_mask else found


@array_function(_gradients)
def attend_by_blocks_backward(
    gradient: Any, query: Any, key: Any, value: Any, mask: Any, kept: Any, result: Any, sums: Any,
    is_causal: bool, scale: float, factor: float, wants_mask: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of query, key and value, before what was broadcast is summed up.

    Those of keys and values are summed up over queries that share them. That of the mask comes
    last, if it is wanted, summed up over all but its keys.
    """
    batch, pair = batch_of(gradient, query, key, value, mask), batch_of(key, value)
    gradient = np.broadcast_to(gradient, (*batch, *gradient.shape[-2:]))
    along = np.ascontiguousarray(np.vecdot(gradient, result))  # which lies as its operands do
    sums = np.broadcast_to(sums, along.shape).astype(query.dtype, order="C")
    of_mask = shared = None
    if wants_mask:
        of_mask = np.empty(_shape_of_mask(mask, key), query.dtype)
        shared = of_mask.shape[:-2]
        if native_backward.is_shared(of_mask.shape, (*batch, query.shape[-2], key.shape[-2])):
            of_mask[...] = 0
    slots = native_backward.slots_of(pair, key.shape[-2], batch, shared)
    of_query = _room_like(query, (*batch, *query.shape[-2:]), slots)
    of_query[...] = 0
    of_key = _room_like(key, (*pair, *key.shape[-2:]))
    of_value = _room_like(value, (*pair, *value.shape[-2:]))
    native_backward.attend_backward(
        gradient, query, key, value, _in_kind_of(mask, query), _dropout(kept, factor), sums, along,
        is_causal, scale, of_query, of_key, of_value, of_mask,
    )  # fmt: skip
    total = of_query[0]
    if slots > 1:
        total = np.add.reduce(of_query, axis=0, out=_room_like(query, of_query.shape[1:]))
    return (total, of_key, of_value, of_mask) if wants_mask else (total, of_key, of_value)


def _shape_of_mask(mask: Any, key: Any) -> tuple[int, ...]:
    """The shape in which the gradient of a mask is summed up: with a place for each key."""
    shape = (1,) * (2 - mask.ndim) + mask.shape
    return (*shape[:-1], key.shape[-2])


def _dropout(kept: Any, factor: float) -> Any:
    return None if kept is None else forms.Dropout(np.ascontiguousarray(kept), factor)


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
    query: Any, key: Any, value: Any, mask: Any, kept: Any, future: Any, scale: float, factor: float
) -> tuple[Any, Any]:
    """Averages and weights before dropout; nobody looks at where `future` is set."""
    weights = _softmax_in_place(_scores(query, key, mask, future, scale))
    return np.matmul(dropped(weights, kept, factor), value), weights


def dropped(weights: Any, kept: Any, factor: float) -> Any:
    """Weights, or gradients of them, after dropout."""
    return weights if kept is None else np.where(kept, weights * weights.dtype.type(factor), 0)
