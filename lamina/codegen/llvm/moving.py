"""Moving lanes between registers and memory, and counting through memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lamina.codegen.llvm.ir import IN_MEMORY, KIND_OF, MANGLED, Block, Function, Lanes


@final
@dataclass(slots=True)
class Access:
    """Memory that a loop goes through: where it begins, and its steps along the loop's axes."""

    base: str
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    place: str = ""  # the address at the current position of the outer axes
    rows: tuple[int, ...] = ()  # its steps along the axes that a nest goes over
    kept: int = 0  # bytes of a row, where only the rows that are done together are in memory
    apart: int = 0  # from a row to the next, where rows are done together
    hoisted: list[Lanes] | None = None  # the one element of each row


@final
class Mover:
    """Writes loads, stores and counted loops into a function."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def put(self, variable: str, lanes: Lanes) -> None:
        """Set a variable on the stack."""
        self.function.line(f"store {lanes.block.vector(lanes.kind)} {lanes.name}, ptr {variable}")

    def get(self, block: Block, variable: str, kind: str) -> Lanes:
        """Read a variable on the stack."""
        return block.give(kind, f"load {block.vector(kind)}, ptr {variable}")

    def at(self, base: str, offset: int) -> str:
        """An address some bytes further."""
        return self.function.give(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def further(self, index: str, count: int | str) -> str:
        """An index so much further."""
        return self.function.give(f"add nuw nsw i64 {index}, {count}")

    def stepped(self, place: str, index: str, step: int) -> str:
        """An address `index` steps further."""
        if step == 0:
            return place
        far = self.function.give(f"mul nsw i64 {index}, {step}")
        return self.function.give(f"getelementptr i8, ptr {place}, i64 {far}")

    def mask(self, block: Block, count: int | str) -> Lanes:
        """One bit for each of the first `count` lanes."""
        if isinstance(count, str):
            return block.listed("i64", range(block.width)).compare("ult", block.splat("i64", count))
        return block.listed("i1", [lane < count for lane in range(block.width)])

    def place_of(self, access: Access, index: str, row: int) -> str:
        """The address of an element along the innermost axis, in a row of those done together."""
        start = self.at(access.place, row * access.apart)
        return self.stepped(start, index, access.strides[-1])

    def broadcast(self, block: Block, access: Access, row: int) -> Lanes:
        """One element in all lanes."""
        kind = _memory_kind(access.dtype)
        place = self.place_of(access, "0", row)
        scalar = self.function.give(f"load {kind}, ptr {place}, align 1")
        return _as_bits(block.splat(kind, scalar), access)

    def load(
        self, block: Block, access: Access, index: str, count: int | str, row: int = 0
    ) -> Lanes:
        """The `count` elements from `index` on along the innermost axis.

        A count that is known only when the code runs (its name) needs elements without gaps.
        """
        kind, size = _memory_kind(access.dtype), access.dtype.itemsize
        place = self.place_of(access, index, row)
        vector = block.vector(kind)
        if access.strides[-1] != size and block.width > 1:
            assert isinstance(count, int)
            return _as_bits(self._gathered(block, access, place, count), access)
        if count == block.width:
            lanes = block.give(kind, f"load {vector}, ptr {place}, align {size}")
        else:
            name = f"@llvm.masked.load.v{block.width}{_mangled(kind)}.p0"
            bits = block.vector("i1")
            self.function.declare(f"{vector} {name}(ptr, i32, {bits}, {vector})")
            mask = self.mask(block, count).name
            given = f"ptr {place}, i32 {size}, {bits} {mask}, {vector} zeroinitializer"
            lanes = block.give(kind, f"call {vector} {name}({given})")
        return _as_bits(lanes, access)

    def prefetch(self, access: Access, index: str, row: int) -> None:
        """Have an element brought into the cache that will be read soon."""
        place = self.place_of(access, index, row)
        self.function.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.function.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def _gathered(self, block: Block, access: Access, place: str, count: int) -> Lanes:
        """Elements apart from each other, loaded one by one."""
        kind, step = _memory_kind(access.dtype), access.strides[-1]
        vector, result = block.vector(kind), "zeroinitializer"
        for lane in range(count):
            at = self.at(place, lane * step)
            one = self.function.give(f"load {kind}, ptr {at}, align {access.dtype.itemsize}")
            result = self.function.give(
                f"insertelement {vector} {result}, {kind} {one}, i32 {lane}"
            )
        return Lanes(block, kind, result)

    def store(
        self, block: Block, access: Access, index: str, count: int | str, lanes: Lanes, row: int = 0
    ) -> None:
        """Write the first `count` lanes from `index` on along the innermost axis."""
        kind, size = _memory_kind(access.dtype), access.dtype.itemsize
        if lanes.kind == "i1":
            lanes = lanes.convert("zext", "i8")
        place = self.place_of(access, index, row)
        vector = block.vector(kind)
        if access.strides[-1] != size and block.width > 1:
            assert isinstance(count, int)
            self._scatter(access, place, count, lanes)
        elif count == block.width:
            self.function.line(f"store {vector} {lanes.name}, ptr {place}, align {size}")
        else:
            name = f"@llvm.masked.store.v{block.width}{_mangled(kind)}.p0"
            bits = block.vector("i1")
            self.function.declare(f"void {name}({vector}, ptr, i32, {bits})")
            mask = self.mask(block, count).name
            given = f"{vector} {lanes.name}, ptr {place}, i32 {size}, {bits} {mask}"
            self.function.line(f"call void {name}({given})")

    def _scatter(self, access: Access, place: str, count: int, lanes: Lanes) -> None:
        kind, step = _memory_kind(access.dtype), access.strides[-1]
        vector = lanes.block.vector(kind)
        for lane in range(count):
            one = self.function.give(f"extractelement {vector} {lanes.name}, i32 {lane}")
            at = self.at(place, lane * step)
            self.function.line(f"store {kind} {one}, ptr {at}, align {access.dtype.itemsize}")

    @contextmanager
    def counted(self, start: int | str, stop: int | str, step: int = 1) -> Iterator[str]:
        """A loop whose index goes from `start` up to `stop`, which must be further."""
        function = self.function
        variable = function.slot("i64")
        head, done = function.fresh("loop"), function.fresh("done")
        function.line(f"store i64 {start}, ptr {variable}")
        function.line(f"br label %{head}")
        function.label(head)
        index = function.give(f"load i64, ptr {variable}")
        yield index
        following = function.give(f"add nuw nsw i64 {index}, {step}")
        function.line(f"store i64 {following}, ptr {variable}")
        more = function.give(f"icmp ult i64 {following}, {stop}")
        function.line(f"br i1 {more}, label %{head}, label %{done}")
        function.label(done)

    def in_groups(
        self, start: int | str, stop: int | str, group: int, body: Callable[[str, int], None],
        has_rest: bool,
    ) -> None:  # fmt: skip
        """Call `body` for an index and how many follow on it: groups first, then the rest singly.

        Args:
            start, stop: From where to where.
            group: How many make a group.
            body: Writes what is done; twice where there may be a rest.
            has_rest: Whether there may be one.
        """
        if group == 1:
            with self.counted(start, stop) as index:
                body(index, 1)
            return
        length = self.function.give(f"sub i64 {stop}, {start}")
        whole = self.function.give(f"and i64 {length}, {-group}")
        end = self.function.give(f"add i64 {start}, {whole}")
        with self.only_if(f"icmp ne i64 {whole}, 0"), self.counted(start, end, group) as index:
            body(index, group)
        if has_rest:
            with self.only_if(f"icmp ult i64 {end}, {stop}"), self.counted(end, stop) as index:
                body(index, 1)

    @contextmanager
    def only_if(self, condition: str) -> Iterator[None]:
        """Instructions that are done where a comparison holds."""
        function = self.function
        inside, after = function.fresh("inside"), function.fresh("after")
        holds = function.give(condition)
        function.line(f"br i1 {holds}, label %{inside}, label %{after}")
        function.label(inside)
        yield
        function.line(f"br label %{after}")
        function.label(after)


def _memory_kind(dtype: np.dtype[Any]) -> str:
    kind = KIND_OF[dtype.char]
    return IN_MEMORY.get(kind, kind)


def _as_bits(lanes: Lanes, access: Access) -> Lanes:
    return lanes.compare("ne", 0) if access.dtype.kind == "b" else lanes


def _mangled(kind: str) -> str:
    return MANGLED.get(kind, kind)
