"""Running sums and products along an axis, from the start or from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina.codegen.fused import is_large
from lamina.codegen.later import Later
from lamina.devices.array_functions import array_function
from lamina.devices.layouts import fresh
from lamina.ops.axes import rows_first

if TYPE_CHECKING:
    from lamina.codegen.kernels import scans
else:
    scans = Later("lamina.codegen.kernels.scans")

_UFUNCS: Final[dict[str, Any]] = {"add": np.add, "multiply": np.multiply}


@array_function(lambda operation, line, axis, wide, result, *_: fresh(line.shape, result))
def running(
    operation: str, line: Any, axis: int, wide: Any, result: Any, from_end: bool = False
) -> Any:
    """Running sums (`add`) or products (`multiply`) along an axis.

    Args:
        operation: Which.
        line: The numbers.
        axis: The axis, counted from the front.
        wide: The dtype in which is added up.
        result: The dtype of the result.
        from_end: Whether the last number comes first.
    """
    if is_large(line) and scans.can_scan(line, wide):
        return scans.scan(operation, line, axis, wide, result, from_end)
    if line.dtype.kind == "c" and operation == "add" and line.flags.c_contiguous and line.size:
        return _of_complex(line, axis, wide, result, from_end)
    turned = np.flip(line, axis) if from_end else line
    found = _UFUNCS[operation].accumulate(turned, axis=axis, dtype=wide)
    if operation == "add" and found.dtype.kind == "f":
        found += 0  # a sum starts from zero, also that of negative zeros
    if from_end:
        found = rows_first(np.flip(found, axis))
    if found.dtype == result:
        return found
    with np.errstate(over="ignore"):
        return found.astype(result)


def _of_complex(line: Any, axis: int, wide: Any, result: Any, from_end: bool) -> Any:
    """Sums of real and of imaginary parts, which lie side by side."""
    parts = line.view(line.real.dtype).reshape((*line.shape, 2))
    halves = [np.empty(0, kind).real.dtype for kind in (wide, result)]
    found = running("add", parts, axis, *halves, from_end)
    return found.reshape((*line.shape[:-1], -1)).view(result)


@array_function(lambda line, *_: (fresh(line.shape, line.dtype), fresh(line.shape, np.int64)))
def running_extremes(line: Any, axis: int, is_maximum: bool) -> tuple[Any, Any]:
    """The largest (or smallest) numbers so far along an axis, and the last of their places."""
    if is_large(line) and scans.can_scan_extremes(line, axis):
        return scans.scan_extremes(line, axis, is_maximum)
    values = rows_first((np.maximum if is_maximum else np.minimum).accumulate(line, axis=axis))
    attains = np.equal(line, values) | np.not_equal(line, line)
    shape = [1] * line.ndim
    shape[axis] = line.shape[axis]
    place = np.where(attains, np.arange(line.shape[axis]).reshape(shape), 0)
    return values, rows_first(np.maximum.accumulate(place, axis=axis))
