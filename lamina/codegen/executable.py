"""Graphs that run: with machine code where llvmlite is installed, else with NumPy alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, final

import numpy as np

from lamina.codegen.graph import CALL, PANELS, PRODUCT, REDUCTION, Graph, Node, View
from lamina.codegen.llvm import ir, machine, products, segments, threads
from lamina.codegen.llvm.sums import accumulator_dtype
from lamina.codegen.memory import ALIGNMENT, Plan, plan_memory
from lamina.codegen.nests import gather
from lamina.codegen.passes import simplify
from lamina.codegen.pointwise_table import computing
from lamina.codegen.schedule import schedule
from lamina.codegen.splitting import cut_all
from lamina.codegen.steps import Schedule, Step, nodes_of
from lamina.codegen.stores import Store, maker_of
from lamina.codegen.together import find_together
from lamina.devices.dispatched import replace
from lamina.devices.recording import arrays_of
from lamina.devices.thread_count import blas_alone, capacity

Work = Callable[[], None]


@final
class Executable:
    """A graph ready to run.

    Attributes:
        schedule: What is done, in order.
        plan: Where values live.
        is_native: Whether loops and products are machine code.
        is_all_native: Whether there is nothing else.

    Args:
        graph: What to compute; it is changed.
        native: Whether to make machine code; None for: where llvmlite is installed.
        pooled: Whether the memory of results is used again once nobody has them any more.
        lasting: The places of inputs that a run leaves behind: arrays that exist anyway, and are
            most often the same in the next run (0.5 us each). None for all.

    A run uses the executable's own memory: only one may be under way at a time.
    """

    def __init__(
        self, graph: Graph, native: bool | None = None, pooled: bool = True,
        lasting: Collection[int] | None = None,
    ) -> None:  # fmt: skip
        self.is_native = machine.is_available() if native is None else native
        simplify(graph, machine.lane_count() if self.is_native else 0)
        self._is_passing = lasting is not None
        self._bound: Any = None
        self._of_calls: list[int] = []  # slots of arrays that calls give, anew in each run
        self._pool: threads.Pool | None = None
        self.graph = graph
        self.schedule: Schedule = schedule(graph, fuse=self.is_native)
        if self.is_native:
            gather(self.schedule)
            find_together(self.schedule)
            cut_all(self.schedule)
        self.plan: Plan = plan_memory(self.schedule, capacity())
        scratch = self._plan_scratch() if self.is_native else {}
        outputs = [view for view in graph.outputs if isinstance(view, View)]
        self._called = self._values_of_calls(outputs)
        self._slots = [self.plan.slots[value] for value in graph.inputs]
        kept = {self._slots[place] for place in lasting or ()}
        self._store = Store(graph, self.plan, outputs, self._called, pooled, kept)
        for value, array in graph.constants.items():
            self._store.bind(
                self.plan.slots[value], np.ascontiguousarray(array) if array.ndim else array
            )
        self.is_all_native = self.is_native and all(map(self._is_native, self.schedule.steps))
        self._work = self._native(scratch) if self.is_native else self._with_numpy()

    def _plan_scratch(self) -> dict[int, int]:
        """Room in the arena for the packed factors of products (one after another, the same).

        And for reductions that add up apart from their result: in a wider dtype, or for each piece
        of a loop.
        """
        places: dict[int, int] = {}
        packed = 0
        for step in self.schedule.steps:
            if isinstance(step, Node) and self._is_native(step) and step.op != PANELS:
                plan = products.Product(self.graph, step).plan
                if plan is not None:
                    places[step.results[0]] = self.plan.arena
                    packed = max(packed, plan.nbytes)
        end = self.plan.arena + -(-packed // ALIGNMENT) * ALIGNMENT
        for step in self.schedule.steps:
            for node in nodes_of(step):
                if node.kind != REDUCTION or isinstance(step, Node):
                    continue
                value = self.graph.values[node.results[0]]
                wide = accumulator_dtype(node.op, value.dtype)
                pieces = step.cut.sets_of(node) if step.cut is not None else 1
                if pieces > 1 or wide != value.dtype:
                    places[node.results[0]] = end
                    end += -(-value.size * wide.itemsize * pieces // ALIGNMENT) * ALIGNMENT
        self.plan.arena = end
        return places

    def _values_of_calls(self, outputs: Sequence[View]) -> set[int]:
        """The outputs that are handed on as calls give them, in memory of their own."""
        count = Counter(view.value for view in outputs)
        return {
            value
            for step in self.schedule.steps
            for node in nodes_of(step)
            if node.kind == CALL and node.changes is None and node.is_pure
            for value in node.results
            if count[value] == 1
            and value not in self.schedule.homes
            and value not in self.graph.inside
        }

    # --- running ---------------------------------------------------------------------------------

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Do all the work on these arrays; gives the arrays asked for, in memory of their own.

        The inputs must have the shapes, dtypes and strides of the graph's, and must not overlap
        where one of them is written. A list that is the same object as in the last run must hold
        the same arrays.
        """
        store = self._store
        if inputs is not self._bound:
            arrays = store.arrays
            for k, slot in enumerate(self._slots):  # zip(..., strict=True) takes 0.15 us more
                if arrays[slot] is not inputs[k]:
                    store.bind(slot, inputs[k])
            self._bound = None if self._is_passing else inputs
        results = store.results()
        if self._pool is not None and not self._pool.is_ready:
            self._pool.start()
        for work in self._work:
            work()
        if self._called:
            store.fill_in(results)
        if self._is_passing:
            store.release()
        elif self._of_calls:
            store.forget(self._of_calls)
        return results

    # --- steps -----------------------------------------------------------------------------------

    def _native(self, scratch: dict[int, int]) -> list[Work]:
        """Machine code for runs of loops and products, and calls between them."""
        parts: list[Any] = []
        for step in self.schedule.steps:
            if self._is_native(step):
                if not parts or not isinstance(parts[-1], list):
                    parts.append([])
                parts[-1].append(step)
            else:
                parts.append(step)
        writer = segments.Writer(segments.Memory(self.graph, self.plan, scratch))
        names = [f"segment{k}" for k, part in enumerate(parts) if isinstance(part, list)]
        for name, part in zip(names, filter(_is_list, parts), strict=True):
            writer.write(name, part)
        if writer.has_tasks:
            self._pool = threads.pool()
        self._code = machine.Machine(ir.module(writer.functions)) if names else None
        ready = iter([self._code.function(name) for name in names] if self._code else [])
        return [
            self._segment(next(ready), part) if isinstance(part, list) else self._alone(part)
            for part in parts
        ]

    def _segment(self, function: Callable[[int], None], steps: list[Step]) -> Work:
        table = self._store.address
        if not segments.wake_blas(steps, self.graph):
            return lambda: function(table)

        def work() -> None:
            with blas_alone:
                function(table)

        return work

    def _is_native(self, step: Step) -> bool:
        if not isinstance(step, Node):
            return True
        return step.kind == PRODUCT and (step.op == PANELS or products.can_write(step))

    def _alone(self, node: Node) -> Work:
        return self._product(node) if node.kind == PRODUCT else self._call(node)

    def _with_numpy(self) -> list[Work]:
        work: list[Work] = []
        for step in self.schedule.steps:
            for node in nodes_of(step):
                work.append(self._node_with_numpy(node))
        return work

    def _node_with_numpy(self, node: Node) -> Work:
        if node.kind in (PRODUCT, CALL):
            return self._alone(node)
        view, out = self._store.view, self.graph.whole(node.results[0])
        if node.kind == "reduction":
            return self._reduction(node)
        compute = computing(node.op)
        operands = node.operands

        def work() -> None:
            arrays = [view(o) if isinstance(o, View) else o.value for o in operands]
            with np.errstate(all="ignore"):
                compute(*arrays, out=view(out))

        return work

    def _reduction(self, node: Node) -> Work:
        view, out = self._store.view, self.graph.whole(node.results[0])
        (operand,) = node.operands
        assert isinstance(operand, View)
        function = {"sum": np.add, "max": np.maximum, "min": np.minimum}[node.op].reduce
        kind = self.graph.values[node.results[0]].dtype

        def work() -> None:
            with np.errstate(all="ignore"):
                function(view(operand), axis=node.axes, dtype=kind, out=view(out))

        return work

    def _product(self, node: Node) -> Work:
        view, out = self._store.view, self.graph.whole(node.results[0])
        left, right, *addend = node.views()

        def work() -> None:
            np.matmul(view(left), view(right), out=view(out))

        def added() -> None:
            np.add(view(addend[0]), np.matmul(view(left), view(right)), out=view(out))

        return added if addend else work

    def _call(self, node: Node) -> Work:
        if node.changes is not None:
            return self._changing_call(node)
        store, plan, function = self._store, self.plan, node.function
        assert function is not None
        slots = [plan.slots[value] for value in node.results]
        kinds = [self.graph.values[value] for value in node.results]
        wholes = [self.graph.whole(value) for value in node.results]
        given = {view.value for view in self.graph.read_at_end()} | self.schedule.homes.keys()
        given -= self._called
        is_given = [value in given for value in node.results]  # memory that is there already
        is_handed_on = not self._called.isdisjoint(node.results)
        made = zip(slots, is_given, strict=True)
        self._of_calls += [slot for slot, has_memory in made if not has_memory]

        def work() -> None:
            args, kwargs = replace((node.args, node.kwargs), (View,), store.view)
            with np.errstate(all="ignore"):
                results = arrays_of(function(*args, **kwargs))
            if is_handed_on:
                inputs = arrays_of((args, kwargs))
                results = [a.copy() if any(a is b for b in inputs) else a for a in results]
            found = zip(slots, wholes, kinds, is_given, results, strict=True)
            for slot, whole, kind, has_memory, array in found:
                if has_memory:
                    np.copyto(store.view(whole), array)
                else:
                    store.bind(slot, _owned(np.asarray(array), kind))

        return work

    def _changing_call(self, node: Node) -> Work:
        store, function = self._store, node.function
        assert function is not None
        target = node.args[0]
        (result,) = node.results
        is_in_place = result in self.plan.in_place
        old, new = self.graph.whole(target.value), self.graph.whole(result)
        changed = View(result, target.shape, target.dtype, target.strides, target.offset)

        def work() -> None:
            if not is_in_place:
                np.copyto(store.view(new), store.view(old))
            args, kwargs = replace((node.args[1:], node.kwargs), (View,), store.view)
            with np.errstate(all="ignore"):
                function(store.view(changed), *args, **kwargs)

        return work


def _is_list(part: Any) -> bool:
    return isinstance(part, list)


def _owned(array: Any, kind: Any) -> Any:
    """A result of a call, with memory of its own that lies as it was recorded."""
    steps = tuple(s if n > 1 else 0 for n, s in zip(array.shape, array.strides, strict=True))
    if array.base is None and steps == kind.strides and array.dtype == kind.dtype:
        return array
    made = maker_of(kind)()
    np.copyto(made, array, casting="unsafe")
    return made
