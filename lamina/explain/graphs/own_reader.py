"""Reads a model from Lamina's own graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from lamina.core.blame.words import made_at, op_word
from lamina.core.engine import root_edge
from lamina.core.node import Node, OutputEdge
from lamina.core.op_node import OpNode
from lamina.core.provenance import assigned_name, place_of
from lamina.core.saved import KeptResult, Packed
from lamina.core.tensor import Tensor
from lamina.core.views import inherits_flag
from lamina.explain.graphs.assembly import assembled
from lamina.explain.graphs.calls import (
    Call,
    Chain,
    Trace,
    chains_of_calls,
    chains_of_parameters,
)
from lamina.explain.graphs.kept import Keeping, facts_of, kept_entries
from lamina.explain.graphs.model import (
    Edge,
    Facts,
    GradientState,
    GraphModel,
    Values,
)
from lamina.explain.graphs.model import (
    Node as ModelNode,
)
from lamina.explain.graphs.naming import Program
from lamina.explain.graphs.rehearsal import Unknown, dry, measured, problem_of, wet
from lamina.explain.graphs.words import FREED, freed_note
from lamina.nn import Module


class Found(NamedTuple):
    """What a walk from the roots finds."""

    operations: list[Any]
    """Nodes, in the order in which they ran."""
    leaves: list[Any]
    """Leaves, in the order in which they were first used."""
    data: dict[int, list[tuple[str, Any]]]
    """id of a node -> the tensors that it keeps and that need no gradient, with what they are."""


def walk(edges: Sequence[Any]) -> Found:
    """All nodes and leaves that edges lead to."""
    seen: dict[int, Any] = {}
    stack = [_node_of(edge) for edge in edges]
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        if isinstance(node, Node):
            stack.extend(_node_of(edge) for edge in node.next)
    operations = sorted(
        (node for node in seen.values() if isinstance(node, Node)), key=lambda node: node.stamp
    )
    used = [edge for node in operations for edge in node.next if isinstance(edge, Tensor)]
    used += [edge for edge in edges if isinstance(edge, Tensor)]
    leaves = list({id(leaf): leaf for leaf in used}.values())
    data = {id(node): _kept_data(node) for node in operations}
    return Found(operations, leaves, data)


def _node_of(edge: Any) -> Any:
    return edge.node if isinstance(edge, OutputEdge) else edge


def _kept_data(node: Any) -> list[tuple[str, Any]]:
    """The inputs of a node that are kept and need no gradient."""
    if not isinstance(node, OpNode):
        return []
    return [
        (word, kept)
        for word, kept in kept_entries(node)
        if isinstance(kept, Tensor) and not kept._requires_grad and kept._node is None
    ]


def form_of(roots: Sequence[Tensor]) -> int:
    """A number for the form of a graph: the same for every step of a training loop."""
    found = walk([root_edge(root) for root in roots])
    numbers = {id(item): k for k, item in enumerate([*found.leaves, *found.operations])}
    operations = tuple(
        (type(node), node.code, node.lasti, tuple(numbers.get(id(_node_of(e))) for e in node.next))
        for node in found.operations
    )
    shapes = tuple(tuple(tensor._array.shape) for tensor in (*roots, *found.leaves))
    return hash((operations, shapes))


def read(
    roots: Sequence[Tensor],
    *,
    scopes: Sequence[Mapping[str, Any]],
    calls: Sequence[Call] | None = None,
    with_values: bool = False,
) -> GraphModel:
    """The model of the graph behind tensors.

    Args:
        roots: What a backward pass would begin at.
        scopes: The variables of the program, for the names of tensors.
        calls: Noted calls of modules; without them parameters tell what belongs to which module.
        with_values: Whether to compute the gradients, to tell their norms.

    Raises:
        LaminaError: With values: what the backward pass would raise.
    """
    reading = _Reading(roots, Program(scopes, Tensor, Module), calls or ())
    nodes = reading.nodes()
    edges = reading.edges(reading.values() if with_values else {})
    chains = (
        reading.chains()
        if calls is None
        else chains_of_calls(reading.stamps(), calls, reading.program)
    )
    return assembled(
        names=[reading.root_name(root) for root in roots],
        library="lamina",
        nodes=nodes,
        edges=edges,
        chains=chains,
        roots=[reading.numbers[id(_node_of(edge))] for edge in reading.root_edges],
        kept_bytes=reading.keeping.extra_bytes,
        notes=reading.notes(),
    )


@final
class _Reading:
    """One reading of one graph."""

    def __init__(self, roots: Sequence[Tensor], program: Program, calls: Sequence[Call]) -> None:
        self.roots = roots
        self.program = program
        self.root_edges = [root_edge(root) for root in roots]
        self.found = walk(self.root_edges)
        self.numbers: dict[int, int] = {}
        self._number()
        program.look_for(
            [leaf for leaf in self.found.leaves if leaf._is_param], [call.module for call in calls]
        )
        # Loops record at the same positions again and again.
        self._place = cache(lambda position: place_of(*position))
        self._assigned = cache(lambda position: assigned_name(*position))
        running = self.found.operations
        self._following = {self.numbers[id(node)]: later for node, later in pairwise(running)}
        self.keeping = Keeping(self.numbers, program.names)
        self.gradients = dry(self.root_edges, [root._array for root in roots])
        self.outputs = self._outputs()

    def _number(self) -> None:
        """Number every node after all that it was computed from."""
        self.ordered: list[Any] = []
        for node in self.found.operations:
            leaves = [edge for edge in node.next if isinstance(edge, Tensor)]
            data = [tensor for _, tensor in self.found.data[id(node)]]
            self._append([*leaves, *data, node])
        self._append(self.found.leaves)

    def _append(self, items: Sequence[Any]) -> None:
        for item in items:
            if id(item) not in self.numbers:
                self.numbers[id(item)] = len(self.ordered)
                self.ordered.append(item)

    def stamps(self) -> list[int]:
        """When each operation ran."""
        return [node.stamp for node in self.found.operations]

    def chains(self) -> list[Chain]:
        """The modules around each operation, as parameters tell."""
        traces = [
            Trace((node.code, node.lasti), tuple(e for e in node.next if isinstance(e, Tensor)))
            for node in self.found.operations
        ]
        return chains_of_parameters(traces, self.program)

    def root_name(self, root: Tensor) -> str | None:
        """What the program calls a root, or called it where it was computed."""
        name = self.program.names.get(id(root))
        node = _node_of(root._node)
        return name or (None if node is None else assigned_name(node.code, node.lasti))

    def notes(self) -> tuple[str, ...]:
        """What is to be said of the whole."""
        freed = sum(node.saved is None for node in self.found.operations)
        return (freed_note(freed),) if freed else ()

    # --- nodes ------------------------------------------------------------------------------------

    def nodes(self) -> list[ModelNode]:
        """All nodes, without groups."""
        return [
            self._operation(number, item) if isinstance(item, Node) else self._tensor(number, item)
            for number, item in enumerate(self.ordered)
        ]

    def _outputs(self) -> dict[tuple[int, int], Facts]:
        """What is known of each result: it is like the gradient that arrives for it."""
        found: dict[tuple[int, int], Facts] = {}
        for (node, number), gradient in self.gradients.items():
            edge = node.next[number]
            if gradient is None:
                continue
            key = self.numbers[id(_node_of(edge))], getattr(edge, "index", 0)
            facts = facts_of(gradient)
            if key not in found or found[key].shape is None:
                found[key] = facts
        for node in self.found.operations:
            for kept in kept_entries(node):
                self._note_kept(kept[1], node, found)
        for root, edge in zip(self.roots, self.root_edges, strict=True):
            index = getattr(edge, "index", 0)
            found[self.numbers[id(_node_of(edge))], index] = facts_of(root._array)
        for leaf in self.found.leaves:
            found[self.numbers[id(leaf)], 0] = facts_of(leaf._array)
        return found

    def _note_kept(self, item: Any, node: Any, found: dict[tuple[int, int], Facts]) -> None:
        """A kept value tells the shape of the result that it is."""
        if isinstance(item, Packed):
            return
        if isinstance(item, KeptResult):
            found.setdefault((self.numbers[id(node)], item.index), facts_of(item.array))
            return
        source = _node_of(item._node)
        if id(source) in self.numbers:
            index = getattr(item._node, "index", 0)
            found[self.numbers[id(source)], index] = facts_of(item._array)

    def _operation(self, number: int, node: Any) -> ModelNode:
        count = node.outputs
        hooks = node._hooks
        notes = [FREED] if node.saved is None else []
        if hooks is not None:
            registered = len(hooks.before) + len(hooks.after) + sum(map(len, hooks.tensor.values()))
            notes += [f"hooks that are called here: {registered}"] * (registered > 0)
        known = tuple(self.outputs.get((number, index), Facts()) for index in range(count))
        return ModelNode(
            id=number,
            kind="operation",
            word=op_word(node),
            class_name=node.name(),
            name=self._result_name(number, node) if count == 1 else None,
            outputs=known,
            kept=self.keeping.of(node),
            place=self._place((node.code, node.lasti)),
            stamp=node.stamp,
            notes=tuple(notes),
            problem=problem_of(node),
            keeps_gradient=hooks is not None and bool(hooks.retained),
        )

    def _result_name(self, number: int, node: Any) -> str | None:
        """The variable that a result is assigned to: of several operations, that of the last."""
        position = node.code, node.lasti
        following = self._following.get(number)
        if (
            following is not None
            and (following.code, following.lasti) == position
            and following.op is not node.op
        ):
            return None
        return self._assigned(position)

    def _tensor(self, number: int, tensor: Tensor) -> ModelNode:
        is_leaf = tensor._requires_grad
        is_collecting = is_leaf and not inherits_flag(tensor)
        notes = []
        if is_leaf and not is_collecting:
            notes.append("a view made without recording: no gradient is collected here")
        return ModelNode(
            id=number,
            kind="leaf" if is_leaf else "data",
            word="leaf" if is_leaf else "data",
            class_name=_class_of(tensor),
            name=self.program.names.get(id(tensor)),
            outputs=(facts_of(tensor._array),),
            place=made_at(tensor),
            notes=tuple(notes),
            keeps_gradient=is_collecting,
            has_gradient=is_leaf and tensor._grad is not None,
        )

    # --- edges ------------------------------------------------------------------------------------

    def values(self) -> dict[tuple[int, int], Values]:
        """What the numbers of each gradient are like: computes them, and changes nothing."""
        found: dict[tuple[int, int], Values] = {}

        def seen(node: Any, number: int, gradient: Any) -> None:
            if gradient is not None:
                found[id(node), number] = measured(gradient)

        ones = [np.ones_like(root._array) for root in self.roots]
        wet(self.root_edges, ones, seen)
        return found

    def edges(self, values: dict[tuple[int, int], Values]) -> list[Edge]:
        """All edges, by the operations that used them."""
        found: list[Edge] = []
        for node in self.found.operations:
            for number, edge in enumerate(node.next):
                if edge is not None:
                    value = values.get((id(node), number))
                    found.append(self._edge(node, number, edge, value))
            for word, tensor in self.found.data[id(node)]:
                position = _position(node, word)
                found.append(
                    Edge(
                        self.numbers[id(tensor)], self.numbers[id(node)], 0, position,
                        "unwanted", Facts(),
                    )
                )  # fmt: skip
        return found

    def _edge(self, node: Any, number: int, edge: Any, values: Values | None) -> Edge:
        gradient = self.gradients.get((node, number))
        state: GradientState = "defined"
        if gradient is None:
            state = "undefined"
        elif isinstance(gradient, Unknown):
            state = "unknown"
        source = self.numbers[id(_node_of(edge))]
        output = edge.index if isinstance(edge, OutputEdge) else 0
        facts = Facts() if gradient is None else facts_of(gradient)
        if state == "unknown" and facts.shape is None:  # it will be like the result that it is of
            facts = self.outputs.get((source, output), facts)
        return Edge(source, self.numbers[id(node)], output, number, state, facts, values)


def _position(node: Any, word: str) -> int:
    names = list(node.op.names)
    return names.index(word) if word in names else len(node.next)


def _class_of(tensor: Tensor) -> str:
    return "Parameter" if tensor._is_param else "Tensor"
