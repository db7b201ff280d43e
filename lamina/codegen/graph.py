"""Graphs: programs in which every value is written once.

    %2: float32[32,16] = dot(%0, %1{2,16: 1,2})
    %4: float32[32,16] = add(%2, %3{32,16: 0,1})
    %0 <- %4

A value has memory of its own; a view reads a value through a shape and strides, so transposes,
slices and broadcasts cost nothing. In the text a view that is not the whole value is written
`%value{shape: strides +offset}`, counted in elements. Writes into inputs come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np

from lamina.devices.dispatched import replace, visit
from lamina.devices.layouts import dense_strides
from lamina.devices.shape_rules import name_of

HostArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

POINTWISE: Final = "pointwise"
REDUCTION: Final = "reduction"
PRODUCT: Final = "product"
CALL: Final = "call"
JOIN: Final = "join"

PANELS: Final = "matmul_panels"
"""The op of a product whose right factor lies in panels: (panels, rows, columns of one)."""


def settled(shape: Iterable[int], strides: Iterable[int]) -> tuple[int, ...]:
    """Strides in which axes that are never stepped along count zero, so that equal means equal."""
    return tuple([step if size > 1 else 0 for size, step in zip(shape, strides, strict=True)])


@final
@dataclass(frozen=True, slots=True)
class Value:
    """An array with memory of its own."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    @classmethod
    def by_rows(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
        """A value whose rows lie one after another."""
        return cls(shape, dtype, settled(shape, dense_strides(shape, dtype.itemsize)))

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it needs: an input may have gaps."""
        if not self.size:
            return 0
        reach = sum((n - 1) * abs(step) for n, step in zip(self.shape, self.strides, strict=True))
        return reach + self.dtype.itemsize

    @property
    def lead(self) -> int:
        """Bytes of its memory before the first element: steps may go backwards."""
        return sum(
            (1 - size) * step
            for size, step in zip(self.shape, self.strides, strict=True)
            if step < 0 and size
        )

    @property
    def is_dense(self) -> bool:
        """Whether its elements fill its memory, in some order of the axes."""
        expected = self.dtype.itemsize
        for step, size in sorted(zip(self.strides, self.shape, strict=True)):
            if size > 1:
                if step != expected:
                    return False
                expected *= size
        return True

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@final
@dataclass(frozen=True, slots=True)
class View:
    """How a node reads a value; strides and offset are in bytes."""

    value: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    offset: int = 0


@final
@dataclass(frozen=True, slots=True)
class Number:
    """A number of one dtype, the same for all elements."""

    value: np.generic

    def __str__(self) -> str:
        return repr(self.value.item())


Operand: TypeAlias = View | Number


@final
@dataclass(slots=True)
class Node:
    """One step: reads operands, makes results.

    Attributes:
        kind: POINTWISE, REDUCTION, PRODUCT, CALL, or JOIN: its operands lie in the result's memory.
        op: The name of what is done; for calls that of the function.
        operands: What is read. For calls all views in `args` and `kwargs`, in order.
        results: The values that are made.
        axes: Which axes a reduction takes away.
        function, args, kwargs: What a call calls.
        changes: For calls that write: which operand is written into; for products: what they are
            added to. The result is its new value.
        is_pure: Whether it may be left out or done once instead of twice.
    """

    kind: str
    op: str
    operands: tuple[Operand, ...]
    results: tuple[int, ...]
    axes: tuple[int, ...] = ()
    function: Callable[..., Any] | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    changes: int | None = None
    is_pure: bool = True

    def views(self) -> Iterator[View]:
        """The operands that are no numbers."""
        return (operand for operand in self.operands if isinstance(operand, View))


@final
@dataclass
class Graph:
    """A program whose values are written once.

    Attributes:
        values: Every value by number.
        nodes: The steps in an order in which they can be done.
        inputs: The values that exist before, in the order of the recorded program's inputs.
        constants: Values whose elements are known.
        outputs: What is asked for.
        writes: (input, view) pairs: what the memory of an input holds in the end.
        inside: Values that lie in the memory of another one, with that one and the offset in bytes;
            it may lie inside a third one itself.
    """

    values: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    constants: dict[int, HostArray] = field(default_factory=dict)
    outputs: list[Operand] = field(default_factory=list)
    writes: list[tuple[int, Operand]] = field(default_factory=list)
    inside: dict[int, tuple[int, int]] = field(default_factory=dict)

    def new_value(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None
    ) -> int:
        """A number for a value; rows one after another unless strides are given."""
        kind = np.dtype(dtype)
        if strides is None:
            strides = dense_strides(shape, kind.itemsize)
        self.values.append(Value(shape, kind, settled(shape, strides)))
        return len(self.values) - 1

    def whole(self, value: int) -> View:
        """The view that is all of a value."""
        found = self.values[value]
        return View(value, found.shape, found.dtype, found.strides)

    def is_whole(self, view: View) -> bool:
        """Whether a view is all of its value, as it lies in memory."""
        found = self.values[view.value]
        return (
            view.offset == 0
            and view.strides == found.strides
            and view.shape == found.shape
            and view.dtype == found.dtype
        )

    def around(self, value: int) -> Iterator[int]:
        """A value, and those that it lies inside of, outwards."""
        yield value
        while value in self.inside:
            value = self.inside[value][0]
            yield value

    def home_of(self, value: int) -> tuple[int, int]:
        """The value whose memory one lies in, its own or another's, and where it begins there."""
        offset = 0
        while value in self.inside:
            value, start = self.inside[value]
            offset += start
        return value, offset

    def read_at_end(self) -> Iterator[View]:
        """The views that must outlive all nodes."""
        for operand in (*self.outputs, *(source for _, source in self.writes)):
            if isinstance(operand, View):
                yield operand

    def substitute(self, change: Callable[[Operand], Operand]) -> None:
        """Replace operands everywhere."""
        for node in self.nodes:
            if node.kind == CALL:
                node.args = replace(node.args, (View,), change)
                node.kwargs = replace(node.kwargs, (View,), change)
                node.operands = tuple(views_in((node.args, node.kwargs)))
            else:
                node.operands = tuple(map(change, node.operands))
        self.outputs = list(map(change, self.outputs))
        self.writes = [(target, change(source)) for target, source in self.writes]

    # --- text ------------------------------------------------------------------------------------

    def __str__(self) -> str:
        lines = [f"%{v}: {self.values[v]} = input" for v in self.inputs]
        lines += [f"%{v}: {self.values[v]} = constant" for v in self.constants]
        lines += [self.line(node) for node in self.nodes]
        lines += [f"%{target} <- {self.text(source)}" for target, source in self.writes]
        if self.outputs:
            lines.append(f"return {', '.join(map(self.text, self.outputs))}")
        return "\n".join(lines)

    def line(self, node: Node) -> str:
        """One step as text."""
        made = ", ".join(f"%{v}: {self.values[v]}" for v in node.results)
        if node.kind == CALL:
            shown = [self.text(a) for a in node.args]
            shown += [f"{name}={self.text(a)}" for name, a in node.kwargs.items()]
        else:
            shown = [self.text(operand) for operand in node.operands]
            if node.axes:
                shown.append(f"axes={node.axes}")
        return f"{made} = {node.op}({', '.join(shown)})" if made else f"{node.op}({shown})"

    def text(self, operand: Any) -> str:
        """An operand (or any argument of a call) as text."""
        if isinstance(operand, View):
            if self.is_whole(operand):
                return f"%{operand.value}"
            size = operand.dtype.itemsize
            shape = ",".join(map(str, operand.shape))
            steps = ",".join(str(step // size) for step in operand.strides)
            offset = f" +{operand.offset // size}" if operand.offset else ""
            kind = operand.dtype != self.values[operand.value].dtype
            cast = f" as {operand.dtype}" if kind else ""
            return f"%{operand.value}{{{shape}: {steps}{offset}{cast}}}"
        if isinstance(operand, Number):
            return str(operand)
        if isinstance(operand, tuple | list):
            return f"({', '.join(map(self.text, operand))})"
        if isinstance(operand, np.dtype | np.generic):
            return str(operand)
        return name_of(operand) if callable(operand) else repr(operand)


def views_in(nest: Any) -> list[View]:
    """The views in a nest of arguments, in order."""
    found: list[View] = []
    visit(nest, (View,), found.append)
    return found
