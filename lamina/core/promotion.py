"""Promotion of raw arrays: to a common dtype before a kernel runs, and halves by way of float32."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lamina import dtypes

_SCALARS: Final = (np.generic, numbers.Number)  # named once: a union takes 0.1 us to make
FLOAT32: Final = np.dtype(np.float32)
FLOAT64: Final = np.dtype(np.float64)


def is_array(value: Any) -> bool:
    """Whether a value is an array of any device, and not a number."""
    return hasattr(value, "__array_ufunc__") and not isinstance(value, np.generic)


def as_array(value: Any) -> Any:
    """NumPy gives scalars for results without dimensions; a tensor holds an array."""
    return np.asarray(value) if isinstance(value, _SCALARS) else value


def is_half(kind: np.dtype[Any]) -> bool:
    """Whether a dtype is float16 or bfloat16 (whose kind is V); its name would take NumPy 2 us."""
    return kind.itemsize == 2 and kind.kind in "fV"


def promote(values: list[Any], positions: Sequence[int], to_float: bool) -> None:
    """Bring the inputs at some positions to their common dtype, in place in the list.

    With `to_float`, integers become the default floating dtype.
    """
    flat: list[Any] = []
    for position in positions:
        value = values[position]
        flat += value if isinstance(value, list) else [value]
    if _are_alike(flat):
        return
    common = _common_dtype(flat)
    if to_float and not common.is_differentiable:
        common = dtypes.get_default_dtype()
    kind = common.numpy
    for position in positions:
        value = values[position]
        if isinstance(value, list):
            values[position] = [_as(item, kind) for item in value]
        elif value is not None:
            values[position] = _as(value, kind)


def _are_alike(flat: list[Any]) -> bool:
    """Whether all are arrays of one usual float type, or Python numbers that fit beside it."""
    first = None
    for value in flat:
        if value.__class__ is float or value.__class__ is int or value is None:
            continue
        kind = getattr(value, "dtype", None)
        if kind is not FLOAT32 and kind is not FLOAT64:
            return False
        if first is not None and kind is not first:
            return False
        first = kind
    return first is not None


def _common_dtype(flat: list[Any]) -> dtypes.dtype:
    """The result type of a mix, by the three categories."""
    dimensioned = zero_dim = number = None
    for value in flat:
        if value is None:
            continue
        if is_array(value):
            kind = dtypes.from_numpy(value.dtype)
            if value.ndim:
                dimensioned = (
                    kind if dimensioned is None else dtypes.promote_types(dimensioned, kind)
                )
            else:
                zero_dim = kind if zero_dim is None else dtypes.promote_types(zero_dim, kind)
        else:
            kind = dtypes.of_number(value)
            number = kind if number is None else dtypes.promote_types(number, kind)
    return dtypes.promote_categories(dimensioned, zero_dim, number)


def _as(value: Any, kind: np.dtype[Any]) -> Any:
    if hasattr(value, "ndim"):
        return value if value.dtype == kind else value.astype(kind)
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(kind)


def widen_halves(values: list[Any], positions: Sequence[int]) -> np.dtype[Any] | None:
    """Make float16 and bfloat16 inputs float32: rounded once, and NumPy has kernels for it.

    Returns the half type that was found, if any.
    """
    half = None
    for position in positions:
        value = values[position]
        if isinstance(value, list):
            for index, item in enumerate(value):
                if is_half(item.dtype):
                    half, value[index] = item.dtype, item.astype(np.float32)
        elif is_array(value) and is_half(value.dtype):
            half = value.dtype
            values[position] = value.astype(np.float32)
    return half


def narrow(result: Any, half: np.dtype[Any]) -> Any:
    """Round float32 results of half inputs back."""
    if isinstance(result, tuple | list):
        return type(result)(narrow(part, half) for part in result)
    if result is not None and result.dtype == np.float32:
        with np.errstate(over="ignore"):
            return result.astype(half)
    return result
