"""Loops as machine code: one nest of loops for each `Loop`, its innermost axis on vectors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from lamina.codegen.graph import REDUCTION, Graph, Node, Number, Operand, View
from lamina.codegen.llvm.ir import KIND_OF, Block, Function, Lanes
from lamina.codegen.llvm.moving import Access, Mover
from lamina.codegen.llvm.operations import OPERATIONS, cast
from lamina.codegen.schedule import Loop, Nest

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
        rows: The sizes of the leading axes, if a nest goes over them for several loops at once.
        temporaries: Values of which only one row is in memory at a time.
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
    rows: tuple[int, ...] = ()
    temporaries: frozenset[int] = frozenset()
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.mover = Mover(self.function)

    def write(self) -> None:
        """Write all of it."""
        if 0 in self.loop.shape:
            return
        self.begin()
        self._outer(0)
        self.end()

    def begin(self) -> None:
        """Find out what there is to do, and start the sums that are collected in memory."""
        self._find_accesses()
        self._order_axes()
        for entry in self.sums:
            strides = entry.memory.strides
            crosses_rows = any(axis < len(self.rows) for axis in entry.node.axes)
            kept = zip(strides[:-1], self.sizes[:-1], strict=True)
            is_whole = all(step or size == 1 for step, size in kept)
            entry.is_direct = strides[-1] == 0 and is_whole and not crosses_rows
            if strides[-1] == 0:
                kind = KIND_OF[entry.dtype.char]
                entry.variable = self.function.slot(f"<{self.width} x {kind}>")
            if not entry.is_direct:
                self._fill(entry)

    def row(self, indices: list[str]) -> None:
        """One row of a nest: all of the loop at a position of the outer axes."""
        for access in self._all():
            access.place = access.base
            for index, step in zip(indices, access.rows, strict=True):
                access.place = self.mover.stepped(access.place, index, step)
        self._outer(0)

    def end(self) -> None:
        """Bring the sums that were collected in memory into the results."""
        for entry in self.sums:
            if not entry.is_direct:
                self._finish(entry)

    # --- what is read and written ----------------------------------------------------------------

    def _find_accesses(self) -> None:
        made: set[int] = set()
        for node in self.loop.nodes:
            for view in node.views():
                if view.value not in made:
                    base = self.mover.at(self.address(view.value), view.offset)
                    steps = self._steps(view.value, view.strides)
                    self.loads.setdefault(view, Access(base, view.dtype, steps))
            if node.kind == REDUCTION:
                self._add_sum(node)
                continue
            made.update(node.results)
            for value in node.results:
                if value in self.loop.stored:
                    kind = self.graph.values[value]
                    steps = self._steps(value, kind.strides)
                    self.stores[value] = Access(self.address(value), kind.dtype, steps)

    def _steps(self, value: int, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Strides of a value; along rows it has none if it is there for one row only."""
        if value not in self.temporaries:
            return strides
        depth = len(self.rows)
        return (0,) * depth + strides[depth:]

    def _add_sum(self, node: Node) -> None:
        result = self.graph.values[node.results[0]]
        kind = accumulator_dtype(node.op, result.dtype)
        base = self.address(node.results[0])
        scratch = self.scratch(node)
        kept = iter(result.strides)
        taken = [0 if i in node.axes else next(kept) for i in range(len(self.loop.shape))]
        steps = self._steps(node.results[0], tuple(taken))
        size = result.dtype.itemsize
        wide = tuple(step // size * kind.itemsize for step in steps)
        memory = Access(base if scratch is None else scratch, kind, wide)
        self.sums.append(_Sum(node, memory, Access(base, result.dtype, steps), kind))

    def _all(self) -> list[Access]:
        found = [*self.loads.values(), *self.stores.values()]
        for entry in self.sums:
            found += [entry.memory, entry.result]
        return found

    def _order_axes(self) -> None:
        """Go through memory in its order, and take axes together that follow on each other."""
        accesses, depth = self._all(), len(self.rows)
        axes = [i for i, size in enumerate(self.loop.shape) if size > 1 and i >= depth]
        lead = max(accesses[: len(self.loads) + len(self.stores)] or accesses, key=_reach)
        axes.sort(key=lambda i: -abs(lead.strides[i]))
        sizes = [self.loop.shape[i] for i in axes]
        strides = [[access.strides[i] for i in axes] for access in accesses]
        _merge(sizes, strides)
        if not sizes:
            sizes, strides = [1], [[0] for _ in accesses]
        self.sizes = tuple(sizes)
        for access, steps in zip(accesses, strides, strict=True):
            access.rows = access.strides[:depth]
            access.strides = tuple(steps)
            access.place = access.base

    # --- the nest of loops -----------------------------------------------------------------------

    def _outer(self, axis: int) -> None:
        if axis == len(self.sizes) - 1:
            self._inner()
            return
        with self.mover.counted(self.sizes[axis], 1) as index:
            accesses = self._all()
            before = [access.place for access in accesses]
            for access in accesses:
                access.place = self.mover.stepped(access.place, index, access.strides[axis])
            self._outer(axis + 1)
            for access, place in zip(accesses, before, strict=True):
                access.place = place

    def _inner(self) -> None:
        """The innermost axis: vectors, and one more with some lanes masked."""
        size = self.sizes[-1]
        whole, rest = size // self.width * self.width, size % self.width
        block = Block(self.function, self.width)
        for access in self.loads.values():
            access.hoisted = (
                self.mover.broadcast(block, access) if access.strides[-1] == 0 else None
            )
        for entry in self.sums:
            if entry.variable:
                start = block.constant(KIND_OF[entry.dtype.char], self._identity(entry))
                self.mover.put(entry.variable, start)
        if whole == self.width:
            self._body(block, "0", self.width)
        elif whole:
            with self.mover.counted(whole, self.width) as index:
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
            self.mover.store(block, access, index, count, known[value])
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
            known[operand] = hoisted or self.mover.load(block, access, index, count)
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
            old = self.mover.load(block, entry.memory, index, count)
            self.mover.store(block, entry.memory, index, count, self._combine(entry, old, lanes))
            return
        if count < block.width:
            lanes = self.mover.mask(block, count).where(lanes, self._identity(entry))
        old = self.mover.get(block, entry.variable, lanes.kind)
        self.mover.put(entry.variable, self._combine(entry, old, lanes))

    def _collect(self, block: Block, entry: _Sum) -> None:
        """Bring the lanes of a reduction together, and add that to memory."""
        kind, width = KIND_OF[entry.dtype.char], block.width
        lanes = self.mover.get(block, entry.variable, kind)
        while width > 1:
            half = width // 2
            parts = [self._part(lanes, width, half, start) for start in (0, half)]
            lanes = self._combine(entry, *parts)
            width = half
        if entry.is_direct:
            done = cast(lanes, entry.dtype, entry.result.dtype)
            self.mover.store(lanes.block, entry.result, "0", 1, done)
            return
        old = self.mover.load(lanes.block, entry.memory, "0", 1)
        self.mover.store(lanes.block, entry.memory, "0", 1, self._combine(entry, old, lanes))

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
            self.mover.store(block, memory, index, count, start)

        self._run(size, body)

    def _finish(self, entry: _Sum) -> None:
        """Bring accumulators that have a wider dtype into the result."""
        memory, result, size = self._flat(entry)
        if memory.base == result.base:
            return

        def body(block: Block, index: str, count: int) -> None:
            lanes = self.mover.load(block, memory, index, count)
            self.mover.store(
                block, result, index, count, cast(lanes, entry.dtype, entry.result.dtype)
            )

        self._run(size, body)

    def _run(self, size: int, body: Callable[[Block, str, int], None]) -> None:
        block = Block(self.function, self.width)
        whole, rest = size // self.width * self.width, size % self.width
        if whole:
            with self.mover.counted(whole, self.width) as index:
                body(block, index, self.width)
        if rest:
            body(block, str(whole), rest)


def _merge(sizes: list[int], strides: list[list[int]]) -> None:
    """Make one axis of two wherever all strides allow it."""
    for k in reversed(range(len(sizes) - 1)):
        if all(steps[k] == steps[k + 1] * sizes[k + 1] for steps in strides):
            sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
            for steps in strides:
                del steps[k]


def _reach(access: Access) -> tuple[int, int]:
    """Prefers what is stepped along most axes, then what covers most memory."""
    return sum(step != 0 for step in access.strides), sum(map(abs, access.strides))


def write_nest(nest: Nest, make: Callable[..., LoopWriter], function: Function) -> None:
    """Write several loops that go over the same rows: all of them for one row, then the next."""
    temporaries = frozenset(nest.temporaries)
    writers = [make(loop, rows=nest.rows, temporaries=temporaries) for loop in nest.loops]
    for writer in writers:
        writer.begin()
    mover, indices = Mover(function), []
    with ExitStack() as stack:
        for size in nest.rows:
            indices.append(stack.enter_context(mover.counted(size)))
        for writer in writers:
            writer.row(indices)
    for writer in writers:
        writer.end()
