"""Recurrent layers through time by machine code, on NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.codegen.kernels.task_library import lanes_of, rounded, run, scratch
from lamina.codegen.kernels.tasks.recurrence import (
    GROUP,
    LAY_FIELDS,
    STEP,
    WALK_FIELDS,
    most_rows,
)
from lamina.codegen.kernels.tasks.recurrence_backward import RETURN_FIELDS
from lamina.codegen.kernels.tasks.recurrence_gates import GATES, Gates
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
    first, input = [np.ascontiguousarray(part) for part in first], _dense_rows(input)
    output = np.empty((*input.shape[:-1], size), input.dtype)
    last = [np.empty_like(part) for part in first]
    steps, lanes, item = _steps(sizes, is_reverse, input), lanes_of(char), input.itemsize
    across, pieces = rounded(size * item, lanes * item), _pieces(sizes[0], lanes * item)
    inner_size = input.shape[-1] + size
    panels, per_piece = gates.form.gates * inner_size * across, 3 * most_rows() * across
    added = _added(gates, biases, size, across // item, char)
    with scratch(panels + pieces * per_piece) as memory:
        for weight, offset in zip(weights, (0, input.shape[-1]), strict=True):
            _lay(mode, weight, size, inner_size, offset, memory)
        table = {
            "steps": address_of(steps), "step_count": len(steps), "batch": sizes[0],
            "pieces": pieces, "size": size, "panels": memory, "biases": address_of(added),
            "input": address_of(input), "input_row": input.strides[-2],
            "input_size": input.shape[-1], "kept": 0, "kept_row": 0, "keeps": 0,
            "output": address_of(output), **_ends("", first), **_ends("last_", last),
            "scratch": memory + panels, "scratch_step": per_piece, "across": across,
        }  # fmt: skip
        if kept is not None:
            table |= {"kept": address_of(kept), "kept_row": kept.strides[0], "keeps": 1}
        run((mode, "walk", char), table, WALK_FIELDS, pieces)
    return output, *last


def _lay(mode: str, weight: Any, size: int, inner_size: int, offset: int, memory: int) -> None:
    """Bring a weight into panels, as tiles of the way forward read them."""
    weight, gates, char = np.ascontiguousarray(weight), GATES[mode].form.gates, weight.dtype.char
    table = {
        "weight": address_of(weight), "weight_row": weight.strides[0], "size": size,
        "inner": weight.shape[-1], "inner_size": inner_size, "offset": offset, "gates": gates,
        "panels": memory, "vectors": GROUP if gates == 1 else 1,
    }  # fmt: skip
    count = gates * -(-size // lanes_of(char))
    run((mode, "lay", char), table, LAY_FIELDS, count, max(count // 8, 1))


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
    first = [np.ascontiguousarray(part) for part in first]
    of_last = [np.ascontiguousarray(part) for part in of_last]
    gradient = _dense_rows(gradient)
    of_gates = np.empty((len(kept), gates.form.written * size), kept.dtype)
    totals = np.zeros((sizes[0], of_gates.shape[1]), kept.dtype)
    of_first = [np.empty_like(part) for part in first]
    steps, lanes, item = _steps(sizes, is_reverse, gradient), lanes_of(char), kept.itemsize
    across = rounded(size * item, lanes * item)
    pieces, per_piece = _pieces(sizes[0], lanes * item), 3 * most_rows() * across
    panels = rounded(weight.shape[0] * across)
    with scratch(panels + pieces * per_piece) as memory:
        _lay_panels(weight, lanes, memory)
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


def _pieces(batch: int, vector: int) -> int:
    """Into how many parts a batch is cut: as many for each thread, and few enough rows in each."""
    least, workers = -(-batch // most_rows()), threads.capacity()
    return min(batch, -(-least // workers) * workers)


def _dense_rows(array: Any) -> Any:
    """The array, or a copy if the elements of its rows do not lie side by side."""
    return array if array.strides[-1] == array.itemsize else np.ascontiguousarray(array)


def _steps(sizes: Sequence[int], is_reverse: bool, moving: Any) -> Any:
    """What `STEP` names, for each step in the order in which they are walked.

    `moving` is (T, N, size) or (sum of sizes, size): what is read at each time.
    """
    counts = np.array(sizes, np.int64)
    made = np.zeros((len(counts), len(STEP)), np.int64)
    made[:, 0] = counts
    made[:, 1] = np.cumsum(counts) - counts
    made[:, 4] = np.arange(len(counts)) if moving.ndim == 3 else made[:, 1]
    made[:, 4] *= moving.strides[0]
    if is_reverse:
        made = made[::-1].copy()
    made[1:, 2:4] = made[:-1, :2]
    return made


def _added(gates: Gates, biases: Sequence[Any] | None, size: int, padded: int, char: str) -> Any:
    """What is added to sums: for each block of hidden units a vector for each of them."""
    made, count = np.zeros((gates.biases, padded), char), gates.form.gates
    if biases is not None:
        of_input, of_state = (np.reshape(bias, (count, size)) for bias in biases)
        made[:count, :size] = of_state
        together = count - gates.is_apart
        made[:together, :size] += of_input[:together]
        made[count:, :size] = of_input[together:]
    return made.reshape(gates.biases, -1, lanes_of(char)).swapaxes(0, 1).copy()


def _lay_panels(weight: Any, lanes: int, memory: int) -> None:
    """Lay a right factor in panels of several vectors; what is left over in panels of one."""
    rows, size = weight.shape
    blocks = -(-size // lanes)
    padded = weight
    if size % lanes:
        padded = np.zeros((rows, blocks * lanes), weight.dtype)
        padded[:, :size] = weight
    room = (ctypes.c_char * (rows * blocks * lanes * weight.itemsize)).from_address(memory)
    made, grouped = np.frombuffer(room, weight.dtype), blocks // GROUP * GROUP
    for begin, end, together in ((0, grouped, GROUP), (grouped, blocks, 1)):
        part = made[begin * rows * lanes : end * rows * lanes].reshape(-1, rows, together * lanes)
        columns = padded[:, begin * lanes : end * lanes].reshape(rows, -1, together * lanes)
        part[...] = columns.swapaxes(0, 1)
