"""Python numbers that are written into tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core import blame
from lamina.core.blame.words import this_place
from lamina.core.modes import state
from lamina.core.tensor import Tensor
from lamina.ops.indexing_rules import refused

_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "at::Half",
    "bfloat16": "at::BFloat16",
}


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
    if isinstance(value, complex) and kind.kind != "b":
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


def check_target(name: str, target: Tensor, value: Any) -> None:
    """Raise if a tensor may not be written to now, before anything is said about the value."""
    wants = target.requires_grad or (isinstance(value, Tensor) and value.requires_grad)
    blame.check_inplace(name, target, wants and state.grad_enabled)


def fill_choice(name: str, value: Any, with_number: Any, with_tensor: Any) -> Any:
    """The form of a fill operation that a value asks for."""
    if not isinstance(value, Tensor):
        return with_number
    if value._array.ndim:
        raise refused(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    return with_tensor
