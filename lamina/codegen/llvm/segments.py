"""Segments: neighbouring steps of a schedule as one function of machine code.

A segment finds all memory through one argument, a table of addresses. Each of its steps is a
function of a table of its own, with the addresses that it reads and writes and nothing else that is
particular to it: so steps that are alike, such as the layers of a network or the time steps of a
recurrent one, are one function. What several threads share becomes a task (see `threads`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

from lamina.codegen.graph import PANELS, Graph, Node
from lamina.codegen.llvm import pool_code
from lamina.codegen.llvm.ir import TASK, Function
from lamina.codegen.llvm.loops import Setting, write_body, writers
from lamina.codegen.llvm.machine import lane_count
from lamina.codegen.llvm.moving import Mover
from lamina.codegen.llvm.panels import PanelProduct
from lamina.codegen.llvm.products import Product
from lamina.codegen.llvm.side_by_side import (
    TURNS,
    Piece,
    list_of,
    ranges_of,
    side_by_side,
    write_runner,
)
from lamina.codegen.memory import Plan
from lamina.codegen.splitting import cycles
from lamina.codegen.steps import Loop, Nest, Step
from lamina.devices.thread_count import capacity


@final
class Memory(NamedTuple):
    """Where the values of a graph are.

    Attributes:
        scratch: Where in the arena the memory is that serves while a value is made: where
            reductions add up that do so apart from their result, and factors are packed.
    """

    graph: Graph
    plan: Plan
    scratch: dict[int, int]


@final
class Place(NamedTuple):
    """Memory that a step needs: a value from some byte on, or the accumulators of one."""

    value: int
    offset: int = 0
    is_scratch: bool = False


@final
@dataclass
class _Callee:
    """A function that does one step, or a task of it.

    Attributes:
        places: What its table has addresses of; a task shares the table of its step.
        worker: In a task: the number of the thread, for memory that each has for itself.
    """

    function: Function
    memory: Memory
    places: list[Place] = field(default_factory=list)
    worker: str = ""
    known: dict[Place, str] = field(default_factory=dict)

    def address(self, value: int, offset: int = 0) -> str:
        """Where a value begins, or some bytes further."""
        base = self._base_of(Place(value, offset))
        apart = self.memory.plan.row_bytes.get(value)
        if not self.worker or apart is None:
            return base
        return Mover(self.function).stepped(base, self.worker, apart)

    def accumulators(self, node: Node) -> str | None:
        """Where a reduction adds up, if that is not its result."""
        value = node.results[0]
        return self.scratch(value) if value in self.memory.scratch else None

    def scratch(self, value: int) -> str:
        """Memory that serves while a value is made."""
        return self._base_of(Place(value, 0, True))

    def setting(self, piece: tuple[str, str] | None = None) -> Setting:
        """For loops that are written here."""
        graph = self.memory.graph
        return Setting(self.function, graph, self.address, self.accumulators, lane_count(), piece)

    def task(self) -> _Callee:
        """A task that is started from here."""
        return _Callee(Function("task", TASK), self.memory, self.places, "%worker")

    def _base_of(self, place: Place) -> str:
        if place not in self.places:
            self.places.append(place)
        if place not in self.known:
            at = self.places.index(place)
            slots = self.function.slots
            slots.append(f"  %at{at} = getelementptr ptr, ptr %table, i64 {at}")
            slots.append(f"  %base{at} = load ptr, ptr %at{at}")
            self.known[place] = f"%base{at}"
        return self.known[place]


@final
class Writer:
    """Writes segments; those of one module share the functions of steps that are alike.

    Attributes:
        functions: All that was written.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._names: dict[str, str] = {}
        self._has_own_products = False
        self.functions: list[Function] = []

    @property
    def has_tasks(self) -> bool:
        """Whether threads share anything."""
        return self._has_own_products or any(
            function.parameters == TASK for function in self.functions
        )

    def write(self, name: str, steps: Sequence[Step]) -> None:
        """One segment."""
        segment = _Segment(Function(name), self._memory)
        wanted = [step for step in steps if isinstance(step, Node) or 0 not in step.shape]
        for group in side_by_side(wanted, self._memory.graph, self._memory.plan):
            if isinstance(group, list):
                self._shared(segment, group)
            else:
                self._alone(segment, group)
        self.functions.append(segment.finished())

    def _alone(self, segment: _Segment, step: Step) -> None:
        callee = _Callee(Function("step"), self._memory)
        if isinstance(step, Node):
            self._product(callee, step)
        else:
            self._loop(callee, step)
        segment.call(self._kept(callee.function), callee.places)

    def _shared(self, segment: _Segment, loops: Sequence[Loop]) -> None:
        """Loops that threads do side by side: the pieces of all of them are shared out at once."""
        pieces, places = list[Piece](), list[Place]()
        all_cycles = sum(map(cycles, loops))
        for loop in loops:
            task = _Callee(Function("task", TASK), self._memory, worker="%worker")
            inner = task.setting(None if loop.cut is None else ("%begin", "%end"))
            write_body(loop, writers(loop, inner), inner)
            name, first = self._kept(task.function), 1 + len(places)
            ranges = ranges_of(loop, cycles(loop) / all_cycles)
            pieces += [Piece(name, first, begin, end) for begin, end in ranges]
            places += task.places
        runner = self._kept(write_runner())
        segment.share(runner, pieces, places)

    def _loop(self, callee: _Callee, step: Loop | Nest) -> None:
        setting = callee.setting()
        parts = writers(step, setting)
        for part in parts:
            part.before()
        if step.cut is None:
            write_body(step, parts, setting)
        else:
            task = callee.task()
            inner = task.setting(("%begin", "%end"))
            pieces = writers(step, inner)
            for piece in pieces:
                piece.open_piece()
            write_body(step, pieces, inner)
            size = step.shape[step.cut.axis]
            _start(callee.function, self._kept(task.function), size, step.cut.grain)
        for part in parts:
            part.after()

    def _product(self, callee: _Callee, node: Node) -> None:
        product, function = _product_of(self._memory.graph, node), callee.function
        if product.addend is not None and node.results[0] not in self._memory.plan.in_place:
            product.write_start(function, callee.address)
        if isinstance(product, Product) and product.plan is not None:
            product.write_own(function, callee.address, callee.scratch(node.results[0]))
            self._has_own_products = True
            return
        share = product.share(capacity())
        if share is None:
            product.write(function, product.places(callee.address))
            return
        task = callee.task()
        product.write_piece(task.function, product.places(task.address), share)
        _start(function, self._kept(task.function), share.size, share.grain)

    def _kept(self, function: Function) -> str:
        """The name of a function, or of one like it that was written before."""
        body = function.parameters + function.body()
        if body not in self._names:
            function.name = self._names[body] = f"{function.name}{len(self._names)}"
            function.is_internal = True
            self.functions.append(function)
        return self._names[body]


@final
@dataclass
class _Segment:
    """A function that calls the functions of steps, one after another."""

    function: Function
    memory: Memory
    most: int = 1
    known: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._mover = Mover(self.function)

    def call(self, name: str, places: Sequence[Place]) -> None:
        """Call a step's function with the addresses that it needs."""
        self._put(places, 0)
        self.function.line(f"call void @{name}(ptr %places)")

    def share(self, runner: str, pieces: Sequence[Piece], places: Sequence[Place]) -> None:
        """Have threads do pieces, whose tables follow on each other."""
        self._put(places, 1)
        self.function.line(f"store ptr {list_of(self.function, pieces)}, ptr %places")
        _start(self.function, runner, len(pieces), max(len(pieces) // TURNS, 1), "%places")

    def _put(self, places: Sequence[Place], first: int) -> None:
        """Fill a table with addresses, from an entry on."""
        self.most = max(self.most, first + len(places))
        for k, place in enumerate(places):
            at = self.function.give(f"getelementptr ptr, ptr %places, i64 {first + k}")
            self.function.line(f"store ptr {self._address(place)}, ptr {at}")

    def finished(self) -> Function:
        """The function, whole."""
        self.function.slots.insert(0, f"  %places = alloca [{self.most} x ptr]")
        return self.function

    def _address(self, place: Place) -> str:
        graph, plan, scratch = self.memory
        value, offset, is_scratch = place
        if is_scratch:
            return self._mover.at(self._base_of(0), scratch[value])
        value, start = graph.home_of(value)
        offset += start
        if value in plan.slots:
            return self._mover.at(self._base_of(plan.slots[value]), offset)
        start = plan.offsets[value] + graph.values[value].lead
        return self._mover.at(self._base_of(0), start + offset)

    def _base_of(self, slot: int) -> str:
        if slot not in self.known:
            at, loaded = f"%at{slot}", f"%base{slot}"
            self.function.slots.append(f"  {at} = getelementptr i64, ptr %table, i64 {slot}")
            self.function.slots.append(f"  {loaded} = load ptr, ptr {at}")
            self.known[slot] = loaded
        return self.known[slot]


def _product_of(graph: Graph, node: Node) -> Product | PanelProduct:
    return PanelProduct(graph, node) if node.op == PANELS else Product(graph, node)


def wake_blas(steps: Sequence[Step], graph: Graph) -> bool:
    """Whether BLAS would use threads of its own for any product among some steps."""
    products = (step for step in steps if isinstance(step, Node))
    return any(node.op != PANELS and Product(graph, node).wakes_blas for node in products)


def write_flat(name: str, loop: Loop, graph: Graph, plan: Plan) -> tuple[Function, list[Place]]:
    """A task that does a loop over one axis for a range of it, however long that axis is.

    Returns it with what its table must have the addresses of.
    """
    task = _Callee(Function(name, TASK), Memory(graph, plan, {}), worker="%worker")
    setting = replace(task.setting(("%begin", "%end")), is_flat=True)
    write_body(loop, writers(loop, setting), setting)
    return task.function, task.places


def _start(function: Function, task: str, size: int, grain: int, table: str = "%table") -> None:
    """Have threads do a task."""
    function.declare(pool_code.DECLARATION)
    function.line(
        f"call void @{pool_code.PARALLEL}(ptr @{task}, ptr {table}, i64 {size}, i64 {grain})"
    )
