"""Functions on sizes and addresses that are known only when they run.

The loops of `loops` are written for fixed shapes. What is written here is compiled once for all
shapes: `Whole` numbers (64 bits) and `Address`es have Python's operators, loops and branches are
`with` blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from lamina.codegen.llvm.ir import MANGLED, TASK, Block, Function, Lanes

BYTES: Final = {"float": 4, "double": 8, "i64": 8, "i32": 4, "i8": 1}


@final
class Whole:
    """A whole number of 64 bits in a register."""

    __slots__ = ("name", "routine")

    def __init__(self, routine: Routine, name: str) -> None:
        self.routine = routine
        self.name = name

    def _op(self, instruction: str, other: Whole | int) -> Whole:
        text = f"{instruction} i64 {self.name}, {_name(other)}"
        return Whole(self.routine, self.routine.function.give(text))

    def __add__(self, other: Whole | int) -> Whole:
        return self if isinstance(other, int) and other == 0 else self._op("add nsw", other)

    def __sub__(self, other: Whole | int) -> Whole:
        return self._op("sub nsw", other)

    def __mul__(self, other: Whole | int) -> Whole:
        return self if isinstance(other, int) and other == 1 else self._op("mul nsw", other)

    def __floordiv__(self, other: Whole | int) -> Whole:
        """For numbers that are not negative."""
        return self._op("udiv", other)

    def __mod__(self, other: Whole | int) -> Whole:
        """For numbers that are not negative."""
        return self._op("urem", other)

    def is_(self, how: str, other: Whole | int) -> str:
        """A comparison, as one bit: `slt`, `sge`, `eq`, `ne`, ..."""
        return self.routine.function.give(f"icmp {how} i64 {self.name}, {_name(other)}")

    def least(self, other: Whole | int) -> Whole:
        """The smaller of the two."""
        bit = self.is_("slt", other)
        text = f"select i1 {bit}, i64 {self.name}, i64 {_name(other)}"
        return Whole(self.routine, self.routine.function.give(text))


@final
class Address:
    """A place in memory."""

    __slots__ = ("name", "routine")

    def __init__(self, routine: Routine, name: str) -> None:
        self.routine = routine
        self.name = name

    def __add__(self, count: Whole | int) -> Address:
        """So many bytes further."""
        if isinstance(count, int) and count == 0:
            return self
        text = f"getelementptr i8, ptr {self.name}, i64 {_name(count)}"
        return Address(self.routine, self.routine.function.give(text))

    def whole(self, index: Whole | int = 0) -> Whole:
        """The whole number at an index of a list of them."""
        at = self + index * 8
        return Whole(self.routine, self.routine.function.give(f"load i64, ptr {at.name}"))

    def address(self, index: Whole | int = 0) -> Address:
        """The address at an index of a list of them."""
        at = self + index * 8
        return Address(self.routine, self.routine.function.give(f"load ptr, ptr {at.name}"))

    def scalar(self, kind: str) -> str:
        """The number here."""
        return self.routine.function.give(f"load {kind}, ptr {self.name}, align {BYTES[kind]}")

    def put_scalar(self, kind: str, value: str) -> None:
        """Write a number here."""
        self.routine.function.line(f"store {kind} {value}, ptr {self.name}, align {BYTES[kind]}")

    def lanes(self, block: Block, kind: str) -> Lanes:
        """As many numbers as the block is wide, from here on."""
        return block.give(kind, f"load {block.vector(kind)}, ptr {self.name}, align {BYTES[kind]}")

    def spread(self, block: Block, kind: str) -> Lanes:
        """The number here, in all lanes."""
        return block.splat(kind, self.scalar(kind))

    def put(self, lanes: Lanes) -> None:
        """Write lanes from here on."""
        vector = lanes.block.vector(lanes.kind)
        self.routine.function.line(
            f"store {vector} {lanes.name}, ptr {self.name}, align {BYTES[lanes.kind]}"
        )

    def some_lanes(self, mask: Lanes, otherwise: Lanes) -> Lanes:
        """The numbers whose bit is set; memory at the others is not touched."""
        block, kind = otherwise.block, otherwise.kind
        vector, bits = block.vector(kind), block.vector("i1")
        name = f"@llvm.masked.load.v{block.width}{MANGLED.get(kind, kind)}.p0"
        self.routine.function.declare(f"{vector} {name}(ptr, i32, {bits}, {vector})")
        given = f"ptr {self.name}, i32 {BYTES[kind]}, {bits} {mask.name}"
        return block.give(kind, f"call {vector} {name}({given}, {vector} {otherwise.name})")

    def put_some(self, lanes: Lanes, mask: Lanes) -> None:
        """Write the lanes whose bit is set."""
        block, kind = lanes.block, lanes.kind
        vector, bits = block.vector(kind), block.vector("i1")
        name = f"@llvm.masked.store.v{block.width}{MANGLED.get(kind, kind)}.p0"
        self.routine.function.declare(f"void {name}({vector}, ptr, i32, {bits})")
        given = f"{vector} {lanes.name}, ptr {self.name}, i32 {BYTES[kind]}, {bits} {mask.name}"
        self.routine.function.line(f"call void {name}({given})")


def _name(value: Whole | int) -> str:
    return str(value) if isinstance(value, int) else value.name


@final
class Routine:
    """One function that is being written.

    Attributes:
        function: Where its instructions go.
    """

    def __init__(self, name: str, arguments: str = TASK) -> None:
        self.function = Function(name, arguments)

    def whole(self, name: str | int) -> Whole:
        """A whole number: an argument by its name, or a constant."""
        return Whole(self, str(name) if isinstance(name, int) else f"%{name}")

    def address(self, name: str) -> Address:
        """An argument that is an address."""
        return Address(self, f"%{name}")

    def text(self) -> str:
        """The function as LLVM reads it."""
        return self.function.text()

    # --- control ---------------------------------------------------------------------------------

    @contextmanager
    def loop(self, begin: Whole | int, end: Whole | int, step: Whole | int = 1) -> Iterator[Whole]:
        """A loop over a range, which may be empty."""
        function = self.function
        variable = function.slot("i64")
        head, body, done = (function.fresh(name) for name in ("head", "body", "done"))
        function.line(f"store i64 {_name(begin)}, ptr {variable}")
        function.line(f"br label %{head}")
        function.label(head)
        index = Whole(self, function.give(f"load i64, ptr {variable}"))
        function.line(f"br i1 {index.is_('slt', end)}, label %{body}, label %{done}")
        function.label(body)
        yield index
        function.line(f"store i64 {(index + step).name}, ptr {variable}")
        function.line(f"br label %{head}")
        function.label(done)

    @contextmanager
    def when(self, bit: str) -> Iterator[None]:
        """What is done only if a bit is set."""
        function = self.function
        then, done = function.fresh("then"), function.fresh("done")
        function.line(f"br i1 {bit}, label %{then}, label %{done}")
        function.label(then)
        yield
        function.line(f"br label %{done}")
        function.label(done)

    def call(self, name: str, *args: Whole | Address | int) -> None:
        """Call another routine of the library."""
        given = ", ".join(
            f"ptr {arg.name}" if isinstance(arg, Address) else f"i64 {_name(arg)}" for arg in args
        )
        self.function.line(f"call void @{name}({given})")

    # --- variables -------------------------------------------------------------------------------

    def variable(self, kind: str) -> str:
        """A variable of a kind that LLVM keeps in a register if it can."""
        return self.function.slot(kind)

    def mask(self, block: Block, count: Whole | int) -> Lanes:
        """One bit for each of the first `count` lanes."""
        lanes = block.listed("i64", range(block.width))
        return lanes.compare("slt", block.splat("i64", _name(count)))
