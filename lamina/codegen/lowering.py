"""From a recorded program to a graph: views become strides, writes become new values.

Each array of the program shows the memory of one storage. While the steps are gone through, every
storage has a current value; a write gives it another one, and whoever reads afterwards, through
whatever view, reads that. So the graph has no writes, except those into its inputs at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from lamina.codegen import lowering_rules as rules
from lamina.codegen.copies import copying
from lamina.codegen.graph import (
    CALL,
    POINTWISE,
    Graph,
    Node,
    Number,
    Operand,
    View,
    settled,
    views_in,
)
from lamina.codegen.index_rules import chosen_columns
from lamina.devices.dispatched import (
    WRITERS,
    as_strided,
    get_item,
    owner_of,
    replace,
    set_item,
    split_outputs,
    view_as,
)
from lamina.devices.layouts import Layout, dense_strides, fresh
from lamina.devices.recording import ArrayType, Program, Ref, Step
from lamina.devices.rule_table import RULES
from lamina.devices.shape_rules import infer, name_of

_MAY_BE_VIEWS: Final = frozenset(
    {get_item, view_as, as_strided, np.reshape, np.ravel, np.real, np.imag, np.transpose}
    | {np.permute_dims, np.swapaxes, np.moveaxis, np.rollaxis, np.matrix_transpose, np.diag}
    | {np.expand_dims, np.squeeze, np.broadcast_to, np.broadcast_arrays, np.flip, np.fliplr}
    | {np.flipud, np.rot90, np.diagonal, np.linalg.diagonal, np.split, np.array_split, np.unstack}
    | {np.linalg.matrix_transpose, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.astype}
    | {np.hsplit, np.vsplit, np.dsplit, np.lib.stride_tricks.sliding_window_view}
)


def lower(
    program: Program, wanted: Sequence[Ref], constants: dict[Ref, Any] | None = None
) -> Graph:
    """The graph of a recorded program.

    Args:
        program: What was recorded.
        wanted: The arrays that it is run for.
        constants: Inputs whose elements never change. They are no inputs of the graph.
    """
    return Lowering(program, constants or {}).run(wanted)


@final
class Lowering:
    """The work of `lower`, step by step.

    Attributes:
        layouts: What each array shows of its storage, by number.
        current: The value that each storage has now, by the number of its first array.
    """

    def __init__(self, program: Program, constants: dict[Ref, Any]) -> None:
        self.program = program
        self.graph = Graph()
        self.layouts: dict[int, Layout] = {}
        self.root: dict[int, int] = {}
        self.current: dict[int, Operand] = {}
        self.first: dict[int, int] = {}  # id of a layout's owner -> the storage
        self.written: set[int] = set()
        self.constants = constants

    def run(self, wanted: Sequence[Ref]) -> Graph:
        """Go through all steps."""
        graph = self.graph
        for ref in self.program.inputs:
            value = self._own(ref)
            if ref in self.constants:
                graph.constants[value] = self.constants[ref]
            else:
                graph.inputs.append(value)
        values = {ref.id: self.current[ref.id] for ref in self.program.inputs}
        for step in self.program.steps:
            self._step(step)
        for ref in self.program.inputs:
            if ref.id in self.written and ref not in self.constants:
                target = values[ref.id]
                assert isinstance(target, View)
                graph.writes.append((target.value, self.current[ref.id]))
        graph.outputs = [self.view_of(ref) for ref in wanted]
        return graph

    # --- storages --------------------------------------------------------------------------------

    def type_of(self, ref: Ref) -> ArrayType:
        """Shape, dtype and strides of an array of the program."""
        return self.program.types[ref.id]

    def _own(self, ref: Ref, operand: Operand | None = None) -> int:
        """Start a storage whose first array is `ref`, with a value (a new one unless given)."""
        kind = self.type_of(ref)
        layout = fresh(kind.shape, kind.dtype, kind.strides)
        if operand is None:
            value = self.graph.new_value(kind.shape, kind.dtype, kind.strides)
            operand = self.graph.whole(value)
        self.layouts[ref.id] = layout
        self.root[ref.id] = ref.id
        self.first[id(owner_of(layout))] = ref.id
        self.current[ref.id] = operand
        return operand.value if isinstance(operand, View) else -1

    def _show(self, ref: Ref, layout: Layout) -> None:
        """Note that an array is a view of another one's storage."""
        self.layouts[ref.id] = layout
        self.root[ref.id] = self.first[id(owner_of(layout))]

    def offset(self, ref: int) -> int:
        """Bytes from the start of an array's storage to its first element."""
        root = self.layouts[self.root[ref]]
        return _address(self.layouts[ref]) - _address(root)

    def covers(self, ref: int) -> bool:
        """Whether an array is all of its storage, as it lies there."""
        mine, root = self.layouts[ref], self.layouts[self.root[ref]]
        return (
            mine.shape == root.shape
            and mine.dtype == root.dtype
            and settled(mine.shape, mine.strides) == settled(root.shape, root.strides)
            and self.offset(ref) == 0
        )

    def read(self, ref: Ref) -> Operand:
        """What stands for an array now."""
        root = self.current[self.root[ref.id]]
        kind = self.type_of(ref)
        if isinstance(root, Number):
            if kind.dtype == root.value.dtype:
                return root
            root = self._materialized(self.root[ref.id])
        if self.covers(ref.id):
            return root
        self._as_laid_out(self.root[ref.id])
        root = self.current[self.root[ref.id]]
        assert isinstance(root, View)
        layout = self.layouts[ref.id]
        strides = settled(layout.shape, layout.strides)
        place = root.offset + self.offset(ref.id)
        return View(root.value, layout.shape, layout.dtype, strides, place)

    def _as_laid_out(self, root: int) -> None:
        """Make the current value of a storage lie in memory as the storage does."""
        operand, layout = self.current[root], self.layouts[root]
        if isinstance(operand, View) and operand.strides != settled(layout.shape, layout.strides):
            self._materialized(root)

    def _as_changeable(self, root: int) -> None:
        """Make the current value of a storage all of a value, which lies as the storage does."""
        operand, layout = self.current[root], self.layouts[root]
        if (
            isinstance(operand, Number)
            or not self.graph.is_whole(operand)
            or operand.strides != settled(layout.shape, layout.strides)
        ):
            self._materialized(root)

    def _materialized(self, root: int) -> View:
        """A copy of a storage's value that lies in memory as the storage does."""
        layout = self.layouts[root]
        result = self.add(
            copying(self.current[root], -1),
            layout.shape,
            layout.dtype,
            layout.strides,
        )
        self.current[root] = result
        return result

    def write(self, ref: Ref, operand: Operand) -> None:
        """Give (a part of) a storage other elements; `operand` has the array's shape and dtype."""
        root = self.root[ref.id]
        self.written.add(root)
        if self.covers(ref.id):
            self.current[root] = operand
            return
        self._as_changeable(root)
        region = self.read(ref)
        self._change(root, np.copyto, (region, operand), {})

    def _change(self, root: int, function: Any, args: Any, kwargs: Any) -> None:
        """Record a call that writes into its first argument, a view of a storage's value."""
        kind = self.layouts[root]
        value = self.graph.new_value(kind.shape, kind.dtype, kind.strides)
        node = Node(
            CALL, name_of(function), tuple(views_in((args, kwargs))), (value,),
            function=function, args=args, kwargs=kwargs, changes=0,
            is_pure=rules.is_numpy(function),
        )  # fmt: skip
        self.graph.nodes.append(node)
        self.current[root] = self.graph.whole(value)
        self.written.add(root)

    # --- nodes -----------------------------------------------------------------------------------

    def add(
        self, node: Node, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None
    ) -> View:
        """Append a node with one new result."""
        value = self.graph.new_value(shape, dtype, strides)
        node.results = (value,)
        self.graph.nodes.append(node)
        return self.graph.whole(value)

    # --- steps -----------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        if step.function in _MAY_BE_VIEWS and self._as_views(step):
            return
        if step.function in WRITERS or rules.is_method(step.function, "at"):
            self._writer(step)
            return
        outputs, args, kwargs = split_outputs(step.function, step.args, step.kwargs)
        operand = rules.lowered(self, step, args, kwargs)
        if operand is None:
            self._call(step, args, kwargs, outputs)
        elif outputs:
            self.write(outputs[0], operand)
        else:
            self._own(step.outputs[0], operand)

    def _as_views(self, step: Step) -> bool:
        """Whether a step only rearranged strides; its results are noted then."""
        args, kwargs = replace((step.args, step.kwargs), (Ref,), lambda ref: self.layouts[ref.id])
        result = infer(step.function, args, kwargs, RULES)
        results = result if isinstance(result, list | tuple) else [result]
        if any(id(owner_of(layout)) not in self.first for layout in results):
            return False
        known = {id(self.layouts[ref.id]) for ref in step.reads()}
        made = [layout for layout in results if id(layout) not in known]
        for ref, layout in zip(step.outputs, made, strict=False):
            self._show(ref, layout)
        return True

    def _writer(self, step: Step) -> None:
        target, *rest = step.args
        if step.function is np.copyto and "where" not in step.kwargs and len(rest) == 1:
            kind = self.type_of(target)
            source = rest[0]
            found = self.read(source) if isinstance(source, Ref) else source
            operand = rules.converted(self, found, kind.dtype, kind.shape)
            if operand is not None:
                self.write(target, operand)
                return
        if step.function is set_item:
            operand = chosen_columns(self, target, *rest)
            if operand is not None:
                self.write(target, operand)
                return
        root = self.root[target.id]
        self._as_changeable(root)
        args, kwargs = self._read_all((step.args, step.kwargs))
        if not isinstance(args[0], View):
            args = (self.read(target), *args[1:])
        self._change(root, step.function, args, kwargs)

    def _read_all(self, nest: Any) -> Any:
        """A nest of arguments in which arrays have become views of values."""

        return replace(nest, (Ref,), self.view_of)

    def view_of(self, ref: Ref) -> View:
        """What stands for an array; one that is a number everywhere is filled with it."""
        number = self.read(ref)
        if isinstance(number, View):
            return number
        return self.add(
            Node(POINTWISE, "copy", (number,), ()), self.type_of(ref).shape, number.value.dtype
        )

    def _call(self, step: Step, args: Any, kwargs: Any, outputs: Sequence[Ref]) -> None:
        """Keep a step as a call; where it was given `out`, the result is written there after it."""
        args, kwargs = self._read_all((args, kwargs))
        made = []
        for ref in step.outputs:
            kind = self.type_of(ref)
            strides = dense_strides(kind.shape, kind.dtype.itemsize) if outputs else kind.strides
            made.append(self.graph.new_value(kind.shape, kind.dtype, strides))
        node = Node(
            CALL, name_of(step.function), tuple(views_in((args, kwargs))), tuple(made),
            function=step.function, args=args, kwargs=kwargs, is_pure=rules.is_numpy(step.function),
        )  # fmt: skip
        self.graph.nodes.append(node)
        for ref, value in zip(step.outputs, made, strict=True):
            if outputs:
                self.write(ref, self.graph.whole(value))
            else:
                self._own(ref, self.graph.whole(value))


def _address(layout: Layout) -> int:
    return int(layout.__array_interface__["data"][0])
