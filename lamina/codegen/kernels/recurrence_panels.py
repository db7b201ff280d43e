"""What walks of recurrent layers need beside their tasks: panels of weights, tables of steps."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.codegen.kernels.task_library import lanes_of, run
from lamina.codegen.kernels.tasks.recurrence import LAY_FIELDS, STEP
from lamina.codegen.kernels.tasks.recurrence_backward import LAY_BACK_FIELDS
from lamina.codegen.kernels.tasks.recurrence_tiles import GROUP
from lamina.codegen.stores import address_of


def lay(chapter: str, gates: int, weights: Sequence[Any], size: int, memory: int) -> None:
    """Bring the weights into panels, as tiles of the way forward read them."""
    of_input, of_state = (dense_rows(weight) for weight in weights)
    char = of_state.dtype.char
    table = {
        "of_input": address_of(of_input), "of_input_row": of_input.strides[0],
        "input_size": of_input.shape[-1], "of_state": address_of(of_state),
        "of_state_row": of_state.strides[0], "state_size": of_state.shape[-1], "size": size,
        "gates": gates, "panels": memory, "vectors": GROUP if gates == 1 else 1,
    }  # fmt: skip
    count = 2 * gates * -(-size // lanes_of(char))
    run((chapter, "lay", char), table, LAY_FIELDS, count, max(count // 8, 1))


def dense_rows(array: Any) -> Any:
    """The array, or a copy if the elements of its rows do not lie side by side."""
    return array if array.strides[-1] == array.itemsize else np.ascontiguousarray(array)


def steps_of(sizes: Sequence[int], is_reverse: bool, moving: Any) -> Any:
    """What `STEP` names, for each step in the order in which they are walked.

    `moving` is (T, N, size) or (sum of sizes, size): what is read at each time.
    """
    return _known_steps(tuple(sizes), is_reverse, moving.strides[0], moving.ndim == 3)


@functools.lru_cache(64)
def _known_steps(sizes: tuple[int, ...], is_reverse: bool, stride: int, is_by_time: bool) -> Any:
    counts = np.array(sizes, np.int64)
    made = np.zeros((len(counts), len(STEP)), np.int64)
    made[:, 0] = counts
    made[:, 1] = np.cumsum(counts) - counts
    made[:, 4] = np.arange(len(counts)) if is_by_time else made[:, 1]
    made[:, 4] *= stride
    if is_reverse:
        made = made[::-1].copy()
    made[1:, 2:4] = made[:-1, :2]
    return made


def lay_back(chapter: str, weight: Any, memory: int) -> None:
    """Bring the state's weight into panels, as tiles of the way back read them."""
    weight, char = dense_rows(weight), weight.dtype.char
    rows, size = weight.shape
    table = {
        "weight": address_of(weight), "weight_row": weight.strides[0], "rows": rows, "size": size,
        "panels": memory,
    }  # fmt: skip
    run((chapter, "lay_back", char), table, LAY_BACK_FIELDS, -(-size // lanes_of(char)))
