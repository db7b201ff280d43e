"""Gradients of attention by machine code, on NumPy arrays."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from lamina.codegen.kernels.attention_forms import (
    Dropout,
    Form,
    dense_last,
    drop_table,
    form_of_kept,
    mask_form,
    numbered,
    of_kept,
    of_mask,
    offsets,
)
from lamina.codegen.kernels.gathering import Table
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks import attention_backward as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of, laid_rows
from lamina.codegen.llvm import threads
from lamina.codegen.stores import address_of

DEPTH: Final = 96
"""Keys of a block, a multiple of all heights of tiles."""

BLOCKS: Final = 4
"""Blocks of a stretch: with 64 numbers a head, their panels and sums take half a megabyte."""

PIECES: Final = 8
"""Into how many pieces few heads are cut; fixed, so that all machines agree."""


def slots_of(
    pair: tuple[int, ...], keys: int, batch: tuple[int, ...], of_mask: tuple[int, ...] | None
) -> int:
    """Into how many slots, each with gradients of queries of its own, the keys of a head go.

    Args:
        pair: The batch dimensions of keys and values.
        keys: How many keys a head has.
        batch: The batch dimensions of the result.
        of_mask: Those of the mask whose gradient is wanted, if it is.
    """
    groups = len(_groups(pair, batch, of_mask)[1]) - 1
    return min(-(-PIECES // groups), -(-keys // (BLOCKS * DEPTH)))


@functools.lru_cache(256)
def _groups(
    pair: tuple[int, ...], batch: tuple[int, ...], of_mask: tuple[int, ...] | None
) -> tuple[Table, Table]:
    """The pairs of keys and values group by group, and where each group begins.

    Pairs whose scores have a gradient of a mask in common are in one group, so that no two threads
    add to it.
    """
    count = math.prod(pair)
    group = np.arange(count, dtype=np.int64)
    if of_mask is not None:
        source, place = numbered(pair, batch), numbered(of_mask, batch)
        lowest = np.empty(math.prod(of_mask), np.int64)
        before = None
        while before is None or not np.array_equal(before, group):  # until all know the first one
            before = group.copy()
            lowest.fill(count)
            np.minimum.at(lowest, place, group[source])
            np.minimum.at(group, source, lowest[place])
    order = np.argsort(group, kind="stable")
    _, starts = np.unique(group[order], return_index=True)
    return order, np.append(starts, count)


@final
@dataclass(frozen=True)
class _Plan:
    """What a call needs that depends on the forms of its operands alone."""

    tables: dict[str, Table]
    numbers: dict[str, int]
    pieces: int
    per_worker: int


def attend_backward(
    gradient: Any, query: Any, key: Any, value: Any, mask: Any, dropout: Dropout | None,
    sums: Any, along: Any, is_causal: bool, scale: float,
    of_query: Any, of_key: Any, of_value: Any, of_mask: Any,
) -> None:  # fmt: skip
    """Write the gradients of attention.

    Args:
        gradient: That of the result, (*batch, L, Ev).
        query, key, value, mask, dropout, is_causal, scale: As in the forward pass.
        sums: (*batch, L), the logarithms of the sums, row-major.
        along: (*batch, L), the products of gradient and result, row-major.
        of_query: (slots, *batch, L, E), zeros; the gradient is the sum over slots.
        of_key, of_value: (*pair, S, E), (*pair, S, Ev), where the batch dimensions of key and
            value broadcast to `pair`. The last dimensions of all three are dense.
        of_mask: (*batch of the mask, L or 1, S), if that gradient is wanted; row-major, and zeros
            if it is shared.
    """
    char = query.dtype.char
    arrays = [dense_last(array) for array in (query, key, value, gradient)]
    results = of_query, of_key, of_value
    forms = mask_form(mask), form_of_kept(dropout), None if of_mask is None else Form.of(of_mask)
    plan = _plan(*map(Form.of, (*arrays, *results)), *forms, char)
    query, key, value, gradient = arrays
    factor, (dropping, _alive) = np.array(scale, query.dtype), drop_table(dropout, char)
    with scratch(threads.capacity() * plan.per_worker) as memory:
        table = {
            **plan.numbers, **dropping,
            **{name: address_of(each) for name, each in plan.tables.items()},
            "query": address_of(query), "key": address_of(key), "value": address_of(value),
            "gradient": address_of(gradient), "sums": address_of(sums),
            "along": address_of(along), "mask": 0 if mask is None else address_of(mask),
            "of_query": address_of(of_query), "of_key": address_of(of_key),
            "of_value": address_of(of_value),
            "of_mask": 0 if of_mask is None else address_of(of_mask), "scratch": memory,
            "scale": address_of(factor),
            "is_causal": int(is_causal), "scratch_step": plan.per_worker,
        }  # fmt: skip
        run(("attention", "attend_backward", char), table, tasks.GRADIENT_FIELDS, plan.pieces)


@functools.lru_cache(256)
def _plan(
    query: Form, key: Form, value: Form, gradient: Form, of_query: Form, of_key: Form,
    of_value: Form, mask: tuple[Form, str] | None, kept: Form | None, of_mask_form: Form | None,
    char: str,
) -> _Plan:  # fmt: skip
    batch, of_pair = gradient.shape[:-2], of_key.shape[:-2]
    item, lanes = np.dtype(char).itemsize, lanes_of(char)
    (queries, size), (keys, value_size) = query.shape[-2:], value.shape[-2:]
    mask_numbers, masks = of_mask(mask, (*batch, queries, keys))
    kept_numbers, kept_places = of_kept(kept, (*batch, queries, keys))
    of_mask_numbers, of_masks = _of_gradient(of_mask_form, (*batch, queries, keys))
    of_query_head = Form(of_query.shape[1:], of_query.strides[1:])
    pairs = [offsets(each, of_pair) for each in (key, value, of_key, of_value)]
    sums = np.arange(math.prod(batch), dtype=np.int64) * queries * item
    places = [offsets(query, batch), offsets(gradient, batch), masks, kept_places, sums]
    places += [offsets(of_query_head, batch), of_masks]
    source = numbered(of_pair, batch)
    across, depth = 2 * lanes * item, min(DEPTH, rounded(keys, 12))
    groups, group_starts = _groups(of_pair, batch, of_mask_form and of_mask_form.shape[:-2])
    tables = {
        "groups": groups,
        "group_starts": group_starts,
        "sources": np.stack(pairs, axis=-1),
        "items": np.stack(places, axis=-1),
        "order": np.argsort(source, kind="stable"),
        "starts": np.searchsorted(np.sort(source), np.arange(math.prod(of_pair) + 1)),
        "steps": np.arange(max(size, value_size, depth), dtype=np.int64) * across,
        "lane_steps": np.arange(2 * lanes, dtype=np.int64) * item,
        "row_offsets": np.arange(16, dtype=np.int64) * across,
        "zeros": np.zeros(heights_of()[0], char),
    }
    stretches, slots = -(-keys // (BLOCKS * depth)), of_query.shape[0]
    in_block, in_scratch = _rooms(size, value_size, depth, item, lanes, bool(mask or kept))
    numbers = {
        **mask_numbers, **kept_numbers, **of_mask_numbers, **in_block, **in_scratch,
        "queries": queries, "keys": keys, "size": size,
        "value_size": value_size, "depth": depth, "stretch": BLOCKS * depth,
        "query_row": query.strides[-2], "key_row": key.strides[-2], "value_row": value.strides[-2],
        "gradient_row": gradient.strides[-2], "of_query_row": of_query.strides[-2],
        "of_key_row": of_key.strides[-2], "of_value_row": of_value.strides[-2],
        "of_query_slot": of_query.strides[0], "stretches": stretches, "slots": slots,
        "query_blocks": -(-queries // (2 * lanes)),
    }  # fmt: skip
    together = min(BLOCKS, -(-keys // depth))
    per_worker = rounded(in_scratch["panels"] + together * in_block["block_size"])
    return _Plan(tables, numbers, (len(group_starts) - 1) * slots, per_worker)


def _of_gradient(form: Form | None, shape: tuple[int, ...]) -> tuple[dict[str, int], Table]:
    """What the task must know of a mask's gradient, and where each matrix is."""
    if form is None:
        none = np.zeros(math.prod(shape[:-2]), np.int64)
        return {"has_of_mask": 0, "of_mask_row": 0, "of_mask_adds": 0}, none
    row = form.strides[-2] if form.shape[-2] == shape[-2] else 0
    adds = int(is_shared(form.shape, shape))
    numbers = {"has_of_mask": 1, "of_mask_row": row, "of_mask_adds": adds}
    return numbers, offsets(form, shape[:-2])


def is_shared(of_mask: tuple[int, ...], scores: tuple[int, ...]) -> bool:
    """Whether some scores have a gradient of a mask in common, which is then a sum."""
    return math.prod(of_mask) < math.prod(scores)


def _rooms(
    size: int, value_size: int, depth: int, item: int, lanes: int, has_masks: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Where panels and sums are in a block of keys, and what else in a worker's scratch."""
    across = 2 * lanes * item
    widths = {"key_width": rounded(size, lanes), "value_width": rounded(value_size, lanes)}
    widths = {name: width * item for name, width in widths.items()}
    # Behind panels is room for a vector that is written past their end.
    in_block = _laid_out({
        "key_rows": depth * size * item + 64,
        "key_columns": depth * laid_rows(size) * item + 64,
        "value_rows": depth * value_size * item + 64,
        "key_sums": depth * widths["key_width"],
        "value_sums": depth * widths["value_width"],
    }, "block_size")  # fmt: skip
    in_scratch = _laid_out({
        "turned_queries": size * across,
        "turned_gradients": value_size * across,
        "query_rows": rounded(size, 2 * lanes) * across,
        "gradient_rows": rounded(value_size, 2 * lanes) * across,
        "scores": depth * across,
        "changes": depth * across,
        "masks": depth * across if has_masks else 0,
        "of_queries": size * across,
    }, "panels")  # fmt: skip
    return in_block | widths, in_scratch


def _laid_out(sizes: dict[str, int], end: str) -> dict[str, int]:
    """Where each of some rooms is, one behind another, and where they end."""
    places, at = {}, 0
    for name, size in sizes.items():
        places[name] = at
        at += rounded(size)
    return places | {end: at}
