"""Loops as machine code: one nest of loops for each `Loop`, its innermost axis on vectors.

A loop that is cut is written in two places: a task does one piece of it, and the function that
starts the task what comes before and after all pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import prod
from typing import Any, final

import numpy as np

from lamina.codegen.graph import REDUCTION, Graph, Node, View
from lamina.codegen.llvm.bodies import Body
from lamina.codegen.llvm.ir import Block, Function
from lamina.codegen.llvm.moving import Access, Mover
from lamina.codegen.llvm.sums import Spot, Sum, accumulator_dtype
from lamina.codegen.splitting import axis_order
from lamina.codegen.steps import Cut, Loop, Nest
from lamina.codegen.together import group_for, weight_of


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
        together: How many rows are done together, if sums go across them.
    """

    setting: Setting
    loop: Loop
    rows: tuple[int, ...] = ()
    temporaries: frozenset[int] = frozenset()
    cut: Cut | None = None
    together: int = 1
    loads: dict[View, Access] = field(default_factory=dict)
    stores: dict[int, Access] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    sizes: tuple[int, ...] = ()
    cut_at: int | None = None  # which of `sizes` is cut
    vectors: int = 1  # how many vectors of a row are done together

    def __post_init__(self) -> None:
        self.function, self.graph = self.setting.function, self.setting.graph
        self.width = self.setting.width
        self.mover = Mover(self.function)
        self._find_accesses()
        self._order_axes()
        for entry in self.sums:
            self._classify(entry)
        self.body = Body(
            self.mover, self.graph, self.loop.nodes, self.loads, self.stores, self.sums
        )
        self._find_groups()

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
        self._outer(0, 1)

    def row(self, indices: list[str], place: str, count: int) -> None:
        """One row of a nest, or some: all of the loop at a position of the outer axes.

        Args:
            indices: The position.
            place: Which of the rows that are done together the first one is.
            count: How many there are.
        """
        for access in self._all():
            access.place = self.mover.stepped(access.base, place, access.kept)
            for index, step in zip(indices, access.rows, strict=True):
                access.place = self.mover.stepped(access.place, index, step)
        self._outer(0, count)

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
                    kept = self._kept(view.value, view.dtype)
                    self.loads.setdefault(view, Access(base, view.dtype, steps, kept=kept))
            if node.kind == REDUCTION:
                self.sums.append(self._sum(node))
                continue
            made.update(node.results)
            for value in node.results:
                if value in self.loop.stored:
                    kind = self.graph.values[value]
                    steps, kept = self._steps(value, kind.strides), self._kept(value, kind.dtype)
                    base = self.setting.address(value)
                    self.stores[value] = Access(base, kind.dtype, steps, kept=kept)

    def _steps(self, value: int, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Strides of a value; along rows it has none if it is there for one row only."""
        if value not in self.temporaries:
            return strides
        depth = len(self.rows)
        return (0,) * depth + strides[depth:]

    def _kept(self, value: int, dtype: np.dtype[Any]) -> int:
        """The bytes of a row of a value, if only the rows that are done together are there."""
        if value not in self.temporaries:
            return 0
        return prod(self.graph.values[value].shape[len(self.rows) :]) * dtype.itemsize

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
        rows = [self._kept(node.results[0], each) for each in (kind, result.dtype)]
        return Sum(
            self.function, self.width, node, Access(scratch, kind, wide, kept=rows[0]),
            Access(base, result.dtype, steps, kept=rows[1]), kind, result.size, pieces,
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
            if depth:
                access.apart = access.rows[-1] + access.kept
            elif len(sizes) > 1:
                access.apart = steps[-2]

    def _classify(self, entry: Sum) -> None:
        """How a sum is collected."""
        strides = entry.memory.strides
        entry.is_along = strides[-1] == 0
        crosses_rows = any(axis < len(self.rows) for axis in entry.node.axes)
        kept = zip(strides[:-1], self.sizes[:-1], strict=True)
        is_whole = all(step or size == 1 for step, size in kept)
        is_alone = entry.is_along and is_whole and not crosses_rows
        entry.is_direct = is_alone and entry.pieces == 1

    def _find_groups(self) -> None:
        """How many rows, and how many vectors of a row, are done together.

        Sums across rows gain by several rows, sums along them by several vectors: what is added
        goes to the accumulators once for all of them.
        """
        weight = weight_of(self.loop)
        crosses = any(not (entry.is_along or entry.memory.apart) for entry in self.sums)
        if not crosses or (len(self.sizes) == 1 and not self.rows):
            self.together = 1
        elif not self.rows:
            self.together = group_for(weight, self.sizes[-2])
        if any(entry.is_along for entry in self.sums):
            self.vectors = group_for(weight * self.together, self.sizes[-1] // self.width)

    # --- the nest of loops -----------------------------------------------------------------------

    def _outer(self, axis: int, rows: int) -> None:
        if axis == len(self.sizes) - 1:
            self._inner(rows)
            return
        start, stop = (self.setting.piece if axis == self.cut_at else None) or (0, self.sizes[axis])
        group = self.together if axis == len(self.sizes) - 2 and not self.rows else 1

        def body(index: str, count: int) -> None:
            accesses = self._all()
            before = [access.place for access in accesses]
            for access in accesses:
                access.place = self.mover.stepped(access.place, index, access.strides[axis])
            self._outer(axis + 1, count)
            for access, place in zip(accesses, before, strict=True):
                access.place = place

        grain = self.cut.grain if self.cut and axis == self.cut_at else 0
        has_rest = bool(self.sizes[axis] % group or grain % group)
        self.mover.in_groups(start, stop, group, body, has_rest)

    def _inner(self, rows: int) -> None:
        """The innermost axis: vectors, and one more with some lanes masked."""
        # One number alone is worth one lane: C's functions on 16 of them took 0.5 us each.
        self.width = 1 if self.sizes == (1,) else self.setting.width
        block = Block(self.function, self.width)
        for access in self.loads.values():
            own = range(rows if access.apart else 1)
            is_same = access.strides[-1] == 0
            access.hoisted = (
                [self.mover.broadcast(block, access, row) for row in own] if is_same else None
            )
        for entry in self.sums:
            entry.open(block, rows)
        if self.setting.piece is not None and self.cut_at == len(self.sizes) - 1:
            self._piece_of_a_row(block, *self.setting.piece, rows)
        else:
            self._row(block, rows)
        for entry in self.sums:
            entry.close(block)

    def _row(self, block: Block, rows: int) -> None:
        size, step = self.sizes[-1], self.width * self.vectors
        whole, rest = size // self.width * self.width, size % self.width
        grouped = whole // step * step
        if grouped == step:
            self._body(block, "0", self.width, rows, self.vectors)
        elif grouped:
            with self.mover.counted(0, grouped, step) as index:
                self._body(block, index, self.width, rows, self.vectors)
        if grouped < whole:
            left = (whole - grouped) // self.width
            self._body(block, str(grouped), self.width, rows, left)
        if rest:
            self._body(block, str(whole), rest, rows, 1)

    def _piece_of_a_row(self, block: Block, begin: str, end: str, rows: int) -> None:
        """As `_row`. Pieces begin at whole vectors; only the last may end with a part of one."""
        size = self.sizes[-1]
        rest = size % self.width
        has_rest = rest or self.setting.is_flat
        stop = self.function.give(f"and i64 {end}, {-self.width}") if has_rest else end
        step = self.width * self.vectors
        grouped = begin
        if self.vectors > 1:
            length = self.function.give(f"sub i64 {stop}, {begin}")
            whole = self.function.give(f"and i64 {length}, {-step}")
            grouped = self.function.give(f"add i64 {begin}, {whole}")
            with self.mover.only_if(f"icmp ult i64 {begin}, {grouped}"):  # noqa: SIM117
                with self.mover.counted(begin, grouped, step) as index:
                    self._body(block, index, self.width, rows, self.vectors)
        with self.mover.only_if(f"icmp ult i64 {grouped}, {stop}"):  # noqa: SIM117
            with self.mover.counted(grouped, stop, self.width) as index:
                self._body(block, index, self.width, rows, 1)
        if self.setting.is_flat:
            left = self.function.give(f"sub i64 {end}, {stop}")
            with self.mover.only_if(f"icmp ne i64 {left}, 0"):
                self._body(block, stop, left, rows, 1)
        elif rest:
            with self.mover.only_if(f"icmp eq i64 {end}, {size}"):
                self._body(block, str(size - rest), rest, rows, 1)

    def _body(self, block: Block, index: str, count: int | str, rows: int, vectors: int) -> None:
        """All nodes for `count` elements from `index` on, and for as many vectors behind them."""
        mover, places = self.mover, [index]
        places += [mover.further(index, k * self.width) for k in range(1, vectors)]
        spots = [Spot(place, count, row) for place in places for row in range(rows)]
        self.body.write(block, spots)


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
    return [
        LoopWriter(setting, loop, step.rows, temporaries, step.cut, step.together)
        for loop in step.loops
    ]


def write_body(step: Loop | Nest, parts: Sequence[LoopWriter], setting: Setting) -> None:
    """All that a loop, or a nest row by row, does; in a task for its piece."""
    if isinstance(step, Loop):
        parts[0].work()
        return
    mover, outer = Mover(setting.function), list[str]()
    last = len(step.rows) - 1

    def range_of(axis: int) -> tuple[int | str, int | str]:
        is_cut = step.cut is not None and step.cut.axis == axis
        return (setting.piece if is_cut else None) or (0, step.rows[axis])

    def body(index: str, count: int) -> None:
        for part in parts:
            if part.together >= count:
                part.row([*outer, index], "0", count)
                continue
            with mover.counted(0, count) as place:
                part.row([*outer, mover.further(index, place)], place, 1)

    with ExitStack() as stack:
        for axis in range(last):
            outer.append(stack.enter_context(mover.counted(*range_of(axis))))
        grain = step.cut.grain if step.cut is not None and step.cut.axis == last else 0
        has_rest = bool(step.rows[last] % step.together or grain % step.together)
        mover.in_groups(*range_of(last), step.together, body, has_rest)
