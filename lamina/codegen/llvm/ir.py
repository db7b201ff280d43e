"""LLVM's language as text: blocks of instructions on vectors of lanes.

`Lanes` are values with as many elements as a block is wide. They have Python's operators, so that
the mathematics in `vector_math` reads like mathematics.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

_LONG: Final = f"i{8 * np.dtype('l').itemsize}"  # C's long has 32 bits on Windows
KIND_OF: Final[dict[str, str]] = {
    "f": "float", "d": "double", "?": "i1",
    "b": "i8", "B": "i8", "h": "i16", "H": "i16", "i": "i32", "I": "i32",
    "l": _LONG, "L": _LONG, "q": "i64", "Q": "i64",
}  # fmt: skip
"""LLVM's type for each of NumPy's characters; booleans are one bit in registers."""

TABLE: Final = "ptr noalias %table"
TASK: Final = "ptr noalias %table, i64 %begin, i64 %end, i64 %worker"
"""The parameters of a function of a table of addresses, and of a task (see `threads`)."""

IN_MEMORY: Final = {"i1": "i8"}
MANGLED: Final = {"float": "f32", "double": "f64"}


def literal(kind: str, number: Any) -> str:
    """A number as LLVM spells it."""
    if kind == "float":
        bits = struct.unpack("<Q", struct.pack("<d", float(np.float32(number))))[0]
        return f"0x{bits:016X}"
    if kind == "double":
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"
    if kind == "i1":
        return "true" if number else "false"
    return str(int(number))


@final
class Function:
    """One function of a module, written line by line.

    Args:
        name: What it is called.
        parameters: What it takes; unless given a table.
    """

    def __init__(self, name: str, parameters: str = TABLE) -> None:
        self.name = name
        self.parameters = parameters
        self.lines: list[str] = []
        self.slots: list[str] = []  # allocas, which belong into the first block
        self.declared: set[str] = set()
        self.constants: list[str] = []  # of the module, which it refers to
        self.is_internal = False  # called by functions of its module alone, and never inlined
        self._count = 0

    def fresh(self, hint: str = "t") -> str:
        """A name that nothing has."""
        self._count += 1
        return f"{hint}{self._count}"

    def line(self, text: str) -> None:
        """Append an instruction that gives nothing."""
        self.lines.append("  " + text)

    def give(self, text: str) -> str:
        """Append an instruction; returns the name of what it gives."""
        name = "%" + self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a block of instructions."""
        self.lines.append(f"{name}:")

    def slot(self, kind: str) -> str:
        """A variable on the stack, which LLVM turns into registers."""
        name = "%" + self.fresh("var")
        self.slots.append(f"  {name} = alloca {kind}")
        return name

    def declare(self, text: str) -> None:
        """Note a function that is called."""
        self.declared.add(f"declare {text}")

    def text(self) -> str:
        """The function as LLVM reads it."""
        head = f"void @{self.name}({self.parameters})"
        head = f"define internal {head} noinline #0" if self.is_internal else f"define {head} #0"
        constants = "".join(f"{constant}\n" for constant in self.constants)
        return f"{constants}{head} {{\nentry:\n{self.body()}\n  ret void\n}}\n"

    def body(self) -> str:
        """Its instructions."""
        return "\n".join([*self.slots, *self.lines])


def module(functions: Sequence[Function]) -> str:
    """Functions, and what they call, as one text."""
    declared = sorted({line for function in functions for line in function.declared})
    own = {f"@{function.name}(" for function in functions}
    declared = [line for line in declared if not any(name in line for name in own)]
    return "\n".join([*declared, *(function.text() for function in functions)])


@final
class Block:
    """A place where lanes of one width are worked on.

    Args:
        function: Where instructions are appended.
        width: The number of lanes; 0 for numbers in registers of their own.
    """

    def __init__(self, function: Function, width: int) -> None:
        self.function = function
        self.width = width

    def vector(self, kind: str) -> str:
        """The type of lanes of a kind."""
        return f"<{self.width} x {kind}>" if self.width else kind

    def constant(self, kind: str, number: Any) -> Lanes:
        """The same number in each lane."""
        one = literal(kind, number)
        if not self.width:
            return Lanes(self, kind, one)
        return Lanes(self, kind, f"<{', '.join([f'{kind} {one}'] * self.width)}>")

    def listed(self, kind: str, numbers: Sequence[Any]) -> Lanes:
        """A number for each lane."""
        parts = ", ".join(f"{kind} {literal(kind, number)}" for number in numbers)
        return Lanes(self, kind, f"<{parts}>")

    def give(self, kind: str, text: str) -> Lanes:
        """Lanes from an instruction."""
        return Lanes(self, kind, self.function.give(text))

    def splat(self, kind: str, scalar: str) -> Lanes:
        """A scalar in each lane."""
        kind_of_all = self.vector(kind)
        one = self.function.give(f"insertelement {kind_of_all} poison, {kind} {scalar}, i32 0")
        return self.give(
            kind,
            f"shufflevector {kind_of_all} {one}, {kind_of_all} poison, "
            f"<{self.width} x i32> zeroinitializer",
        )

    def call(self, name: str, kind: str, *args: Lanes, flags: str = "") -> Lanes:
        """One of LLVM's own functions on lanes of one kind, such as `sqrt`."""
        lanes = f"v{self.width}" if self.width else ""
        full = f"@llvm.{name}.{lanes}{MANGLED.get(kind, kind)}"
        types = ", ".join(self.vector(a.kind) for a in args)
        self.function.declare(f"{self.vector(kind)} {full}({types})")
        given = ", ".join(f"{self.vector(a.kind)} {a.name}" for a in args)
        return self.give(kind, f"call {flags}{self.vector(kind)} {full}({given})")


@final
class Lanes:
    """Values side by side."""

    __slots__ = ("block", "kind", "name")

    def __init__(self, block: Block, kind: str, name: str) -> None:
        self.block = block
        self.kind = kind
        self.name = name

    @property
    def is_float(self) -> bool:
        """Whether the lanes are floating-point numbers."""
        return self.kind in MANGLED

    def _lanes(self, other: Any) -> Lanes:
        return other if isinstance(other, Lanes) else self.block.constant(self.kind, other)

    def op(self, instruction: str, other: Any) -> Lanes:
        """An instruction of two operands."""
        other = self._lanes(other)
        text = f"{instruction} {self.block.vector(self.kind)} {self.name}, {other.name}"
        return self.block.give(self.kind, text)

    def _arithmetic(self, name: str, other: Any) -> Lanes:
        return self.op(("f" if self.is_float else "") + name, other)

    def __add__(self, other: Any) -> Lanes:
        return self._arithmetic("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Lanes:
        return self._arithmetic("sub", other)

    def __rsub__(self, other: Any) -> Lanes:
        return self._lanes(other) - self

    def __mul__(self, other: Any) -> Lanes:
        return self._arithmetic("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Lanes:
        return self.op("fdiv", other)

    def __rtruediv__(self, other: Any) -> Lanes:
        return self._lanes(other) / self

    def __floordiv__(self, other: Any) -> Lanes:
        """For whole numbers that are not negative."""
        return self.op("udiv", other)

    def __mod__(self, other: Any) -> Lanes:
        """For whole numbers that are not negative."""
        return self.op("urem", other)

    def __neg__(self) -> Lanes:
        if self.is_float:
            return self.block.give(self.kind, f"fneg {self.block.vector(self.kind)} {self.name}")
        return self._lanes(0) - self

    def __and__(self, other: Any) -> Lanes:
        return self.op("and", other)

    def __or__(self, other: Any) -> Lanes:
        return self.op("or", other)

    def __xor__(self, other: Any) -> Lanes:
        return self.op("xor", other)

    def __lshift__(self, count: Any) -> Lanes:
        return self.op("shl", count)

    def __rshift__(self, count: Any) -> Lanes:
        """Arithmetic: the sign is kept."""
        return self.op("ashr", count)

    def fma(self, factor: Any, addend: Any) -> Lanes:
        """`self * factor + addend`, rounded once."""
        return self.block.call("fma", self.kind, self, self._lanes(factor), self._lanes(addend))

    def times_plus(self, factor: Lanes, addend: Lanes) -> Lanes:
        """`self * factor + addend`, rounded once where the machine does that as fast."""
        return self.block.call("fmuladd", self.kind, self, factor, addend)

    def function(self, name: str) -> Lanes:
        """One of LLVM's functions of one operand."""
        return self.block.call(name, self.kind, self)

    def compare(self, how: str, other: Any) -> Lanes:
        """One bit a lane: `olt`, `ueq`, ... for floats; `slt`, `ult`, `eq`, ... for integers."""
        other = self._lanes(other)
        name = "fcmp" if self.is_float else "icmp"
        return self.block.give(
            "i1", f"{name} {how} {self.block.vector(self.kind)} {self.name}, {other.name}"
        )

    def where(self, x: Any, y: Any) -> Lanes:
        """These bits choose: `x` where set, else `y`. One of the two must be lanes."""
        x, y = (x, x._lanes(y)) if isinstance(x, Lanes) else (y._lanes(x), y)
        kind = self.block.vector(x.kind)
        bits = f"{self.block.vector('i1')} {self.name}"
        return self.block.give(x.kind, f"select {bits}, {kind} {x.name}, {kind} {y.name}")

    def convert(self, instruction: str, kind: str) -> Lanes:
        """Another kind of lanes: `bitcast`, `fpext`, `sitofp`, `trunc`, ..."""
        source = f"{self.block.vector(self.kind)} {self.name}"
        return self.block.give(kind, f"{instruction} {source} to {self.block.vector(kind)}")
