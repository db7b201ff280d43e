"""Large recurrent layers, or few sequences: threads share the hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lamina.codegen.kernels.recurrence_panels import (
    dense_rows,
    lay,
    lay_back,
    steps_of,
)
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks.recurrence_gates import GATES
from lamina.codegen.kernels.tasks.recurrence_tiles import GROUP, most_rows
from lamina.codegen.kernels.tasks.recurrence_units import (
    PROJECT_FIELDS,
    RETURN_UNITS_FIELDS,
    UNITS_FIELDS,
)
from lamina.codegen.kernels.tasks.turns import room_for_turns
from lamina.codegen.llvm import threads
from lamina.codegen.stores import address_of

LEAST_WEIGHT: Final = 1 << 19
"""Bytes of the state's weight from which on meeting at each step costs less than it saves."""

LEAST_FOR_MANY: Final = 1 << 23
"""The same where there are more sequences than a tile has: what no thread's own cache holds."""


def serves(mode: str, batch: int, size: int, char: str) -> bool:
    """Whether threads share the units of a layer, not the sequences."""
    item = np.dtype(char).itemsize
    is_few = batch <= most_rows()
    least = LEAST_WEIGHT if is_few else LEAST_FOR_MANY
    return GATES[mode].form.gates * size * size * item >= least


def walk(
    mode: str, input: Any, weights: Sequence[Any], biases: Sequence[Any] | None,
    first: Sequence[Any], kept: Any, sizes: Sequence[int], is_reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """As `recurrence.walk`."""
    gates, char, size = GATES[mode].form.gates, input.dtype.char, first[0].shape[-1]
    rows = dense_rows(input.reshape(-1, input.shape[-1]))
    output = np.empty((*input.shape[:-1], size), input.dtype)
    steps, lanes, item = steps_of(sizes, is_reverse, output), lanes_of(char), input.itemsize
    across, blocks = rounded(size * item, lanes * item), -(-size // lanes)
    panels = gates * (rows.shape[1] + size) * across
    added = [np.ascontiguousarray(bias) for bias in biases or ()]
    of_input, of_state = (address_of(bias) for bias in added) if added else (0, 0)
    states, (cells,) = (
        _held(part, lanes, count) for part, count in ((first[0], 2), (first[-1], 1))
    )
    parts = _parts(blocks)
    counters = np.zeros(room_for_turns(parts), np.uint8)
    with scratch(panels + len(rows) * gates * across) as memory:
        chapter = f"{mode}, units"
        lay(chapter, gates, weights, size, memory)
        table = {
            "input": address_of(rows), "input_row": rows.strides[0], "input_size": rows.shape[1],
            "rows": len(rows), "size": size, "panels": memory, "biases": of_input,
            "biases_of_state": of_state, "has_biases": len(added), "shares": memory + panels,
            "shares_row": gates * across, "steps": address_of(steps), "step_count": len(steps),
            "batch": sizes[0], "kept": 0, "kept_row": 0, "keeps": 0,
            "output": address_of(output), "states": address_of(states),
            "cells": address_of(cells), "across": across, "parts": parts,
            "counters": address_of(counters),
        }  # fmt: skip
        if kept is not None:
            table |= {"kept": address_of(kept), "kept_row": kept.strides[0], "keeps": 1}
        run((chapter, "project", char), table, PROJECT_FIELDS, -(-blocks // GROUP))
        run((chapter, "walk_units", char), table, UNITS_FIELDS, parts)
    last = [states[len(steps) % 2], cells][: len(first)]
    return output, *(held[:, :size].copy() for held in last)


def walk_back(
    mode: str, kept: Any, weight: Any, first: Sequence[Any], gradient: Any, of_last: Sequence[Any],
    sizes: Sequence[int], is_reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """As `recurrence.walk_back`."""
    gates, char, size = GATES[mode], kept.dtype.char, kept.shape[-1]
    before, gradient = np.ascontiguousarray(first[-1]), dense_rows(gradient)
    of_gates = np.empty((len(kept), gates.form.written * size), kept.dtype)
    totals = np.zeros((sizes[0], of_gates.shape[1]), kept.dtype)
    steps, lanes, item = steps_of(sizes, is_reverse, gradient), lanes_of(char), kept.itemsize
    across, blocks = rounded(size * item, lanes * item), -(-size // lanes)
    (states,), (cells,) = (_held(part, lanes) for part in (of_last[0], of_last[-1]))
    parts = _parts(blocks)
    counters = np.zeros(room_for_turns(parts), np.uint8)
    gathered = np.empty_like(states)
    with scratch(rounded(weight.shape[0] * across)) as memory:
        chapter = f"{mode}, units"
        lay_back(chapter, weight, memory)
        table = {
            "steps": address_of(steps), "step_count": len(steps), "batch": sizes[0], "size": size,
            "panels": memory, "kept": address_of(kept), "kept_row": kept.strides[0],
            "gradient": address_of(gradient), "gradient_row": gradient.strides[-2],
            "of_gates": address_of(of_gates), "of_gates_row": of_gates.strides[0],
            "totals": address_of(totals), "before": address_of(before),
            "states": address_of(states), "cells": address_of(cells),
            "gathered": address_of(gathered), "across": across, "parts": parts,
            "counters": address_of(counters),
        }  # fmt: skip
        run((chapter, "return_units", char), table, RETURN_UNITS_FIELDS, parts)
    of_first = [states, cells][: len(first)]
    return of_gates, totals.sum(0), *(held[:, :size].copy() for held in of_first)


def _parts(blocks: int) -> int:
    """Into how many parts the blocks of units are cut: one for each thread."""
    return min(threads.capacity(), -(-blocks // GROUP))


def _held(state: Any, lanes: int, count: int = 1) -> Any:
    """A state with whole vectors, as often as said."""
    batch, size = state.shape
    made = np.zeros((count, batch, -(-size // lanes) * lanes), state.dtype)
    made[:, :, :size] = state
    return made
