"""Reading pickles without running code: a machine for the opcodes that checkpoints are made of.

A pickle is a program for a machine with a stack. Python's own machine imports what the program
names and calls what it is told to. This one knows fewer instructions, gets names from a list
(`names.py`), and is bounded by the file's size in memory and time.

Source: the Python library's `pickletools`, which documents every opcode.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, final

from lamina.errors import LaminaError
from lamina.io.calls import check_key
from lamina.io.names import Names
from lamina.io.rebuilding import Limits

# Python's own limit is on digits of text; here a number has at most so many bytes.
_LONGEST_NUMBER: Final = 1024

_BROKEN: Final = (
    IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, struct.error,
    RecursionError, MemoryError,
)  # fmt: skip


@final
class _Mark:
    """Where on the stack a group of values begins."""


_MARK: Final = _Mark()
_STOP: Final = ord(".")
_Work = Callable[["Machine"], object]


@final
class Machine:
    """Runs one pickle after the other, out of one piece of bytes.

    Args:
        data: the bytes.
        limits: what the file may cost.
        names: what it may name.
        load_storage: gives the storage that a persistent id describes.
        encoding: how Python 2's texts are read.

    `position` is where the next pickle begins.
    """

    def __init__(
        self, data: Any, limits: Limits, names: Names, load_storage: Callable[[Any], Any],
        encoding: str = "utf-8",
    ) -> None:  # fmt: skip
        self.position = 0
        self._data = data
        self._length = len(data)
        self._limits = limits
        self._names = names
        self._load_storage = load_storage
        self._encoding = encoding
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The value of the pickle that begins at `position`.

        Raises:
            FileFormatError: If it is no pickle, or one that no checkpoint would be.
            UnsafeFile: If it names something that is not allowed.
        """
        self._stack, self._memo = [], {}
        try:
            while True:
                code = self._data[self.position]
                self.position += 1
                if code == _STOP:
                    return self._pop()
                work = _WORK.get(code)
                if work is None:
                    raise self._limits.broken(f"its pickle has the opcode {bytes([code])!r}")
                work(self)
        except LaminaError:
            raise
        except _BROKEN as error:
            what = f"its pickle breaks at byte {self.position} ({type(error).__name__}: {error})"
            raise self._limits.broken(what) from error

    # --- reading -------------------------------------------------------------------------------

    def _take(self, count: int) -> bytes:
        start, end = self.position, self.position + count
        if not 0 <= count <= self._length - start:
            raise self._limits.broken("its pickle ends too early")
        self.position = end
        return bytes(self._data[start:end])

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _line(self) -> str:
        """The text up to the end of the line: names are short."""
        window = bytes(self._data[self.position : self.position + 1024])
        end = window.find(b"\n")
        if end < 0:
            raise self._limits.broken("its pickle has a name without an end")
        self.position += end + 1
        return window[:end].decode()

    def _text(self, size: int) -> str:
        return self._take(size).decode("utf-8", "surrogatepass")

    def _old_text(self, size: int) -> Any:
        content = self._take(size)
        return content if self._encoding == "bytes" else content.decode(self._encoding)

    def _long(self, size: int) -> int:
        if size > _LONGEST_NUMBER:
            raise self._limits.broken(f"its pickle has a number of {size} bytes")
        return int.from_bytes(self._take(size), "little", signed=True)

    # --- the stack -----------------------------------------------------------------------------

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise self._limits.broken("its pickle takes a mark for a value")
        return value

    def _pop_group(self) -> list[Any]:
        """The values since the last mark."""
        stack = self._stack
        start = len(stack) - 1
        while stack[start] is not _MARK:
            start -= 1
            if start < 0:
                raise self._limits.broken("its pickle has no mark where one is needed")
        group = stack[start + 1 :]
        del stack[start:]
        return group

    def _top(self, kind: type) -> Any:
        """The container on top of the stack, which elements are put into."""
        container = self._stack[-1]
        if not self._names.may_fill(container, kind):
            found = type(container).__name__
            raise self._limits.broken(f"its pickle fills a {found} as if it were a {kind.__name__}")
        return container

    def _tuple(self, count: int) -> None:
        values = [self._pop() for _ in range(count)]
        self._push(tuple(reversed(values)))

    def _append(self, values: list[Any]) -> None:
        self._top(list).extend(values)

    def _set_items(self, values: list[Any]) -> None:
        target = self._top(dict)
        if len(values) % 2:
            raise self._limits.broken("its pickle has a key without a value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if type(key) is not str:
                check_key(self._limits, key)
            target[key] = value

    def _add(self, values: list[Any]) -> None:
        target = self._top(set)
        for value in values:
            check_key(self._limits, value)
            target.add(value)

    def _frozen_set(self) -> None:
        values = self._pop_group()
        for value in values:
            check_key(self._limits, value)
        self._push(frozenset(values))

    def _new_dict(self) -> None:
        values = self._pop_group()
        self._push({})
        self._set_items(values)

    def _remember(self, key: int) -> None:
        self._memo[key] = self._stack[-1]

    # --- names, calls, storages ----------------------------------------------------------------

    def _global(self) -> None:
        module = self._line()
        self._push(self._names.find(module, self._line()))

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise self._limits.broken("its pickle has a name that is no text")
        self._push(self._names.find(module, name))

    def _reduce(self) -> None:
        args, function = self._pop(), self._pop()
        self._push(self._names.call(function, args))

    def _new_object(self, has_keywords: bool) -> None:
        keywords = self._pop() if has_keywords else {}
        args, kind = self._pop(), self._pop()
        self._push(self._names.make(kind, args, keywords))

    def _build(self) -> None:
        state = self._pop()
        self._names.set_state(self._stack[-1], state)

    def _persistent(self) -> None:
        self._push(self._load_storage(self._pop()))


def _text_of(size: int) -> _Work:
    """Push a text; its length is a number of so many bytes."""
    return lambda m: m._push(m._text(m._number(size)))


def _old_text_of(size: int) -> _Work:
    return lambda m: m._push(m._old_text(m._number(size)))


def _bytes_of(size: int) -> _Work:
    return lambda m: m._push(m._take(m._number(size)))


_WORK: Final[dict[int, _Work]] = {
    0x80: lambda m: None if m._number(1) <= 5 else m._take(-1),  # PROTO
    0x95: lambda m: None if m._number(8) <= m._length else m._take(-1),  # FRAME
    ord("("): lambda m: m._push(_MARK),
    ord("0"): lambda m: m._stack.pop(),
    ord("1"): lambda m: m._pop_group(),
    ord("2"): lambda m: m._push(m._stack[-1]),
    ord("N"): lambda m: m._push(None),
    0x88: lambda m: m._push(True),
    0x89: lambda m: m._push(False),
    ord("J"): lambda m: m._push(m._long(4)),
    ord("K"): lambda m: m._push(m._number(1)),
    ord("M"): lambda m: m._push(m._number(2)),
    0x8A: lambda m: m._push(m._long(m._number(1))),
    0x8B: lambda m: m._push(m._long(m._number(4))),
    ord("G"): lambda m: m._push(struct.unpack(">d", m._take(8))[0]),
    0x8C: _text_of(1),
    ord("X"): _text_of(4),
    0x8D: _text_of(8),
    ord("U"): _old_text_of(1),
    ord("T"): _old_text_of(4),
    ord("C"): _bytes_of(1),
    ord("B"): _bytes_of(4),
    0x8E: _bytes_of(8),
    0x96: lambda m: m._push(bytearray(m._take(m._number(8)))),
    ord(")"): lambda m: m._push(()),
    ord("t"): lambda m: m._push(tuple(m._pop_group())),
    0x85: lambda m: m._tuple(1),
    0x86: lambda m: m._tuple(2),
    0x87: lambda m: m._tuple(3),
    ord("]"): lambda m: m._push([]),
    ord("l"): lambda m: m._push(m._pop_group()),
    ord("a"): lambda m: m._append([m._pop()]),
    ord("e"): lambda m: m._append(m._pop_group()),
    ord("}"): lambda m: m._push({}),
    ord("d"): lambda m: m._new_dict(),
    ord("s"): lambda m: m._set_items([m._pop(), m._pop()][::-1]),
    ord("u"): lambda m: m._set_items(m._pop_group()),
    0x8F: lambda m: m._push(set()),
    0x90: lambda m: m._add(m._pop_group()),
    0x91: lambda m: m._frozen_set(),
    ord("h"): lambda m: m._push(m._memo[m._number(1)]),
    ord("j"): lambda m: m._push(m._memo[m._number(4)]),
    ord("q"): lambda m: m._remember(m._number(1)),
    ord("r"): lambda m: m._remember(m._number(4)),
    0x94: lambda m: m._remember(len(m._memo)),
    ord("c"): lambda m: m._global(),
    0x93: lambda m: m._stack_global(),
    ord("R"): lambda m: m._reduce(),
    0x81: lambda m: m._new_object(False),
    0x92: lambda m: m._new_object(True),
    ord("b"): lambda m: m._build(),
    ord("Q"): lambda m: m._persistent(),
}
