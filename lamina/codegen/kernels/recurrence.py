"""Recurrent layers through time by machine code, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.codegen.kernels import recurrence_units
from lamina.codegen.kernels.recurrence_panels import dense_rows, lay, lay_back, steps_of
from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks.recurrence import WALK_FIELDS
from lamina.codegen.kernels.tasks.recurrence_backward import RETURN_FIELDS
from lamina.codegen.kernels.tasks.recurrence_gates import GATES
from lamina.codegen.kernels.tasks.recurrence_tiles import most_rows
from lamina.codegen.llvm import threads
from lamina.codegen.stores import address_of


def walk(
    mode: str, input: Any, weights: Sequence[Any], biases: Sequence[Any] | None,
    first: Sequence[Any], kept: Any, sizes: Sequence[int], is_reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The outputs of all steps, and the last state (and cell) of each sequence.

    Args:
        mode: The kind of layer.
        input: (T, N, I), or (sum of sizes, I).
        weights: By which input and state are multiplied: (gates * H, I) and (gates * H, H).
        biases: Two vectors of gates * H, or None.
        first: The first state (and cell), (N, H).
        kept: Where what the way back needs is written, (sum of sizes, kept, H), or None.
        sizes: How many sequences have an element at each time; they begin with the longest.
        is_reverse: Whether steps go from the last time to the first.
    """
    gates, char, size = GATES[mode], input.dtype.char, first[0].shape[-1]
    if recurrence_units.serves(mode, sizes[0], size, char):
        return recurrence_units.walk(mode, input, weights, biases, first, kept, sizes, is_reverse)
    first, input = [np.ascontiguousarray(part) for part in first], dense_rows(input)
    output = np.empty((*input.shape[:-1], size), input.dtype)
    last = [np.empty_like(part) for part in first]
    steps, lanes, item = steps_of(sizes, is_reverse, input), lanes_of(char), input.itemsize
    across, pieces = rounded(size * item, lanes * item), _pieces(sizes[0])
    panels = gates.form.gates * (input.shape[-1] + size) * across
    per_piece = 3 * most_rows() * across
    added = [np.ascontiguousarray(bias) for bias in biases or ()]
    of_input, of_state = (address_of(bias) for bias in added) if added else (0, 0)
    with scratch(panels + pieces * per_piece) as memory:
        lay(mode, gates.form.gates, weights, size, memory)
        table = {
            "steps": address_of(steps), "step_count": len(steps), "batch": sizes[0],
            "pieces": pieces, "size": size, "panels": memory, "biases": of_input,
            "biases_of_state": of_state, "has_biases": len(added), "input": address_of(input),
            "input_row": input.strides[-2], "input_size": input.shape[-1], "kept": 0, "kept_row": 0,
            "keeps": 0, "output": address_of(output), **_ends("", first), **_ends("last_", last),
            "scratch": memory + panels, "scratch_step": per_piece, "across": across,
        }  # fmt: skip
        if kept is not None:
            table |= {"kept": address_of(kept), "kept_row": kept.strides[0], "keeps": 1}
        run((mode, "walk", char), table, WALK_FIELDS, pieces)
    return output, *last


def walk_back(
    mode: str, kept: Any, weight: Any, first: Sequence[Any], gradient: Any, of_last: Sequence[Any],
    sizes: Sequence[int], is_reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of the gates at all steps, (rows, written * H), their sum over all steps, and
    the gradients of the first state (and cell).

    Args:
        mode, first, sizes, is_reverse: As `walk` had them.
        kept: What it kept.
        weight: By which it multiplied the state.
        gradient: That of the outputs: (rows, H), or (T, N, H).
        of_last: Those of the last state (and cell).
    """
    gates, char, size = GATES[mode], kept.dtype.char, kept.shape[-1]
    if recurrence_units.serves(mode, sizes[0], size, char):
        return recurrence_units.walk_back(
            mode, kept, weight, first, gradient, of_last, sizes, is_reverse
        )
    first = [np.ascontiguousarray(part) for part in first]
    of_last = [np.ascontiguousarray(part) for part in of_last]
    gradient = dense_rows(gradient)
    of_gates = np.empty((len(kept), gates.form.written * size), kept.dtype)
    totals = np.zeros((sizes[0], of_gates.shape[1]), kept.dtype)
    of_first = [np.empty_like(part) for part in first]
    steps, lanes, item = steps_of(sizes, is_reverse, gradient), lanes_of(char), kept.itemsize
    across = rounded(size * item, lanes * item)
    pieces, per_piece = _pieces(sizes[0]), 3 * most_rows() * across
    panels = rounded(weight.shape[0] * across)
    with scratch(panels + pieces * per_piece) as memory:
        lay_back(mode, weight, memory)
        table = {
            "steps": address_of(steps), "step_count": len(steps), "batch": sizes[0],
            "pieces": pieces, "size": size, "panels": memory,
            "kept": address_of(kept), "kept_row": kept.strides[0],
            "gradient": address_of(gradient), "gradient_row": gradient.strides[-2],
            "of_gates": address_of(of_gates), "of_gates_row": of_gates.strides[0],
            "totals": address_of(totals), "before": address_of(first[-1]),
            **_ends("of_last_", of_last), **_ends("of_", of_first),
            "scratch": memory + panels, "scratch_step": per_piece, "across": across,
        }  # fmt: skip
        run((mode, "return", char), table, RETURN_FIELDS, pieces)
    return of_gates, totals.sum(0), *of_first


def _ends(prefix: str, states: Sequence[Any]) -> dict[str, int]:
    """Where state and cell are; a layer without cells never looks there."""
    return {f"{prefix}hidden": address_of(states[0]), f"{prefix}cell": address_of(states[-1])}


def _pieces(batch: int) -> int:
    """Into how many parts a batch is cut: as many for each thread, and few enough rows in each."""
    least, workers = -(-batch // most_rows()), threads.capacity()
    return min(batch, -(-least // workers) * workers)
