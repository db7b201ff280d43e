"""Python numbers that are written into tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import this_place

_NAMES = {"float32": "float", "float64": "double", "float16": "at::Half", "bfloat16": "at::BFloat16"}


def number_as(value: Any, kind: np.dtype[Any]) -> Any:
    """A Python number as an element of a dtype; RuntimeError if it doesn't fit.

    Fractions are cut off for integers, and negative numbers wrap for unsigned ones, as in PyTorch.
    """
    if kind.kind == "f" and value.__class__ is float:
        return value
    if hasattr(value, "dtype"):
        value = value.item()
    if kind.kind == "c":
        return complex(value)
    if isinstance(value, complex):
        if value.imag:
            raise _does_not_fit(value, kind)
        value = value.real
    if kind.kind == "b":
        return bool(value)
    if kind.kind in "iu":
        if isinstance(value, float) and not math.isfinite(value):
            raise _does_not_fit(value, kind)
        value = int(value)
        info = np.iinfo(kind)
        low = info.min if kind.kind == "i" else -int(info.max)
        if not low <= value <= info.max:
            raise _does_not_fit(value, kind)
        return value if value >= info.min else value + int(info.max) + 1
    return float(value)


def _does_not_fit(value: Any, kind: np.dtype[Any]) -> errors.InvalidArgument:
    name = dtypes.from_numpy(kind).name
    word = _NAMES.get(name, f"{name}_t")
    return errors.InvalidArgument(
        f"value cannot be converted to type {word} without overflow: {value!r} does not fit",
        [(this_place(), "written here")],
    )
