"""What is named by index: rows (slices along an axis), or single elements along an axis.

They are copied out of a table, and added into one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina.codegen.fused import is_large
from lamina.codegen.later import Later
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.indexing_rules import add_at, is_outside, positions_along, positions_of_rows

if TYPE_CHECKING:
    from lamina.codegen.kernels import along, rows
    from lamina.devices import function_rules
else:
    along = Later("lamina.codegen.kernels.along")
    rows = Later("lamina.codegen.kernels.rows")
    function_rules = Later("lamina.devices.function_rules")


@array_function(lambda *args, **options: function_rules.take_rule(*args, **options))
def taken_rows(table: Any, index: Any, axis: int) -> Any:
    """As `np.take`: the rows of a table that an index names."""
    if is_large(table, index) and rows.can_copy(table, index, axis):
        return rows.copy_rows(table, index, axis)
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
    if is_large(listed) and listed.dtype == made.dtype and rows.can_add(listed, index, axis, shape):
        rows.add_rows(made, index, axis, listed)
    else:
        positions = positions_of_rows(shape, index, axis)
        add_at(made, positions, listed.reshape(positions.shape))
    return made


# --- one index for each element ------------------------------------------------------------------


@array_function(lambda table, index, axis: fresh(index.shape, table.dtype))
def taken_along(table: Any, index: Any, axis: int) -> Any:
    """For each index, the element that it names along an axis, its other places being the same.

    The index may be smaller than the table along the other axes. On the host, numbers that are
    negative or too large are an IndexError.
    """
    _refuse_outside(index, table.shape[axis])
    if is_large(table, index) and along.can_copy(table, index, axis):
        return along.copy_along(table, index, axis)
    if table.__class__ is np.ndarray and table.flags.c_contiguous:
        return np.take(table.reshape(-1), positions_along(table.shape, index, axis))
    reached = tuple(slice(None) if k == axis else slice(n) for k, n in enumerate(index.shape))
    return np.take_along_axis(table[reached], index, axis)


@array_function(lambda table, *_: fresh(table.shape, table.dtype))
def with_added_along(table: Any, index: Any, axis: int, listed: Any) -> Any:
    """A copy of a table to which elements are added where an index names them along an axis."""
    return _added_along(np.copy(table, order="C"), index, axis, listed)


@array_function(lambda listed, index, axis, shape, kind: fresh(shape, kind))
def summed_along(listed: Any, index: Any, axis: int, shape: tuple[int, ...], kind: Any) -> Any:
    """Zeros of a shape and dtype to which elements are added; as `with_added_along`."""
    if listed.__class__ is np.ndarray:
        return _added_along(np.zeros(shape, kind), index, axis, listed)
    made = np.zeros_like(listed, shape=shape, dtype=kind, order="C")
    return _added_along(made, index, axis, listed)


def _added_along(made: Any, index: Any, axis: int, listed: Any) -> Any:
    _refuse_outside(index, made.shape[axis])
    if (
        is_large(listed)
        and listed.dtype == made.dtype
        and along.can_add(listed, index, axis, made.shape)
    ):
        along.add_along(made, index, axis, listed)
    else:
        add_at(made, positions_along(made.shape, index, axis), listed)
    return made


def _refuse_outside(index: Any, size: int) -> None:
    """Neither machine code nor flat positions would notice a number that is out of range."""
    if is_outside(index, size):
        raise IndexError(f"index out of bounds for an axis of size {size}")
