"""Arrays that do not depend on any input, on the device of one that is there."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.devices import CPU, backend_of, current_recorder, device_of
from lamina.devices.dispatched import DispatchedArray


def constant_like(like: Any, values: Any) -> Any:
    """A NumPy array as if a kernel had made it on the device of another array."""
    place = device_of(like)
    if isinstance(like, DispatchedArray) and (recorder := current_recorder()) is not None:
        return recorder.input(values)
    return values if place is CPU else backend_of(place).constant(values)


_ZEROS: Final = {kind: np.zeros((), kind) for kind in "fd"}


def zero_beside(array: Any) -> Any:
    """The number 0 as an operand beside an array: NumPy takes 0.3 us longer for Python's own."""
    return _ZEROS.get(array.dtype.char, 0) if array.__class__ is np.ndarray else 0
