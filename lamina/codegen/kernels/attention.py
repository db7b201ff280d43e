"""Attention by machine code, on NumPy arrays."""

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
from lamina.codegen.kernels.tasks import attention as tasks
from lamina.codegen.kernels.tasks.tiles import heights_of, laid_rows
from lamina.codegen.llvm import threads
from lamina.codegen.stores import address_of

DEPTH: Final = 144
"""Keys of a block, a multiple of all heights of tiles."""


@final
@dataclass(frozen=True)
class _Plan:
    """What a call needs that depends on the forms of its operands alone."""

    sources: Table
    items: Table
    steps: Table
    zeros: Any
    numbers: dict[str, int]
    panels: int
    per_worker: int


def attend(
    query: Any, key: Any, value: Any, mask: Any, dropout: Dropout | None, is_causal: bool,
    scale: float, result: Any, sums: Any,
) -> None:  # fmt: skip
    """Write averages of values into `result`, and the logarithms of the sums of powers into `sums`.

    Args:
        query, key, value: (*batch, L, E), (*batch, S, E) and (*batch, S, Ev), of one dtype; batch
            dimensions broadcast.
        mask: (*batch, L, S), of truth values or of the same dtype, or None; all of it broadcasts.
        dropout: Which weights are kept, if not all; their last dimension is dense.
        is_causal: Whether queries see no keys behind their own place.
        scale: By what scores are multiplied.
        result: (*batch, L, Ev); its last dimension is dense.
        sums: (*batch, L), row-major.
    """
    char = query.dtype.char
    query, key, value = map(dense_last, (query, key, value))
    forms = mask_form(mask), form_of_kept(dropout)
    plan = _plan(*map(Form.of, (query, key, value, result)), *forms, char)
    factor, (dropping, _alive) = np.array(scale, query.dtype), drop_table(dropout, char)
    with scratch(plan.panels + threads.capacity() * plan.per_worker) as memory:
        table = {
            **plan.numbers, **dropping, "panels": memory, "scratch": memory + plan.panels,
            "query": address_of(query), "key": address_of(key), "value": address_of(value),
            "mask": 0 if mask is None else address_of(mask), "result": address_of(result),
            "sums": address_of(sums), "sources": address_of(plan.sources),
            "items": address_of(plan.items), "steps": address_of(plan.steps),
            "zeros": address_of(plan.zeros), "scale": address_of(factor),
            "is_causal": int(is_causal), "scratch_step": plan.per_worker,
        }  # fmt: skip
        pieces = len(plan.sources) * table["blocks"]
        run(("attention", "pack_keys", char), table, tasks.PACK_FIELDS, pieces)
        pieces = len(plan.items) * table["query_blocks"]
        run(("attention", "attend", char), table, tasks.ATTEND_FIELDS, pieces)


@functools.lru_cache(256)
def _plan(
    query: Form, key: Form, value: Form, result: Form, mask: tuple[Form, str] | None,
    kept: Form | None, char: str,
) -> _Plan:  # fmt: skip
    batch, item, lanes = result.shape[:-2], np.dtype(char).itemsize, lanes_of(char)
    (queries, size), keys, value_size = query.shape[-2:], key.shape[-2], value.shape[-1]
    across = 2 * lanes * item
    depth = min(DEPTH, rounded(keys, 12))
    blocks = -(-keys // depth)
    # Behind the panels is room for a vector that is written past their end.
    value_panels = rounded(depth * size * item) + 64
    block_size = value_panels + rounded(laid_rows(value_size) * depth * item) + 64
    of_pair = np.broadcast_shapes(key.shape[:-2], value.shape[:-2])
    sources = np.stack([offsets(key, of_pair), offsets(value, of_pair)], axis=-1)
    mask_numbers, masks = of_mask(mask, (*batch, queries, keys))
    kept_numbers, kept_places = of_kept(kept, (*batch, queries, keys))
    sums = np.arange(math.prod(batch), dtype=np.int64) * queries * item
    places = [offsets(query, batch), numbered(of_pair, batch), masks, kept_places]
    places += [offsets(result, batch), sums]
    rows = [size, depth, depth if mask or kept else 0, value_size]
    *ends, room = (across * np.cumsum(rows)).tolist()
    numbers = {
        **mask_numbers, **kept_numbers,
        "queries": queries, "keys": keys, "size": size, "value_size": value_size,
        "query_row": query.strides[-2], "key_row": key.strides[-2],
        "value_row": value.strides[-2], "result_row": result.strides[-2],
        "depth": depth, "blocks": blocks, "block_size": block_size, "value_panels": value_panels,
        "query_blocks": -(-queries // (2 * lanes)),
        **dict(zip(("scores", "masks", "outs"), ends, strict=True)),
    }  # fmt: skip
    return _Plan(
        sources, np.stack(places, axis=-1),
        np.arange(max(size, depth), dtype=np.int64) * across,
        np.zeros(heights_of()[0], char), numbers,
        len(sources) * blocks * block_size, rounded(room),
    )  # fmt: skip
