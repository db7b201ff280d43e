"""Loops as machine code: one nest of loops for each `Loop`, its innermost axis on vectors.

A loop that is cut is written in two places: a task does one piece of it, and the function that
starts the task what comes before and after all pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from lamina.codegen.graph import REDUCTION, Graph, Node, Number, Operand, View
from lamina.codegen.llvm.ir import KIND_OF, Block, Function, Lanes
from lamina.codegen.llvm.moving import Access, Mover
from lamina.codegen.llvm.operations import OPERATIONS, cast
from lamina.codegen.llvm.sums import Sum, accumulator_dtype
from lamina.codegen.splitting import axis_order
from lamina.codegen.steps import Cut, Loop, Nest


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """Where loops are written, and how they find memory.

    Attributes:
        function: The function.
        graph: The graph that the loops are of.
        address: Gives the address of a value (its number), or some bytes (a second number) further.
        scratch: Gives the address of a reduction's accumulators, if they are apart from its result.
        width: How many lanes a vector has.
        piece: In a task: from where to where it goes along the axis that is cut.
        is_flat: Whether that is the only axis, of any length when the code runs.
    """

    function: Function
    graph: Graph
    address: Callable[..., str]
    scratch: Callable[[Node], str | None]
    width: int
    piece: tuple[str, str] | None = None
    is_flat: bool = False


@final
@dataclass
class LoopWriter:
    """Writes one loop into a function.

    Attributes:
        rows: The sizes of the leading axes, if a nest goes over them for several loops at once.
        temporaries: Values of which only one row is in memory at a time.
        cut: How the loop (or its nest) is cut.
    """

    setting: Setting
    loop: Loop
    rows: tuple[int, ...] = ()
    temporaries: frozenset[int] = frozenset()
    cut: Cut | None = None
    loads: dict[View, Access] = field(default_factory=dict)
    stores: dict[int, Access] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    sizes: tuple[int, ...] = ()
    cut_at: int | None = None  # which of `sizes` is cut

    def __post_init__(self) -> None:
        self.function, self.graph = self.setting.function, self.setting.graph
        self.width = self.setting.width
        self.mover = Mover(self.function)
        self._find_accesses()
        self._order_axes()
        for entry in self.sums:
            self._classify(entry)

    # --- in this order ---------------------------------------------------------------------------

    def before(self) -> None:
        """Start the sums that are collected in memory for the whole loop."""
        for entry in self.sums:
            if not entry.is_direct and entry.pieces == 1:
                entry.fill()

    def open_piece(self) -> None:
        """In a task: start the sums that are collected for its piece."""
        for entry in self.sums:
            if entry.pieces > 1:
                entry.fill()

    def work(self) -> None:
        """Go over everything, or in a task over its piece."""
        self._outer(0)

    def row(self, indices: list[str]) -> None:
        """One row of a nest: all of the loop at a position of the outer axes."""
        for access in self._all():
            access.place = access.base
            for index, step in zip(indices, access.rows, strict=True):
                access.place = self.mover.stepped(access.place, index, step)
        self._outer(0)

    def after(self) -> None:
        """Bring the sums that were collected in memory into the results."""
        for entry in self.sums:
            if not entry.is_direct:
                entry.finish()

    # --- what is read and written ----------------------------------------------------------------

    def _find_accesses(self) -> None:
        made: set[int] = set()
        for node in self.loop.nodes:
            for view in node.views():
                if view.value not in made:
                    base = self.setting.address(view.value, view.offset)
                    steps = self._steps(view.value, view.strides)
                    self.loads.setdefault(view, Access(base, view.dtype, steps))
            if node.kind == REDUCTION:
                self.sums.append(self._sum(node))
                continue
            made.update(node.results)
            for value in node.results:
                if value in self.loop.stored:
                    kind = self.graph.values[value]
                    steps = self._steps(value, kind.strides)
                    self.stores[value] = Access(self.setting.address(value), kind.dtype, steps)

    def _steps(self, value: int, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Strides of a value; along rows it has none if it is there for one row only."""
        if value not in self.temporaries:
            return strides
        depth = len(self.rows)
        return (0,) * depth + strides[depth:]

    def _sum(self, node: Node) -> Sum:
        result = self.graph.values[node.results[0]]
        kind = accumulator_dtype(node.op, result.dtype)
        base = self.setting.address(node.results[0])
        scratch = self.setting.scratch(node) or base
        pieces = self.cut.sets_of(node) if self.cut is not None else 1
        if pieces > 1 and self.setting.piece is not None:
            scratch = self._own_piece(scratch, result.size * kind.itemsize)
        kept = iter(result.strides)
        taken = [0 if i in node.axes else next(kept) for i in range(len(self.loop.shape))]
        steps = self._steps(node.results[0], tuple(taken))
        size = result.dtype.itemsize
        wide = tuple(step // size * kind.itemsize for step in steps)
        return Sum(
            self.function, self.width, node, Access(scratch, kind, wide),
            Access(base, result.dtype, steps), kind, result.size, pieces,
        )  # fmt: skip

    def _own_piece(self, scratch: str, nbytes: int) -> str:
        assert self.cut is not None
        assert self.setting.piece is not None
        number = self.function.give(f"udiv i64 {self.setting.piece[0]}, {self.cut.grain}")
        return self.mover.stepped(scratch, number, nbytes)

    def _all(self) -> list[Access]:
        found = [*self.loads.values(), *self.stores.values()]
        for entry in self.sums:
            found += [entry.memory, entry.result]
        return found

    def _order_axes(self) -> None:
        """Go through memory in its order, and take axes together that follow on each other."""
        accesses, depth = self._all(), len(self.rows)
        axes = axis_order(self.graph, self.loop, depth)
        sizes = [self.loop.shape[i] for i in axes]
        strides = [[access.strides[i] for i in axes] for access in accesses]
        alone = axes.index(self.cut.axis) if self.cut and self.cut.axis in axes else None
        self.cut_at = _merge(sizes, strides, alone)
        if not sizes:
            sizes, strides = [1], [[0] for _ in accesses]
        self.sizes = tuple(sizes)
        for access, steps in zip(accesses, strides, strict=True):
            access.rows = access.strides[:depth]
            access.strides = tuple(steps)
            access.place = access.base

    def _classify(self, entry: Sum) -> None:
        """How a sum is collected."""
        strides = entry.memory.strides
        if strides[-1] == 0:
            kind = KIND_OF[entry.dtype.char]
            entry.variable = self.function.slot(f"<{self.width} x {kind}>")
        crosses_rows = any(axis < len(self.rows) for axis in entry.node.axes)
        kept = zip(strides[:-1], self.sizes[:-1], strict=True)
        is_whole = all(step or size == 1 for step, size in kept)
        is_alone = strides[-1] == 0 and is_whole and not crosses_rows
        entry.is_direct = is_alone and entry.pieces == 1

    # --- the nest of loops -----------------------------------------------------------------------

    def _outer(self, axis: int) -> None:
        if axis == len(self.sizes) - 1:
            self._inner()
            return
        piece = self.setting.piece if axis == self.cut_at else None
        start, stop = piece or (0, self.sizes[axis])
        with self.mover.counted(start, stop, 1) as index:
            accesses = self._all()
            before = [access.place for access in accesses]
            for access in accesses:
                access.place = self.mover.stepped(access.place, index, access.strides[axis])
            self._outer(axis + 1)
            for access, place in zip(accesses, before, strict=True):
                access.place = place

    def _inner(self) -> None:
        """The innermost axis: vectors, and one more with some lanes masked."""
        block = Block(self.function, self.width)
        for access in self.loads.values():
            is_same = access.strides[-1] == 0
            access.hoisted = self.mover.broadcast(block, access) if is_same else None
        for entry in self.sums:
            entry.open(block)
        if self.setting.piece is not None and self.cut_at == len(self.sizes) - 1:
            self._piece_of_a_row(block, *self.setting.piece)
        else:
            self._row(block)
        for entry in self.sums:
            entry.close(block)

    def _row(self, block: Block) -> None:
        size = self.sizes[-1]
        whole, rest = size // self.width * self.width, size % self.width
        if whole == self.width:
            self._body(block, "0", self.width)
        elif whole:
            with self.mover.counted(0, whole, self.width) as index:
                self._body(block, index, self.width)
        if rest:
            self._body(block, str(whole), rest)

    def _piece_of_a_row(self, block: Block, begin: str, end: str) -> None:
        """As `_row`. Pieces begin at whole vectors; only the last may end with a part of one."""
        size = self.sizes[-1]
        rest = size % self.width
        has_rest = rest or self.setting.is_flat
        stop = self.function.give(f"and i64 {end}, {-self.width}") if has_rest else end
        with self.mover.only_if(f"icmp ult i64 {begin}, {stop}"):  # noqa: SIM117
            with self.mover.counted(begin, stop, self.width) as index:
                self._body(block, index, self.width)
        if self.setting.is_flat:
            left = self.function.give(f"sub i64 {end}, {stop}")
            with self.mover.only_if(f"icmp ne i64 {left}, 0"):
                self._body(block, stop, left)
        elif rest:
            with self.mover.only_if(f"icmp eq i64 {end}, {size}"):
                self._body(block, str(size - rest), rest)

    def _body(self, block: Block, index: str, count: int | str) -> None:
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
            assert isinstance(count, int)
            entry.add(block, index, count, lanes)

    def _apply(self, node: Node, operands: list[Lanes]) -> Lanes:
        kind = _dtype(node.operands[-1])
        if node.op == "cast":
            return cast(operands[0], kind, self.graph.values[node.results[0]].dtype)
        return OPERATIONS[node.op](*operands, kind.kind == "i")

    def _operand(
        self, block: Block, operand: Operand, index: str, count: int | str, known: dict[Any, Lanes]
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


def _dtype(operand: Operand) -> np.dtype[Any]:
    return operand.value.dtype if isinstance(operand, Number) else operand.dtype


def _merge(sizes: list[int], strides: list[list[int]], alone: int | None) -> int | None:
    """Make one axis of two where all strides allow it, but not of `alone`; gives its new place."""
    for k in reversed(range(len(sizes) - 1)):
        is_free = alone not in (k, k + 1)
        if is_free and all(steps[k] == steps[k + 1] * sizes[k + 1] for steps in strides):
            sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
            for steps in strides:
                del steps[k]
            if alone is not None and alone > k:
                alone -= 1
    return alone


# --- loops and nests -----------------------------------------------------------------------------


def writers(step: Loop | Nest, setting: Setting) -> list[LoopWriter]:
    """What writes a loop, or the loops of a nest."""
    if isinstance(step, Loop):
        return [LoopWriter(setting, step, cut=step.cut)]
    temporaries = frozenset(step.temporaries)
    return [LoopWriter(setting, loop, step.rows, temporaries, step.cut) for loop in step.loops]


def write_body(step: Loop | Nest, parts: Sequence[LoopWriter], setting: Setting) -> None:
    """All that a loop, or a nest row by row, does; in a task for its piece."""
    if isinstance(step, Loop):
        parts[0].work()
        return
    mover, indices = Mover(setting.function), []
    with ExitStack() as stack:
        for axis, size in enumerate(step.rows):
            is_cut = step.cut is not None and step.cut.axis == axis
            start, stop = (setting.piece if is_cut else None) or (0, size)
            indices.append(stack.enter_context(mover.counted(start, stop, 1)))
        for part in parts:
            part.row(indices)
