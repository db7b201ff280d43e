"""Segments: neighbouring steps of a schedule as one function of machine code.

A function finds all memory through one argument, a table of addresses. What several threads share
becomes a task of its own (see `threads`), which the segment starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

from lamina.codegen.graph import Graph, Node
from lamina.codegen.llvm import threads
from lamina.codegen.llvm.ir import TASK, Function
from lamina.codegen.llvm.loops import Setting, write_body, writers
from lamina.codegen.llvm.machine import lane_count
from lamina.codegen.llvm.products import Product
from lamina.codegen.memory import Plan
from lamina.codegen.steps import Loop, Nest, Step
from lamina.devices.thread_count import capacity


@final
@dataclass
class _Frame:
    """A function, with the addresses at which it finds values.

    Attributes:
        scratch: Where in the arena accumulators are.
        worker: In a task: the number of the thread, for memory that each has for itself.
    """

    function: Function
    graph: Graph
    plan: Plan
    scratch: dict[int, int]
    worker: str = ""
    known: dict[int, str] = field(default_factory=dict)

    def address(self, value: int) -> str:
        """Where a value begins."""
        plan = self.plan
        if value in self.graph.inside:
            whole, offset = self.graph.inside[value]
            place = self.address(whole)
            return self.function.give(f"getelementptr i8, ptr {place}, i64 {offset}")
        if value in plan.slots:
            return self._base_of(plan.slots[value])
        place = self._in_arena(plan.offsets[value] + self.graph.values[value].lead)
        if self.worker and value in plan.row_bytes:
            far = self.function.give(f"mul nsw i64 {self.worker}, {plan.row_bytes[value]}")
            place = self.function.give(f"getelementptr i8, ptr {place}, i64 {far}")
        return place

    def accumulators(self, node: Node) -> str | None:
        """Where a reduction adds up, if that is not its result."""
        place = self.scratch.get(node.results[0])
        return None if place is None else self._in_arena(place)

    def setting(self, piece: tuple[str, str] | None = None) -> Setting:
        """For loops that are written here."""
        return Setting(
            self.function, self.graph, self.address, self.accumulators, lane_count(), piece
        )

    def _base_of(self, slot: int) -> str:
        if slot not in self.known:
            at, loaded = f"%at{slot}", f"%base{slot}"
            self.function.slots.append(f"  {at} = getelementptr i64, ptr %table, i64 {slot}")
            self.function.slots.append(f"  {loaded} = load ptr, ptr {at}")
            self.known[slot] = loaded
        return self.known[slot]

    def _in_arena(self, offset: int) -> str:
        return self.function.give(f"getelementptr i8, ptr {self._base_of(0)}, i64 {offset}")


def write_segment(
    name: str, steps: Sequence[Step], graph: Graph, plan: Plan, scratch: dict[int, int]
) -> list[Function]:
    """The function that does some steps, and the tasks that it starts."""
    functions = [Function(name)]
    frame = _Frame(functions[0], graph, plan, scratch)
    for step in steps:
        if isinstance(step, Node):
            functions += _write_product(frame, step, f"{name}_task{len(functions)}")
        elif 0 not in step.shape:
            functions += _write_loop(frame, step, f"{name}_task{len(functions)}")
    return functions


def share_products(steps: Sequence[Step], graph: Graph) -> bool:
    """Whether threads of our own share any product among some steps."""
    products = (step for step in steps if isinstance(step, Node))
    return any(Product(graph, node).share(capacity()) for node in products)


def write_flat(name: str, loop: Loop, graph: Graph, plan: Plan) -> Function:
    """A task that does a loop over one axis for a range of it, however long that axis is."""
    function = Function(name, TASK)
    frame = _Frame(function, graph, plan, {}, "%worker")
    setting = replace(frame.setting(("%begin", "%end")), is_flat=True)
    write_body(loop, writers(loop, setting), setting)
    return function


def _write_loop(frame: _Frame, step: Loop | Nest, task_name: str) -> list[Function]:
    setting = frame.setting()
    parts = writers(step, setting)
    tasks: list[Function] = []
    for part in parts:
        part.before()
    if step.cut is None:
        write_body(step, parts, setting)
    else:
        tasks.append(_write_task(frame, step, task_name))
        size = step.shape[step.cut.axis]
        _start(frame.function, task_name, size, step.cut.grain)
    for part in parts:
        part.after()
    return tasks


def _write_product(frame: _Frame, node: Node, task_name: str) -> list[Function]:
    product, function = Product(frame.graph, node), frame.function
    if product.addend is not None and node.results[0] not in frame.plan.in_place:
        product.write_start(function, frame.address)
    share = product.share(capacity())
    if share is None:
        product.write(function, product.places(function, frame.address))
        return []
    task = Function(task_name, TASK)
    own = _Frame(task, frame.graph, frame.plan, frame.scratch, "%worker")
    product.write_piece(task, product.places(task, own.address), share)
    _start(function, task_name, share.size, share.grain)
    return [task]


def _start(function: Function, task: str, size: int, grain: int) -> None:
    """Have threads do a task."""
    function.declare(threads.DECLARATION)
    function.line(
        f"call void @{threads.PARALLEL}(ptr @{task}, ptr %table, i64 {size}, i64 {grain})"
    )


def _write_task(frame: _Frame, step: Loop | Nest, name: str) -> Function:
    function = Function(name, TASK)
    own = _Frame(function, frame.graph, frame.plan, frame.scratch, "%worker")
    setting = own.setting(("%begin", "%end"))
    parts = writers(step, setting)
    for part in parts:
        part.open_piece()
    write_body(step, parts, setting)
    return function
