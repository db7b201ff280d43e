"""`torch.types`: the names that signatures use."""

from __future__ import annotations

from typing import Any, TypeAlias

from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.devices import device
from lamina.dtypes import dtype

__all__ = ["Device", "FileLike", "Number", "_TensorOrTensors", "_bool", "_device", "_dtype"]
__all__ += ["_float", "_int", "_size"]

_int, _float, _bool = int, float, bool
_dtype, _device = dtype, device
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...]
Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = Any
