"""Questions about dtypes: their limits, and what mixes of tensors give."""

from __future__ import annotations

import math
import numbers
from typing import Any, Final, final

import numpy as np

from lamina import dtypes, errors
from lamina.core.tensor import Tensor

__all__ = ["finfo", "iinfo", "result_type"]


_SMALL_FORMATS: Final = {
    "bfloat16": (2.0**-7, (2 - 2.0**-7) * 2.0**127, -(2 - 2.0**-7) * 2.0**127, 2.0**-126),
    "float8_e4m3fn": (2.0**-3, 448.0, -448.0, 2.0**-6),
    "float8_e4m3fnuz": (2.0**-3, 240.0, -240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, 57344.0, -57344.0, 2.0**-14),
    "float8_e5m2fnuz": (2.0**-3, 57344.0, -57344.0, 2.0**-15),
}
"""Machine epsilon, largest, least, and smallest normal number of formats that NumPy lacks. The
last epsilon is what PyTorch says, though the number after 1 is 1.25."""


@final
class finfo:
    """Limits of a floating-point dtype (of the parts, for a complex one).

    >>> finfo(dtypes.float16).max, finfo(dtypes.float64).eps
    (65504.0, 2.220446049250313e-16)
    """

    def __init__(self, type: dtypes.dtype | None = None) -> None:
        kind = dtypes.get_default_dtype() if type is None else type
        if not isinstance(kind, dtypes.dtype) or kind.category < dtypes.FLOATING:
            raise errors.InvalidDtype(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                f"'{kind!r}'"
            )
        real = kind.to_real()
        self.dtype = real.name
        self.bits = 8 * real.itemsize
        if real in dtypes.NUMPY_TYPES:
            limits = np.finfo(real.numpy)
            self.eps, self.max, self.min, self.tiny = map(
                float, (limits.eps, limits.max, limits.min, limits.smallest_normal)
            )
        else:
            self.eps, self.max, self.min, self.tiny = _SMALL_FORMATS[real.name]
        self.smallest_normal = self.tiny
        # Decimal digits that every number keeps: IEEE 754's 24 bits of float32 hold 6.
        self.resolution = 10.0 ** -math.floor(-math.log10(self.eps))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


@final
class iinfo:
    """Limits of an integer dtype.

    >>> iinfo(dtypes.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: dtypes.dtype) -> None:
        if not isinstance(type, dtypes.dtype) or type.category != dtypes.INTEGER:
            raise errors.InvalidDtype(
                "torch.iinfo() requires an integer input type. "
                f"Use torch.finfo to handle '{type!r}'"
            )
        limits = np.iinfo(type.numpy)
        self.dtype = type.name
        self.bits = 8 * type.itemsize
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype that arithmetic on two tensors or numbers gives.

    >>> import lamina
    >>> lamina.result_type(lamina.ones(2, dtype=lamina.int32), 1.0)
    torch.float32
    """
    groups: list[dtypes.dtype | None] = [None, None, None]
    for value in (tensor1, tensor2):
        if isinstance(value, Tensor):
            group, kind = (0 if value.ndim else 1), value.dtype
        elif isinstance(value, numbers.Number):
            group, kind = 2, dtypes.of_number(value)  # type: ignore[arg-type]
        else:
            raise errors.ArgumentTypeError(
                f"result_type(): arguments must be Tensors or Numbers, not {type(value).__name__}"
            )
        known = groups[group]
        groups[group] = kind if known is None else dtypes.promote_types(known, kind)
    return dtypes.promote_categories(*groups)
