"""Reads a model from PyTorch's graph, as far as PyTorch tells.

PyTorch is never imported: only who has it can hand its tensors over. It does not say where an
operation was recorded, except in anomaly mode, whose tracebacks are read.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from lamina.devices.dispatched import visit
from lamina.errors import NoGraph, Place
from lamina.explain.graphs.assembly import assembled
from lamina.explain.graphs.calls import (
    Call,
    CallLog,
    Chain,
    Trace,
    chains_of_calls,
    chains_of_parameters,
)
from lamina.explain.graphs.model import Edge, Facts, GraphModel, Kept, Node, Values
from lamina.explain.graphs.naming import Program, scopes_of
from lamina.explain.graphs.rehearsal import measured
from lamina.explain.graphs.words import FREED, freed_note
from lamina.explain.loaded import loaded_torch

_SAVED: Final = "_saved_"


def understands(target: Any) -> bool:
    """Whether a target is a tensor or module of PyTorch, or a sequence of its tensors."""
    torch = loaded_torch()
    if torch is None:
        return False
    if isinstance(target, list | tuple):
        return bool(target) and all(understands(part) for part in target)
    return isinstance(target, torch.Tensor | torch.nn.Module)


def read_any(
    target: Any,
    inputs: Sequence[Any],
    keywords: Mapping[str, Any],
    frame: types.FrameType,
    with_values: bool,
) -> GraphModel:
    """The model behind tensors, or behind what a module returns for these inputs."""
    torch = loaded_torch()
    calls: list[Call] | None = None
    if isinstance(target, torch.nn.Module):
        with _call_log(torch) as log:
            target = target(*inputs, **keywords)
            calls = log.calls() or None
    roots = [tensor for tensor in _tensors_in(target, torch) if tensor.requires_grad]
    if not roots:
        raise NoGraph(
            "there is no graph to draw: nothing here requires grad",
            help=["ask for gradients before computing: `tensor.requires_grad_()`"],
        )
    return _Reading(torch, roots, frame).model(calls, with_values)


def _call_log(torch: Any) -> CallLog:
    hooks = torch.nn.modules.module

    def after(hook: Callable[..., None]) -> Any:
        return hooks.register_module_forward_hook(hook, always_call=True)

    # A node takes the current number and raises it: between two numbers there is room for a half.
    return CallLog(
        lambda: torch.autograd._get_sequence_nr() - 0.5,
        hooks.register_module_forward_pre_hook,
        after,
    )


def _tensors_in(value: Any, torch: Any) -> list[Any]:
    found: list[Any] = []
    visit(value, (torch.Tensor,), found.append)
    return found


@final
class _Reading:
    """One reading of one graph of PyTorch's."""

    def __init__(self, torch: Any, roots: Sequence[Any], frame: types.FrameType) -> None:
        self.torch = torch
        self.roots = roots
        self.program = Program(scopes_of(frame), torch.Tensor, torch.nn.Module)
        edges = [torch.autograd.graph.get_gradient_edge(root) for root in roots]
        self.begins = [(edge.node, edge.output_nr) for edge in edges]
        self.nodes_in_order = self._walk()
        self.numbers: dict[Any, int] = {}
        self.ordered: list[Any] = []
        for node in self.nodes_in_order:
            for item in [*(n for n, _ in node.next_functions if _is_leaf(n)), node]:
                if item is not None and item not in self.numbers:
                    self.numbers[item] = len(self.ordered)
                    self.ordered.append(item)
        self.memories: dict[int, int] = {}
        self.extra: dict[int, int] = {}

    def _walk(self) -> list[Any]:
        """All nodes: operations in the order in which they ran, then leaves."""
        seen: set[Any] = set()
        stack = [node for node, _ in self.begins]
        while stack:
            node = stack.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            stack.extend(following for following, _ in node.next_functions)
        return sorted(seen, key=lambda node: (_is_leaf(node), node._sequence_nr()))

    def model(self, calls: Sequence[Call] | None, with_values: bool) -> GraphModel:
        """The model."""
        nodes = [self._node(number, node) for number, node in enumerate(self.ordered)]
        edges = self._edges(self._values() if with_values else {})
        return assembled(
            names=[self.program.names.get(id(root)) for root in self.roots],
            library="torch",
            nodes=nodes,
            edges=edges,
            chains=self._chains(calls),
            roots=[self.numbers[node] for node, _ in self.begins],
            kept_bytes=sum(self.extra.values()),
            notes=self._notes(nodes),
        )

    def _notes(self, nodes: Sequence[Node]) -> list[str]:
        freed = sum(FREED in node.notes for node in nodes)
        notes = [freed_note(freed)] if freed else []
        if all(node.place is None for node in nodes if node.kind == "operation"):
            notes.append(
                "PyTorch does not note where an operation was recorded. Run the forward pass under "
                "torch.autograd.detect_anomaly() to see the source here."
            )
        return notes

    def _chains(self, calls: Sequence[Call] | None) -> list[Chain]:
        operations = [node for node in self.ordered if not _is_leaf(node)]
        if calls is not None:
            stamps = [node._sequence_nr() for node in operations]
            return chains_of_calls(stamps, calls, self.program)
        traces = [
            Trace(None, tuple(n.variable for n, _ in node.next_functions if _is_leaf(n)))
            for node in operations
        ]
        return chains_of_parameters(traces, self.program)

    # --- nodes ------------------------------------------------------------------------------------

    def _node(self, number: int, node: Any) -> Node:
        if _is_leaf(node):
            leaf = node.variable
            return Node(
                id=number,
                kind="leaf",
                word="leaf",
                class_name=type(leaf).__name__,
                name=self.program.names.get(id(leaf)),
                outputs=(self._facts(leaf),),
                keeps_gradient=True,
                has_gradient=leaf.grad is not None,
            )
        name = node.name()
        kept, problem, is_freed = self._kept(node)
        return Node(
            id=number,
            kind="operation",
            word=_word_of(name),
            class_name=name,
            name=self._root_name(node),
            outputs=tuple(self._facts(facts) for facts in node._input_metadata),
            kept=kept,
            place=_traced_place(node),
            stamp=node._sequence_nr() + 1,
            notes=(FREED,) if is_freed else (),
            problem=problem,
            keeps_gradient=any(
                root.retains_grad for root, (n, _) in zip(self.roots, self.begins, strict=True)
                if n is node
            ),
        )  # fmt: skip

    def _root_name(self, node: Any) -> str | None:
        for root, (begin, _) in zip(self.roots, self.begins, strict=True):
            if begin is node:
                return self.program.names.get(id(root))
        return None

    def _facts(self, tensor: Any) -> Facts:
        dtype = str(tensor.dtype).removeprefix("torch.")
        return Facts(tuple(int(size) for size in tensor.shape), dtype)

    def _kept(self, node: Any) -> tuple[tuple[Kept, ...], str, bool]:
        """What a node keeps; why it will fail, if PyTorch says so already; whether it was freed."""
        found: list[Kept] = []
        problem, is_freed = "", False
        names = [name for name in dir(node) if name.startswith(_SAVED)]
        if hasattr(node, "saved_tensors"):
            names.append("saved_tensors")
        for name in names:
            try:
                value = getattr(node, name)
            except RuntimeError as error:
                if "modified by an inplace operation" in str(error):
                    problem = str(error)
                is_freed = is_freed or "a second time" in str(error)
                continue
            for tensor in _tensors_in(value, self.torch):
                word = name.removeprefix(_SAVED).replace("_", " ")
                found.append(self._kept_tensor(node, word, tensor))
        return tuple(found), problem, is_freed

    def _kept_tensor(self, node: Any, word: str, tensor: Any) -> Kept:
        storage = tensor.untyped_storage()
        memory = self.memories.setdefault(storage.data_ptr(), len(self.memories))
        source = tensor.grad_fn
        is_extra = not (tensor.is_leaf and (tensor.requires_grad or self._is_named(tensor)))
        held = int(storage.nbytes())
        if is_extra:
            self.extra[memory] = held
        if source is None and tensor.requires_grad:
            leaf = self.torch.autograd.graph.get_gradient_edge(tensor).node
            number = self.numbers.get(leaf)
        else:
            number = self.numbers.get(source)
        own = source is node
        size = int(tensor.numel()) * tensor.element_size()
        what = "its result" if own else word
        return Kept(what, self._facts(tensor), size, memory, held, is_extra, number)

    def _is_named(self, tensor: Any) -> bool:
        """PyTorch wraps a kept tensor anew, so only the object of a leaf stays the same."""
        return id(tensor) in self.program.names

    # --- edges ------------------------------------------------------------------------------------

    def _edges(self, values: dict[tuple[Any, int], Values]) -> list[Edge]:
        found = []
        for node in self.ordered:
            for number, (source, output) in enumerate(node.next_functions):
                if source is not None:
                    metadata = source._input_metadata
                    facts = (
                        self._facts(source.variable)
                        if _is_leaf(source)
                        else self._facts(metadata[output])
                    )
                    found.append(
                        Edge(
                            self.numbers[source], self.numbers[node], output, number, "defined",
                            facts, values.get((source, output)),
                        )
                    )  # fmt: skip
        return found

    def _measured(self, gradient: Any) -> Values:
        wide = self.torch.complex128 if gradient.is_complex() else self.torch.float64
        return measured(gradient.detach().cpu().to(wide).numpy())

    def _values(self) -> dict[tuple[Any, int], Values]:
        """Measure the sums of gradients that arrive, in a pass that returns gradients only."""
        found: dict[tuple[Any, int], Values] = {}

        def note(node: Any) -> Any:
            def hook(gradients: Sequence[Any]) -> None:
                for index, gradient in enumerate(gradients):
                    if gradient is not None:
                        found[node, index] = self._measured(gradient)

            return node.register_prehook(hook)

        operations = [node for node in self.ordered if not _is_leaf(node)]
        leaves = [node for node in self.ordered if _is_leaf(node)]
        handles = [note(node) for node in operations]
        try:
            ones = [self.torch.ones_like(root) for root in self.roots]
            variables = [leaf.variable for leaf in leaves]
            gradients = self.torch.autograd.grad(
                self.roots, variables, ones, retain_graph=True, allow_unused=True
            )
        finally:
            for handle in handles:
                handle.remove()
        for leaf, gradient in zip(leaves, gradients, strict=True):
            if gradient is not None:
                found[leaf, 0] = self._measured(gradient)
        return found


def _word_of(name: str) -> str:
    """The operation as users write it: `log_softmax` for LogSoftmaxBackward0."""
    word = re.sub(r"Backward\d*$", "", name.rpartition("::")[2])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()


def _is_leaf(node: Any) -> bool:
    return node is not None and hasattr(node, "variable")


_FRAME: Final = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)\n(?P<text>.*)'
)


def _traced_place(node: Any) -> Place | None:
    """The user's line in the traceback that anomaly mode leaves with a node."""
    lines = node.metadata.get("traceback_") if hasattr(node, "metadata") else None
    for entry in reversed(lines or []):
        match = _FRAME.search(entry)
        if match is None or "/torch/" in match["file"].replace("\\", "/"):
            continue
        text = match["text"].strip()
        short = match["file"].replace("\\", "/").rpartition("/")[2]
        return Place(short, int(match["line"]), text, 0, len(text), text, match["name"])
    return None
