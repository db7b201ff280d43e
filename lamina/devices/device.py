"""Device objects: where a tensor's elements live."""

from __future__ import annotations

import re
import threading
from types import TracebackType
from typing import Any, Final, Self, final

from lamina import errors

TYPES: Final = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga",
    "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
"""Every device type that PyTorch can name; Lamina has `cpu`, `cuda` and `meta`."""

_ErrorType = type[BaseException]  # inside the class, `type` is the property
_DEVICE_STRING: Final = re.compile(r"([a-z_]+)(?::(0|[1-9][0-9]*))?")


@final
class device:
    """A device type and, where there may be several of that type, an index.

    Equal devices are one object, so they may be compared with `is`. As a context manager, tensors
    made inside the block without a device of their own are made on this one.

    Args:
        type: A string such as "cuda" or "cuda:1", a device, or a number (a CUDA device's index).
        index: The index, when the string has none.

    Raises:
        InvalidDevice: (RuntimeError) For a string that names no device.
        ArgumentTypeError: (TypeError) For an argument of another type.

    >>> device("cuda:1"), device("cuda", 1) is device("cuda:1"), str(device("cpu"))
    (device(type='cuda', index=1), True, 'cpu')
    """

    __slots__ = ("_hash", "_index", "_type")

    _type: str
    _index: int | None
    _hash: int

    def __new__(
        cls, type: str | device | int | None = None, index: int | None = None, **keywords: Any
    ) -> device:
        if "device" in keywords and type is None:
            type = keywords.pop("device")
        if keywords:
            raise _invalid_arguments(*keywords)
        if isinstance(type, device) and index is None:
            return type
        return _interned(*_parse(type, index))

    @property
    def type(self) -> str:
        """The kind of device: "cpu", "cuda" or "meta"."""
        return self._type

    @property
    def index(self) -> int | None:
        """Which of the devices of this type; None stands for the current one."""
        return self._index

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        if self._index is None:
            return f"device(type='{self._type}')"
        return f"device(type='{self._type}', index={self._index})"

    def __str__(self) -> str:
        return self._type if self._index is None else f"{self._type}:{self._index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self._type, self._index))

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> device:
        return self

    def __enter__(self) -> Self:
        push_default(self)
        return self

    def __exit__(
        self,
        kind: _ErrorType | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pop_default()


_KNOWN: Final[dict[tuple[str, int | None], device]] = {}


def _interned(type_: str, index: int | None) -> device:
    found = _KNOWN.get((type_, index))
    if found is None:
        made = object.__new__(device)
        made._type, made._index, made._hash = type_, index, hash((type_, index))
        found = _KNOWN.setdefault((type_, index), made)
    return found


def _parse(type_: Any, index: Any) -> tuple[str, int | None]:
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise errors.ArgumentTypeError(
            f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}",
            help=["write for example torch.device('cuda', 0)"],
        )
    if isinstance(type_, int) and not isinstance(type_, bool) and index is None:
        type_, index = "cuda", type_
    if not isinstance(type_, str):
        raise _invalid_arguments(type_)
    if index is not None and index < 0:
        raise errors.InvalidDevice("Device index must not be negative", help=["indices start at 0"])
    name, own_index = _parse_string(type_)
    if own_index is not None and index is not None:
        raise errors.InvalidDevice(
            f"type (string) must not include an index because index was passed explicitly: {type_}",
            help=[f"write torch.device('{name}', {index}) or torch.device('{name}:{index}')"],
        )
    return name, index if own_index is None else own_index


def _parse_string(text: str) -> tuple[str, int | None]:
    if not text:
        raise errors.InvalidDevice(
            "Device string must not be empty", help=["use 'cpu', 'cuda' or 'meta'"]
        )
    match = _DEVICE_STRING.fullmatch(text)
    name = match.group(1) if match else text.partition(":")[0]
    if name and name not in TYPES:
        close = name.strip().lower()
        hints = {"gpu": "cuda", "nvidia": "cuda", "host": "cpu"}
        meant = close if close in TYPES else hints.get(close)
        raise errors.InvalidDevice(
            f"Expected one of {', '.join(TYPES)} device type at start of device string: {text}",
            help=[f"write '{meant}'" if meant else "Lamina has 'cpu', 'cuda' and 'meta'"],
        )
    if match is None:
        raise errors.InvalidDevice(
            f"Invalid device string: '{text}'",
            help=["write a type, or a type and an index: 'cuda' or 'cuda:1'"],
        )
    return name, None if match.group(2) is None else int(match.group(2))


def _invalid_arguments(*found: Any) -> errors.ArgumentTypeError:
    names = ", ".join(type(value).__name__ for value in found if value is not None) or "nothing"
    return errors.ArgumentTypeError(
        f"device() received an invalid combination of arguments - got ({names}), but expected a "
        "device, a string, or a string and an int index",
        help=["write for example torch.device('cpu') or torch.device('cuda', 0)"],
    )


CPU: Final = device("cpu")
META: Final = device("meta")


# --- the device of new tensors -----------------------------------------------------------------


@final
class _Default(threading.local):
    """The devices that `with device(...)` has entered in this thread; the last one counts.

    `set_default_device` sets the first, which no block ends.
    """

    def __init__(self) -> None:
        self.first = CPU
        self.entered: list[device] = []
        self.current = CPU


_default: Final = _Default()


def current_default() -> device:
    """The device on which this thread makes tensors when none is asked for."""
    return _default.current


def set_default(chosen: device | None) -> None:
    """Choose the device that holds outside every `with device(...)` block; None means the CPU."""
    _default.first = CPU if chosen is None else chosen
    _default.current = _default.entered[-1] if _default.entered else _default.first


def push_default(chosen: device) -> None:
    """Make new tensors on `chosen` until the matching `pop_default`."""
    _default.entered.append(chosen)
    _default.current = chosen


def pop_default() -> None:
    """Undo the last `push_default`."""
    _default.entered.pop()
    _default.current = _default.entered[-1] if _default.entered else _default.first
