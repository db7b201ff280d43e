"""NumPy's scalars, arrays and dtypes as pickles describe them, made again without NumPy's own code
for it, which would also unpickle objects.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np

from lamina.io.rebuilding import Limits, Rebuilder, brief, is_one_of, whole_numbers

_PLAIN_TYPE: Final = re.compile(r"[?bBiufcSU][0-9]{0,9}")


def plain_dtype(limits: Limits, args: tuple[Any, ...]) -> np.dtype[Any]:
    """The dtype of plain numbers or text that a code such as "f4" names."""
    code = args[0]
    if not isinstance(code, str) or not _PLAIN_TYPE.fullmatch(code):
        raise limits.broken(f"it has a NumPy array of the type {brief(code)}")
    # A copy of its own, which the state that follows is written into.
    return np.dtype(code, False, True)


def set_dtype(limits: Limits, kind: np.dtype[Any], state: Any) -> None:
    """Give a dtype the byte order that its state names."""
    if not isinstance(state, tuple) or len(state) < 8 or not is_one_of(state[0], 3, 4):
        raise limits.broken("a NumPy type has a state of another kind")
    _, order, base, names, fields, size, alignment, _ = state[:8]
    fits = is_one_of(size, -1, kind.itemsize) and is_one_of(alignment, -1, kind.alignment)
    is_plain = base is None and names is None and fields is None
    if not is_one_of(order, "<", ">", "|", "=") or not fits or not is_plain:
        raise limits.broken("a NumPy type is not one of plain numbers or text")
    setter: Any = kind  # the type stubs do not know of it
    setter.__setstate__((3, order, None, None, None, size, alignment, kind.flags))


def _scalar(limits: Limits, args: tuple[Any, ...]) -> Any:
    kind, content = args
    _check_type(limits, kind)
    if not isinstance(content, bytes) or len(content) != kind.itemsize or not content:
        raise limits.broken("a NumPy number has the wrong number of bytes")
    limits.spend(len(content))
    return np.frombuffer(content, kind)[0]


def _unbuilt_array(limits: Limits, args: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    if args[0] is not np.ndarray:
        raise limits.broken(f"a NumPy array is of the class {brief(args[0])}")
    return np.empty(0, np.int8)


def set_array(limits: Limits, array: np.ndarray[Any, Any], state: Any) -> None:
    """Give an array that was made without content its shape, type and elements."""
    if array.size or array.dtype != np.int8 or not isinstance(state, tuple) or len(state) != 5:
        raise limits.broken("a NumPy array has a state of another kind")
    _, shape, kind, is_fortran, content = state
    _check_content(limits, shape, kind, content)
    limits.spend(len(content))
    setter: Any = array
    setter.__setstate__((1, tuple(shape), kind, is_fortran is True, bytes(content)))


def _array_from_buffer(limits: Limits, args: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    content, kind, shape, order = args
    _check_content(limits, shape, kind, content)
    limits.spend(len(content))
    flat = np.frombuffer(bytearray(content), kind)
    return flat.reshape(tuple(shape), order="F" if is_one_of(order, "F") else "C")


def _check_content(limits: Limits, shape: Any, kind: Any, content: Any) -> None:
    _check_type(limits, kind)
    shape = whole_numbers(limits, shape, "sizes")
    is_bytes = isinstance(content, bytes | bytearray)
    if not is_bytes or math.prod(shape) * kind.itemsize != len(content):
        raise limits.broken("a NumPy array has the wrong number of bytes")


def _check_type(limits: Limits, kind: Any) -> None:
    if not isinstance(kind, np.dtype) or kind.hasobject or kind.names is not None:
        raise limits.broken("a NumPy array does not hold plain numbers or text")


_SCALAR: Final = Rebuilder("scalar", _scalar)
_ARRAY: Final = Rebuilder("_reconstruct", _unbuilt_array)
_FROM_BUFFER: Final = Rebuilder("_frombuffer", _array_from_buffer)

GLOBALS: Final[dict[str, Any]] = {"numpy.dtype": np.dtype, "numpy.ndarray": np.ndarray}
"""What pickles name of NumPy."""

for _core in ("numpy.core", "numpy._core"):
    GLOBALS[f"{_core}.multiarray.scalar"] = _SCALAR
    GLOBALS[f"{_core}.multiarray._reconstruct"] = _ARRAY
    GLOBALS[f"{_core}.numeric._frombuffer"] = _FROM_BUFFER
