"""Loops as machine code: one nest of loops for each `Loop`, its innermost axis on vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from lamina.codegen.graph import REDUCTION, Graph, Node, Number, Operand, View
from lamina.codegen.llvm.ir import IN_MEMORY, KIND_OF, Block, Function, Lanes
from lamina.codegen.llvm.operations import OPERATIONS, cast
from lamina.codegen.schedule import Loop

_IDENTITY: Final[dict[str, Callable[[Any], Any]]] = {
    "sum": lambda kind: 0,
    "max": lambda kind: -np.inf if kind.kind == "f" else _least(kind),
    "min": lambda kind: np.inf if kind.kind == "f" else _greatest(kind),
}
_COMBINE: Final = {"sum": "add", "max": "maximum", "min": "minimum"}


def _least(kind: Any) -> Any:
    return False if kind.kind == "b" else np.iinfo(kind).min


def _greatest(kind: Any) -> Any:
    return True if kind.kind == "b" else np.iinfo(kind).max


def accumulator_dtype(op: str, kind: np.dtype[Any]) -> np.dtype[Any]:
    """In which dtype a reduction adds up: sums of floats in float64."""
    return np.dtype(np.float64) if op == "sum" and kind.kind == "f" else kind


@final
@dataclass(slots=True)
class Access:
    """Memory that a loop goes through: where it begins, and its steps along the loop's axes."""

    base: str
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    place: str = ""  # the address at the current position of the outer axes
    hoisted: Lanes | None = None


@final
@dataclass(slots=True)
class _Sum:
    """A reduction of a loop.

    Attributes:
        memory: The accumulators, one for each element of the result.
        variable: The register for lanes along the innermost axis, if that is taken away.
        is_direct: Whether the whole sum is known after one run of the innermost axis.
    """

    node: Node
    memory: Access
    result: Access
    dtype: np.dtype[Any]
    variable: str = ""
    is_direct: bool = False


@final
@dataclass
class LoopWriter:
    """Writes one loop into a function.

    Attributes:
        address: Gives the address at which a value begins; for numbers below zero, scratch memory.
        width: How many lanes a vector has.
    """

    function: Function
    graph: Graph
    loop: Loop
    address: Callable[[int], str]
    scratch: Callable[[Node], str | None]
    width: int
    loads: dict[View, Access] = field(default_factory=dict)
    stores: dict[int, Access] = field(default_factory=dict)
    sums: list[_Sum] = field(default_factory=list)
    sizes: tuple[int, ...] = ()

    def write(self) -> None:
        """Write all of it."""
        if 0 in self.loop.shape:
            return
        self._find_accesses()
        self._order_axes()
        for entry in self.sums:
            strides = entry.memory.strides
            entry.is_direct = strides[-1] == 0 and all(
                step or size == 1 for step, size in zip(strides[:-1], self.sizes[:-1], strict=True)
            )
            if strides[-1] == 0:
                entry.variable = self.function.slot(self._lanes_of(entry.dtype))
            if not entry.is_direct:
                self._fill(entry)
        self._outer(0)
        for entry in self.sums:
            if not entry.is_direct:
                self._finish(entry)

    # --- what is read and written ----------------------------------------------------------------

    def _find_accesses(self) -> None:
        made: set[int] = set()
        for node in self.loop.nodes:
            for view in node.views():
                if view.value not in made:
                    base = self._at(self.address(view.value), view.offset)
                    self.loads.setdefault(view, Access(base, view.dtype, view.strides))
            if node.kind == REDUCTION:
                self._add_sum(node)
                continue
            made.update(node.results)
            for value in node.results:
                if value in self.loop.stored:
                    kind = self.graph.values[value]
                    access = Access(self.address(value), kind.dtype, kind.strides)
                    self.stores[value] = access

    def _add_sum(self, node: Node) -> None:
        result = self.graph.values[node.results[0]]
        kind = accumulator_dtype(node.op, result.dtype)
        base = self.address(node.results[0])
        scratch = self.scratch(node)
        kept = iter(result.strides)
        steps = [0 if i in node.axes else next(kept) for i in range(len(self.loop.shape))]
        size = result.dtype.itemsize
        wide = tuple(step // size * kind.itemsize for step in steps)
        memory = Access(base if scratch is None else scratch, kind, wide)
        self.sums.append(_Sum(node, memory, Access(base, result.dtype, tuple(steps)), kind))

    def _all(self) -> list[Access]:
        found = [*self.loads.values(), *self.stores.values()]
        for entry in self.sums:
            found += [entry.memory, entry.result]
        return found

    def _order_axes(self) -> None:
        """Go through memory in its order, and take axes together that follow on each other."""
        accesses = self._all()
        axes = [i for i, size in enumerate(self.loop.shape) if size > 1]
        lead = max(accesses[: len(self.loads) + len(self.stores)] or accesses, key=_reach)
        axes.sort(key=lambda i: -abs(lead.strides[i]))
        sizes = [self.loop.shape[i] for i in axes]
        strides = [[access.strides[i] for i in axes] for access in accesses]
        k = len(sizes) - 2
        while k >= 0:
            if all(steps[k] == steps[k + 1] * sizes[k + 1] for steps in strides):
                sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
                for steps in strides:
                    del steps[k]
            k -= 1
        if not sizes:
            sizes, strides = [1], [[0] for _ in accesses]
        self.sizes = tuple(sizes)
        for access, steps in zip(accesses, strides, strict=True):
            access.strides = tuple(steps)
            access.place = access.base

    # --- the nest of loops -----------------------------------------------------------------------

    def _outer(self, axis: int) -> None:
        if axis == len(self.sizes) - 1:
            self._inner()
            return
        with self._counted(self.sizes[axis], 1) as index:
            accesses = self._all()
            before = [access.place for access in accesses]
            for access in accesses:
                access.place = self._stepped(access.place, index, access.strides[axis])
            self._outer(axis + 1)
            for access, place in zip(accesses, before, strict=True):
                access.place = place

    def _inner(self) -> None:
        """The innermost axis: vectors, and one more with some lanes masked."""
        size = self.sizes[-1]
        whole, rest = size // self.width * self.width, size % self.width
        block = Block(self.function, self.width)
        for access in self.loads.values():
            access.hoisted = self._broadcast(block, access) if access.strides[-1] == 0 else None
        for entry in self.sums:
            if entry.variable:
                start = block.constant(KIND_OF[entry.dtype.char], self._identity(entry))
                self._put(entry.variable, start)
        if whole == self.width:
            self._body(block, "0", self.width)
        elif whole:
            with self._counted(whole, self.width) as index:
                self._body(block, index, self.width)
        if rest:
            self._body(block, str(whole), rest)
        for entry in self.sums:
            if entry.variable:
                self._collect(block, entry)

    def _body(self, block: Block, index: str, count: int) -> None:
        """All nodes for `count` elements from `index` on."""
        known: dict[Any, Lanes] = {}
        for node in self.loop.nodes:
            if node.kind == REDUCTION:
                continue
            operands = [
                self._operand(block, operand, index, count, known) for operand in node.operands
            ]
            known[node.results[0]] = self._apply(node, operands)
        for value, access in self.stores.items():
            self._store(block, access, index, count, known[value])
        for entry in self.sums:
            lanes = self._operand(block, entry.node.operands[0], index, count, known)
            self._accumulate(block, entry, index, count, lanes)

    def _apply(self, node: Node, operands: list[Lanes]) -> Lanes:
        kind = self._dtype(node.operands[-1])
        if node.op == "cast":
            return cast(operands[0], kind, self.graph.values[node.results[0]].dtype)
        return OPERATIONS[node.op](*operands, kind.kind == "i")

    def _dtype(self, operand: Operand) -> np.dtype[Any]:
        return operand.value.dtype if isinstance(operand, Number) else operand.dtype

    def _operand(
        self, block: Block, operand: Operand, index: str, count: int, known: dict[Any, Lanes]
    ) -> Lanes:
        if isinstance(operand, Number):
            return block.constant(KIND_OF[operand.value.dtype.char], operand.value)
        access = self.loads.get(operand)
        if access is None:
            return known[operand.value]
        if operand not in known:
            hoisted = access.hoisted
            known[operand] = hoisted or self._load(block, access, index, count)
        return known[operand]

    # --- reductions ------------------------------------------------------------------------------

    def _identity(self, entry: _Sum) -> Any:
        return _IDENTITY[entry.node.op](entry.dtype)

    def _widened(self, entry: _Sum, lanes: Lanes) -> Lanes:
        return cast(lanes, entry.result.dtype, entry.dtype)

    def _combine(self, entry: _Sum, x: Lanes, y: Lanes) -> Lanes:
        return OPERATIONS[_COMBINE[entry.node.op]](x, y, entry.dtype.kind == "i")

    def _accumulate(self, block: Block, entry: _Sum, index: str, count: int, lanes: Lanes) -> None:
        lanes = self._widened(entry, lanes)
        if not entry.variable:
            old = self._load(block, entry.memory, index, count)
            self._store(block, entry.memory, index, count, self._combine(entry, old, lanes))
            return
        if count < block.width:
            lanes = self._mask(block, count).where(lanes, self._identity(entry))
        old = self._get(block, entry.variable, lanes.kind)
        self._put(entry.variable, self._combine(entry, old, lanes))

    def _collect(self, block: Block, entry: _Sum) -> None:
        """Bring the lanes of a reduction together, and add that to memory."""
        kind, width = KIND_OF[entry.dtype.char], block.width
        lanes = self._get(block, entry.variable, kind)
        while width > 1:
            half = width // 2
            parts = [self._part(lanes, width, half, start) for start in (0, half)]
            lanes = self._combine(entry, *parts)
            width = half
        if entry.is_direct:
            done = cast(lanes, entry.dtype, entry.result.dtype)
            self._store(lanes.block, entry.result, "0", 1, done)
            return
        old = self._load(lanes.block, entry.memory, "0", 1)
        self._store(lanes.block, entry.memory, "0", 1, self._combine(entry, old, lanes))

    def _part(self, lanes: Lanes, width: int, half: int, start: int) -> Lanes:
        block = Block(self.function, half)
        kind = f"<{width} x {lanes.kind}>"
        which = ", ".join(f"i32 {start + i}" for i in range(half))
        return block.give(
            lanes.kind,
            f"shufflevector {kind} {lanes.name}, {kind} poison, <{half} x i32> <{which}>",
        )

    def _flat(self, entry: _Sum) -> tuple[Access, Access, int]:
        """The accumulators and the results as two runs of memory."""
        size = self.graph.values[entry.node.results[0]].size
        memory = Access(entry.memory.base, entry.dtype, (entry.dtype.itemsize,))
        result = Access(entry.result.base, entry.result.dtype, (entry.result.dtype.itemsize,))
        memory.place, result.place = memory.base, result.base
        return memory, result, size

    def _fill(self, entry: _Sum) -> None:
        """Start all accumulators."""
        memory, _, size = self._flat(entry)

        def body(block: Block, index: str, count: int) -> None:
            start = block.constant(KIND_OF[entry.dtype.char], self._identity(entry))
            self._store(block, memory, index, count, start)

        self._run(size, body)

    def _finish(self, entry: _Sum) -> None:
        """Bring accumulators that have a wider dtype into the result."""
        memory, result, size = self._flat(entry)
        if memory.base == result.base:
            return

        def body(block: Block, index: str, count: int) -> None:
            lanes = self._load(block, memory, index, count)
            self._store(block, result, index, count, cast(lanes, entry.dtype, entry.result.dtype))

        self._run(size, body)

    def _run(self, size: int, body: Callable[[Block, str, int], None]) -> None:
        block = Block(self.function, self.width)
        whole, rest = size // self.width * self.width, size % self.width
        if whole:
            with self._counted(whole, self.width) as index:
                body(block, index, self.width)
        if rest:
            body(block, str(whole), rest)

    # --- memory ----------------------------------------------------------------------------------

    def _lanes_of(self, dtype: Any) -> str:
        return f"<{self.width} x {KIND_OF[dtype.char]}>"

    def _put(self, variable: str, lanes: Lanes) -> None:
        self.function.line(f"store {lanes.block.vector(lanes.kind)} {lanes.name}, ptr {variable}")

    def _get(self, block: Block, variable: str, kind: str) -> Lanes:
        return block.give(kind, f"load {block.vector(kind)}, ptr {variable}")

    def _at(self, base: str, offset: int) -> str:
        return self.function.give(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def _stepped(self, place: str, index: str, step: int) -> str:
        if step == 0:
            return place
        far = self.function.give(f"mul nsw i64 {index}, {step}")
        return self.function.give(f"getelementptr i8, ptr {place}, i64 {far}")

    def _mask(self, block: Block, count: int) -> Lanes:
        return block.listed("i1", [lane < count for lane in range(block.width)])

    def _memory_kind(self, dtype: Any) -> str:
        kind = KIND_OF[dtype.char]
        return IN_MEMORY.get(kind, kind)

    def _broadcast(self, block: Block, access: Access) -> Lanes:
        kind = self._memory_kind(access.dtype)
        scalar = self.function.give(f"load {kind}, ptr {access.place}, align 1")
        return self._as_bits(block.splat(kind, scalar), access)

    def _as_bits(self, lanes: Lanes, access: Access) -> Lanes:
        return lanes.compare("ne", 0) if access.dtype.kind == "b" else lanes

    def _load(self, block: Block, access: Access, index: str, count: int) -> Lanes:
        kind, size = self._memory_kind(access.dtype), access.dtype.itemsize
        place = self._stepped(access.place, index, access.strides[-1])
        vector = block.vector(kind)
        if access.strides[-1] != size and block.width > 1:
            return self._as_bits(self._gathered(block, access, place, count), access)
        if count == block.width:
            lanes = block.give(kind, f"load {vector}, ptr {place}, align {size}")
        else:
            name = f"@llvm.masked.load.v{block.width}{_mangled(kind)}.p0"
            bits = block.vector("i1")
            self.function.declare(f"{vector} {name}(ptr, i32, {bits}, {vector})")
            mask = self._mask(block, count).name
            given = f"ptr {place}, i32 {size}, {bits} {mask}, {vector} zeroinitializer"
            lanes = block.give(kind, f"call {vector} {name}({given})")
        return self._as_bits(lanes, access)

    def _gathered(self, block: Block, access: Access, place: str, count: int) -> Lanes:
        """Elements apart from each other, loaded one by one."""
        kind, step = self._memory_kind(access.dtype), access.strides[-1]
        vector, result = block.vector(kind), "zeroinitializer"
        for lane in range(count):
            at = self._at(place, lane * step)
            one = self.function.give(f"load {kind}, ptr {at}, align {access.dtype.itemsize}")
            result = self.function.give(
                f"insertelement {vector} {result}, {kind} {one}, i32 {lane}"
            )
        return Lanes(block, kind, result)

    def _store(self, block: Block, access: Access, index: str, count: int, lanes: Lanes) -> None:
        kind, size = self._memory_kind(access.dtype), access.dtype.itemsize
        if lanes.kind == "i1":
            lanes = lanes.convert("zext", "i8")
        place = self._stepped(access.place, index, access.strides[-1])
        vector = block.vector(kind)
        if access.strides[-1] != size and block.width > 1:
            self._scatter(access, place, count, lanes)
        elif count == block.width:
            self.function.line(f"store {vector} {lanes.name}, ptr {place}, align {size}")
        else:
            name = f"@llvm.masked.store.v{block.width}{_mangled(kind)}.p0"
            bits = block.vector("i1")
            self.function.declare(f"void {name}({vector}, ptr, i32, {bits})")
            mask = self._mask(block, count).name
            given = f"{vector} {lanes.name}, ptr {place}, i32 {size}, {bits} {mask}"
            self.function.line(f"call void {name}({given})")

    def _scatter(self, access: Access, place: str, count: int, lanes: Lanes) -> None:
        kind, step = self._memory_kind(access.dtype), access.strides[-1]
        vector = lanes.block.vector(kind)
        for lane in range(count):
            one = self.function.give(f"extractelement {vector} {lanes.name}, i32 {lane}")
            at = self._at(place, lane * step)
            self.function.line(f"store {kind} {one}, ptr {at}, align {access.dtype.itemsize}")

    @contextmanager
    def _counted(self, size: int, step: int) -> Iterator[str]:
        """A loop whose index goes from 0 up to `size`."""
        function = self.function
        variable = function.slot("i64")
        head, done = function.fresh("loop"), function.fresh("done")
        function.line(f"store i64 0, ptr {variable}")
        function.line(f"br label %{head}")
        function.label(head)
        index = function.give(f"load i64, ptr {variable}")
        yield index
        following = function.give(f"add nuw nsw i64 {index}, {step}")
        function.line(f"store i64 {following}, ptr {variable}")
        more = function.give(f"icmp ult i64 {following}, {size}")
        function.line(f"br i1 {more}, label %{head}, label %{done}")
        function.label(done)


def _mangled(kind: str) -> str:
    return {"float": "f32", "double": "f64"}.get(kind, kind)


def _reach(access: Access) -> tuple[int, int]:
    """Prefers what is stepped along most axes, then what covers most memory."""
    return sum(step != 0 for step in access.strides), sum(map(abs, access.strides))
