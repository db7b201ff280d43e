"""Functions whose loops have bounds that are known only when they run.

The loops of compiled programs have fixed sizes. Kernels that serve every size, such as sorting, are
written here step by step: numbers in registers, memory, loops and branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from lamina.codegen.llvm.ir import MANGLED, TASK, Block, Function, Lanes

BYTES: Final = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8, "ptr": 8}


@final
class Variable:
    """A place for lanes that change, which LLVM turns into a register."""

    def __init__(self, routine: Routine, start: Lanes) -> None:
        self._routine = routine
        self._block = start.block
        self._kind = start.kind
        self._place = routine.function.slot(start.block.vector(start.kind))
        self.set(start)

    def set(self, lanes: Lanes) -> None:
        """Give it other lanes."""
        kind = self._block.vector(self._kind)
        self._routine.function.line(f"store {kind} {lanes.name}, ptr {self._place}")

    def get(self) -> Lanes:
        """What it has now."""
        kind = self._block.vector(self._kind)
        return self._block.give(self._kind, f"load {kind}, ptr {self._place}")


@final
class Routine:
    """A function, written step by step.

    Args:
        name: Its name in the module.
        parameters: What it takes; unless given, it is a task that threads share, which does the
            pieces from `begin` to `end` and reads what it needs from a table of 64-bit numbers.
    """

    def __init__(self, name: str, parameters: str = TASK) -> None:
        self.function = Function(name, parameters)
        self.numbers = Block(self.function, 0)

    # --- numbers ---------------------------------------------------------------------------------

    def parameter(self, name: str, kind: str = "i64") -> Lanes:
        """A parameter of the function."""
        return Lanes(self.numbers, kind, f"%{name}")

    def number(self, number: int, kind: str = "i64") -> Lanes:
        """A constant."""
        return self.numbers.constant(kind, number)

    def entry(self, place: int, kind: str = "i64") -> Lanes:
        """An entry of the table that a task is given."""
        return self.load(self.parameter("table", "ptr"), self.number(place), kind)

    def variable(self, start: Lanes) -> Variable:
        """A variable with something in it."""
        return Variable(self, start)

    def room(self, kind: str, count: int) -> Lanes:
        """Memory for some numbers on the stack."""
        return Lanes(self.numbers, "ptr", self.function.slot(f"[{count} x {kind}]"))

    # --- memory ----------------------------------------------------------------------------------

    def at(self, base: Lanes, index: Lanes, kind: str) -> Lanes:
        """The address of an element."""
        text = f"getelementptr {kind}, ptr {base.name}, i64 {index.name}"
        return self.numbers.give("ptr", text)

    def load(self, base: Lanes, index: Lanes, kind: str, block: Block | None = None) -> Lanes:
        """The elements from an index on, as many as a block is wide."""
        block = block or self.numbers
        place = self.at(base, index, kind)
        text = f"load {block.vector(kind)}, ptr {place.name}, align {BYTES[kind]}"
        return block.give(kind, text)

    def store(self, lanes: Lanes, base: Lanes, index: Lanes) -> None:
        """Write elements from an index on."""
        place = self.at(base, index, lanes.kind)
        kind = lanes.block.vector(lanes.kind)
        text = f"store {kind} {lanes.name}, ptr {place.name}, align {BYTES[lanes.kind]}"
        self.function.line(text)

    def first_lanes(self, block: Block, count: Lanes) -> Lanes:
        """One bit for each lane: set in the first `count`."""
        every = block.listed("i64", range(block.width))
        return every.compare("slt", block.splat("i64", count.name))

    def load_some(
        self, base: Lanes, index: Lanes, kind: str, bits: Lanes, others: Lanes | None = None
    ) -> Lanes:
        """Those elements from an index on whose bits are set; for the rest `others`, or zeros."""
        vector, mask = bits.block.vector(kind), bits.block.vector("i1")
        name = f"@llvm.masked.load.v{bits.block.width}{MANGLED.get(kind, kind)}.p0"
        self.function.declare(f"{vector} {name}(ptr, i32, {mask}, {vector})")
        place = self.at(base, index, kind)
        rest = others.name if others is not None else "zeroinitializer"
        given = f"ptr {place.name}, i32 {BYTES[kind]}, {mask} {bits.name}, {vector} {rest}"
        return bits.block.give(kind, f"call {vector} {name}({given})")

    def store_some(self, lanes: Lanes, base: Lanes, index: Lanes, bits: Lanes) -> None:
        """Write those elements from an index on whose bits are set."""
        kind = lanes.kind
        vector, mask = lanes.block.vector(kind), lanes.block.vector("i1")
        name = f"@llvm.masked.store.v{lanes.block.width}{MANGLED.get(kind, kind)}.p0"
        self.function.declare(f"void {name}({vector}, ptr, i32, {mask})")
        place = self.at(base, index, kind)
        given = f"{vector} {lanes.name}, ptr {place.name}, i32 {BYTES[kind]}, {mask} {bits.name}"
        self.function.line(f"call void {name}({given})")

    def clear(self, base: Lanes, size: int) -> None:
        """Set bytes to zero."""
        self.function.declare("void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.function.line(
            f"call void @llvm.memset.p0.i64(ptr {base.name}, i8 0, i64 {size}, i1 false)"
        )

    def copy(self, source: Lanes, target: Lanes, size: Lanes) -> None:
        """Copy bytes."""
        self.function.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        given = f"ptr {target.name}, ptr {source.name}, i64 {size.name}, i1 false"
        self.function.line(f"call void @llvm.memcpy.p0.p0.i64({given})")

    # --- what runs when --------------------------------------------------------------------------

    @contextmanager
    def counting(self, begin: Lanes, end: Lanes, step: int = 1) -> Iterator[Lanes]:
        """A loop whose index goes from `begin` up to `end`; not run if there is nothing to do."""
        function = self.function
        index = self.variable(begin)
        head, body, done = (function.fresh(hint) for hint in ("head", "body", "done"))
        function.line(f"br label %{head}")
        function.label(head)
        now = index.get()
        function.line(f"br i1 {now.compare('slt', end).name}, label %{body}, label %{done}")
        function.label(body)
        yield now
        index.set(now + step)
        function.line(f"br label %{head}")
        function.label(done)

    @contextmanager
    def when(self, condition: Lanes) -> Iterator[None]:
        """Steps that are only done if a condition holds."""
        function = self.function
        body, done = function.fresh("then"), function.fresh("after")
        function.line(f"br i1 {condition.name}, label %{body}, label %{done}")
        function.label(body)
        yield
        function.line(f"br label %{done}")
        function.label(done)

    def call(self, routine: Routine, *args: Lanes) -> None:
        """Call another function of the module."""
        given = ", ".join(f"{each.kind} {each.name}" for each in args)
        self.function.line(f"call void @{routine.function.name}({given})")
