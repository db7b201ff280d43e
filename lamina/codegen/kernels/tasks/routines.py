"""Functions whose sizes and addresses are known only when they run.

The loops of compiled programs have fixed sizes. Tasks that serve every size are written here step
by step: numbers in registers (`Lanes`), memory (`Address`), loops and branches as `with` blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, final

from lamina.codegen.llvm.ir import MANGLED, TASK, Block, Function, Lanes

BYTES: Final = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8, "ptr": 8}


def least(number: Lanes, other: Lanes | int) -> Lanes:
    """The smaller of two whole numbers."""
    return number.compare("slt", other).where(number, other)


def largest(number: Lanes, other: Lanes) -> Lanes:
    """The larger of two whole numbers."""
    return number.compare("sgt", other).where(number, other)


def first_lanes(block: Block, count: Lanes) -> Lanes:
    """One bit for each lane: set in the first `count`."""
    every = block.listed("i64", range(block.width))
    return every.compare("slt", block.splat("i64", count.name))


def chosen_lanes(lanes: Lanes, places: Sequence[int], others: Lanes) -> Lanes:
    """Lanes by their places, where the first of `others` follows on the last lane."""
    kind = lanes.block.vector(lanes.kind)
    chosen = ", ".join(f"i32 {place}" for place in places)
    return lanes.block.give(
        lanes.kind,
        f"shufflevector {kind} {lanes.name}, {kind} {others.name}, "
        f"<{lanes.block.width} x i32> <{chosen}>",
    )


def sum_of(lanes: Lanes) -> Lanes:
    """The sum of all lanes, floating-point numbers, added up in pairs."""
    block, kind = lanes.block, lanes.kind
    name = f"@llvm.vector.reduce.fadd.v{block.width}{MANGLED[kind]}"
    block.function.declare(f"{kind} {name}({kind}, {block.vector(kind)})")
    given = f"{kind} -0.0, {block.vector(kind)} {lanes.name}"
    return Block(block.function, 0).give(kind, f"call reassoc {kind} {name}({given})")


@final
class Variable:
    """A place for lanes that change, which LLVM turns into a register."""

    def __init__(self, start: Lanes) -> None:
        self._block = start.block
        self._kind = start.kind
        self._place = start.block.function.slot(start.block.vector(start.kind))
        self.set(start)

    def set(self, lanes: Lanes) -> None:
        """Give it other lanes."""
        kind = self._block.vector(self._kind)
        self._block.function.line(f"store {kind} {lanes.name}, ptr {self._place}")

    def get(self) -> Lanes:
        """What it has now."""
        kind = self._block.vector(self._kind)
        return self._block.give(self._kind, f"load {kind}, ptr {self._place}")


@final
class Address:
    """A place in memory. Where an index is wanted, it counts elements of the kind in question.

    Args:
        numbers: The block of numbers of the function.
        name: The register that it is in.
    """

    __slots__ = ("_numbers", "name")

    def __init__(self, numbers: Block, name: str) -> None:
        self._numbers = numbers
        self.name = name

    def __add__(self, count: Lanes | int) -> Address:
        """So many bytes further."""
        return self.at("i8", count)

    def at(self, kind: str, index: Lanes | int) -> Address:
        """The address of an element from here on."""
        if isinstance(index, int) and index == 0:
            return self
        far = index if isinstance(index, int) else index.name
        text = f"getelementptr {kind}, ptr {self.name}, i64 {far}"
        return Address(self._numbers, self._numbers.function.give(text))

    # --- all elements ----------------------------------------------------------------------------

    def load(self, kind: str, index: Lanes | int = 0) -> Lanes:
        """A number."""
        return self.lanes(kind, self._numbers, index)

    def lanes(self, kind: str, block: Block, index: Lanes | int = 0) -> Lanes:
        """As many numbers as the block is wide."""
        place = self.at(kind, index).name
        return block.give(kind, f"load {block.vector(kind)}, ptr {place}, align {BYTES[kind]}")

    def spread(self, kind: str, block: Block) -> Lanes:
        """The number here, in all lanes."""
        return block.splat(kind, self.load(kind).name)

    def address(self, index: Lanes | int = 0) -> Address:
        """An address that is kept in memory."""
        return Address(self._numbers, self.load("ptr", index).name)

    def store(self, lanes: Lanes, index: Lanes | int = 0) -> None:
        """Write a number, or lanes."""
        kind = lanes.block.vector(lanes.kind)
        place = self.at(lanes.kind, index).name
        text = f"store {kind} {lanes.name}, ptr {place}, align {BYTES[lanes.kind]}"
        self._numbers.function.line(text)

    # --- those whose bits are set ----------------------------------------------------------------

    def load_some(
        self, kind: str, bits: Lanes, index: Lanes | int = 0, others: Lanes | None = None
    ) -> Lanes:
        """The elements whose bits are set, and for the rest `others`, or zeros.

        Memory of the rest is not touched.
        """
        vector, mask = bits.block.vector(kind), bits.block.vector("i1")
        name = f"@llvm.masked.load.v{bits.block.width}{MANGLED.get(kind, kind)}.p0"
        self._numbers.function.declare(f"{vector} {name}(ptr, i32, {mask}, {vector})")
        rest = others.name if others is not None else "zeroinitializer"
        given = f"ptr {self.at(kind, index).name}, i32 {BYTES[kind]}, {mask} {bits.name}"
        return bits.block.give(kind, f"call {vector} {name}({given}, {vector} {rest})")

    def store_some(self, lanes: Lanes, bits: Lanes, index: Lanes | int = 0) -> None:
        """Write the lanes whose bits are set."""
        kind = lanes.kind
        vector, mask = lanes.block.vector(kind), lanes.block.vector("i1")
        name = f"@llvm.masked.store.v{lanes.block.width}{MANGLED.get(kind, kind)}.p0"
        self._numbers.function.declare(f"void {name}({vector}, ptr, i32, {mask})")
        given = f"ptr {self.at(kind, index).name}, i32 {BYTES[kind]}, {mask} {bits.name}"
        self._numbers.function.line(f"call void {name}({vector} {lanes.name}, {given})")

    def prefetch(self) -> None:
        """Have the line of memory here on its way to the cache; the address may be anywhere."""
        self._numbers.function.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        given = f"ptr {self.name}, i32 0, i32 3, i32 1"
        self._numbers.function.line(f"call void @llvm.prefetch.p0({given})")

    # --- bytes -----------------------------------------------------------------------------------

    def clear(self, size: int) -> None:
        """Set bytes to zero."""
        self._numbers.function.declare("void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        given = f"ptr {self.name}, i8 0, i64 {size}, i1 false"
        self._numbers.function.line(f"call void @llvm.memset.p0.i64({given})")

    def copy_to(self, target: Address, size: Lanes) -> None:
        """Copy bytes."""
        self._numbers.function.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        given = f"ptr {target.name}, ptr {self.name}, i64 {size.name}, i1 false"
        self._numbers.function.line(f"call void @llvm.memcpy.p0.p0.i64({given})")


def as_address(number: Lanes) -> Address:
    """A number that is an address."""
    text = f"inttoptr i64 {number.name} to ptr"
    return Address(number.block, number.block.function.give(text))


def either(bit: Lanes, first: Address, second: Address) -> Address:
    """The first address if the bit is set, else the second."""
    text = f"select i1 {bit.name}, ptr {first.name}, ptr {second.name}"
    return Address(bit.block, bit.block.function.give(text))


@final
class Routine:
    """A function, written step by step.

    Args:
        name: Its name in the module.
        parameters: What it takes; unless given, it is a task that threads share, which does the
            pieces from `begin` to `end` and reads what it needs from a table of 64-bit numbers.

    Attributes:
        function: Where its instructions go.
        numbers: The block of numbers in registers of their own.
    """

    def __init__(self, name: str, parameters: str = TASK) -> None:
        self.function = Function(name, parameters)
        self.numbers = Block(self.function, 0)

    # --- what it works with ----------------------------------------------------------------------

    def parameter(self, name: str, kind: str = "i64") -> Lanes:
        """A parameter that is a number."""
        return Lanes(self.numbers, kind, f"%{name}")

    def address(self, name: str) -> Address:
        """A parameter that is an address."""
        return Address(self.numbers, f"%{name}")

    def number(self, number: int, kind: str = "i64") -> Lanes:
        """A constant."""
        return self.numbers.constant(kind, number)

    def entry(self, place: int, kind: str = "i64") -> Lanes:
        """A number in the table that a task is given."""
        return self.address("table").at("i64", place).load(kind)

    def entry_address(self, place: int) -> Address:
        """An address in the table that a task is given."""
        return self.address("table").address(place)

    def room(self, kind: str, count: int) -> Address:
        """Memory for some elements on the stack."""
        return Address(self.numbers, self.function.slot(f"[{count} x {kind}]"))

    # --- what runs when --------------------------------------------------------------------------

    @contextmanager
    def loop(self, begin: Lanes | int, end: Lanes | int, step: Lanes | int = 1) -> Iterator[Lanes]:
        """A loop whose index goes from `begin` up to `end`; not run if there is nothing to do."""
        function = self.function
        index = Variable(self.number(begin) if isinstance(begin, int) else begin)
        head, body, done = (function.fresh(hint) for hint in ("head", "body", "done"))
        function.line(f"br label %{head}")
        function.label(head)
        now = index.get()
        function.line(f"br i1 {now.compare('slt', end).name}, label %{body}, label %{done}")
        function.label(body)
        yield now
        index.set(now.op("add nsw", step))  # so LLVM knows how often it runs
        function.line(f"br label %{head}")
        function.label(done)

    @contextmanager
    def pieces(self) -> Iterator[Lanes]:
        """A loop over the pieces that a task is to do."""
        with self.loop(self.parameter("begin"), self.parameter("end")) as piece:
            yield piece

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

    def call(self, name: str, *args: Lanes | Address | int) -> None:
        """Call another function of the module; whole numbers are given as 64 bits."""
        given = ", ".join(
            f"i64 {each}" if isinstance(each, int)
            else f"{each.kind if isinstance(each, Lanes) else 'ptr'} {each.name}"
            for each in args
        )  # fmt: skip
        self.function.line(f"call void @{name}({given})")
