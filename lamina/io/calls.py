"""The calls that a pickle may ask for, done by hand and within bounds.

The classes' own constructors would make a `bytearray` of a terabyte, or hash a key for a year, when
asked to.
"""

from __future__ import annotations

import datetime
import enum
import pathlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from lamina import dtypes
from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.devices import device
from lamina.io import numpy_values
from lamina.io.rebuilding import Limits, Rebuilder, brief, is_one_of, whole_numbers

Call = Callable[[Limits, tuple[Any, ...]], Any]


def _ordered_dict(limits: Limits, args: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    made: OrderedDict[Any, Any] = OrderedDict()
    pairs = args[0] if args else ()
    limits.spend_elements(len(pairs))
    for key, value in pairs:
        check_key(limits, key)
        made[key] = value
    return made


def _counter(limits: Limits, args: tuple[Any, ...]) -> Counter[Any]:
    counts = args[0] if args else {}
    if type(counts) is not dict:
        raise limits.broken("a Counter is made of something else than a dict")
    limits.spend_elements(len(counts))
    return Counter(counts)


def _members(limits: Limits, args: tuple[Any, ...]) -> list[Any]:
    members = args[0] if args else []
    if type(members) is not list:
        raise limits.broken("a set is made of something else than a list")
    limits.spend_elements(len(members))
    for member in members:
        check_key(limits, member)
    return members


def _encoded(limits: Limits, args: tuple[Any, ...]) -> bytes:
    text, encoding = args
    if type(text) is not str or not is_one_of(encoding, "latin1", "latin-1"):
        raise limits.broken("bytes are written in an unknown way")
    limits.spend(len(text))
    return text.encode("latin1")


def _bytearray(limits: Limits, args: tuple[Any, ...]) -> bytearray:
    content = args[0] if args else b""
    if type(content) is str:  # as Python 2 wrote it
        content = _encoded(limits, args)
    if type(content) is not bytes:
        raise limits.broken("a bytearray is made of something else than bytes")
    limits.spend(len(content))
    return bytearray(content)


def _complex(limits: Limits, args: tuple[Any, ...]) -> complex:
    real, imaginary = args
    if not all(isinstance(part, int | float) for part in args):
        raise limits.broken("a complex number has parts that are no numbers")
    return complex(real, imaginary)


def _deque(limits: Limits, args: tuple[Any, ...]) -> deque[Any]:
    members = args[0] if args else []
    limits.spend_elements(len(members))
    return deque(members, *args[1:2])


def _defaultdict(limits: Limits, args: tuple[Any, ...]) -> defaultdict[Any, Any]:
    factory = args[0] if args else None
    if factory is not None and not any(factory is known for known in _FACTORIES):
        raise limits.broken(f"a defaultdict makes values by {brief(factory)}")
    return defaultdict(factory)


_PLAIN_PARTS: Final = (
    int, float, str, bytes, type(None), datetime.tzinfo, datetime.timedelta,
)  # fmt: skip


def _of_plain(kind: Any) -> Call:
    """A class that is called with a few numbers, texts and bytes."""

    def make(limits: Limits, args: tuple[Any, ...]) -> Any:
        for value in args:
            if not isinstance(value, _PLAIN_PARTS):
                raise limits.broken(f"a {kind.__name__} is made of {brief(value)}")
            limits.spend(len(value) if isinstance(value, str | bytes) else 1)
        return kind(*args)

    return make


def _device(limits: Limits, args: tuple[Any, ...]) -> device:
    if not all(isinstance(part, str | int) for part in args):
        raise limits.broken("a device has no name")
    return device(*args)


def _size(limits: Limits, args: tuple[Any, ...]) -> Size:
    return Size(whole_numbers(limits, args[0] if args else (), "sizes"))


@final
class Encode:
    """Stands for `codecs.encode`, by which old pickles write bytes."""


_FACTORIES: Final = (int, float, str, list, dict, set, tuple, bool, OrderedDict, Counter)
PLAIN_CLASSES: Final = (
    datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone,
    pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()),
)  # fmt: skip

CALLS: Final[dict[Any, Call]] = {
    OrderedDict: _ordered_dict,
    Counter: _counter,
    set: lambda limits, args: set(_members(limits, args)),
    frozenset: lambda limits, args: frozenset(_members(limits, args)),
    bytearray: _bytearray,
    complex: _complex,
    device: _device,
    Size: _size,
    deque: _deque,
    defaultdict: _defaultdict,
    Encode: _encoded,
    np.dtype: numpy_values.plain_dtype,
    **{kind: _of_plain(kind) for kind in PLAIN_CLASSES},
}
"""By the class that is called."""

# --- keys of dicts, members of sets ---------------------------------------------------------------

# Dicts with colliding keys, and keys whose hash visits a structure again and again, would take for
# ever; no checkpoint has such keys.
_LARGEST_KEY: Final = 2**64
_MOST_KEY_PARTS: Final = 256
_SIMPLE: Final = frozenset({str, bytes, bool, float, type(None)})


def check_key(limits: Limits, key: Any) -> None:
    """Refuse a key of a dict or member of a set whose hash could take long, or run code."""
    kind = type(key)
    if kind in _SIMPLE or (kind is int and -_LARGEST_KEY < key < _LARGEST_KEY):
        return
    waiting, seen = [key], 0
    while waiting:
        part = waiting.pop()
        seen += 1
        if isinstance(part, str | bytes | float | None | dtypes.dtype | device | Size | type):
            continue
        if isinstance(part, int) and -_LARGEST_KEY < part < _LARGEST_KEY:
            continue
        if isinstance(part, complex | np.generic | datetime.date | pathlib.PurePath | enum.Enum):
            continue
        if isinstance(part, Tensor | Rebuilder):
            continue
        if not isinstance(part, tuple | frozenset) or seen + len(part) > _MOST_KEY_PARTS:
            hashed_by: Any = type(part).__hash__
            if hashed_by is object.__hash__:
                continue
            raise limits.broken(f"a key of a dict is {brief(part)}")
        waiting += part
