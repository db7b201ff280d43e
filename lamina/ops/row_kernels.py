"""Rows (slices along an axis) by their numbers: copied out of a table, and added into one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.codegen.kernels.rows import add_rows, can_add, can_copy, copy_rows
from lamina.devices.array_functions import array_function
from lamina.devices.function_rules import take_rule
from lamina.devices.layouts import fresh
from lamina.ops.indexing_rules import add_at, positions_of_rows


@array_function(take_rule)
def taken_rows(table: Any, index: Any, axis: int) -> Any:
    """As `np.take`: the rows of a table that an index names."""
    if can_copy(table, index, axis):
        return copy_rows(table, index, axis)
    return np.take(table, index, axis=axis)


@array_function(lambda table, *_: fresh(table.shape, table.dtype))
def with_rows_added(table: Any, index: Any, axis: int, listed: Any) -> Any:
    """A copy of a table to whose rows others are added; a row may be named many times.

    Args:
        table: The table.
        index: The numbers of its rows.
        axis: The axis along which rows are counted.
        listed: What is added, in the order of the index, flat or not.
    """
    return _added(np.copy(table, order="C"), index, axis, listed)


@array_function(lambda listed, index, axis, shape, kind: fresh(shape, kind))
def summed_rows(listed: Any, index: Any, axis: int, shape: tuple[int, ...], kind: Any) -> Any:
    """Zeros of a shape and dtype, to whose rows others are added; as `with_rows_added`."""
    if listed.__class__ is np.ndarray:
        return _added(np.zeros(shape, kind), index, axis, listed)
    return _added(np.zeros_like(listed, shape=shape, dtype=kind, order="C"), index, axis, listed)


def _added(made: Any, index: Any, axis: int, listed: Any) -> Any:
    shape = made.shape
    outer, width = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    listed = listed.reshape((outer, index.size, width))
    if listed.dtype == made.dtype and can_add(listed, index, axis, shape):
        add_rows(made, index, axis, listed)
    else:
        positions = positions_of_rows(shape, index, axis)
        add_at(made, positions, listed.reshape(positions.shape))
    return made
