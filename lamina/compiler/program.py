"""Compiled programs: what a run does besides computing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, final

from lamina.compiler.building import Parts
from lamina.compiler.capturing import Recording, Result
from lamina.compiler.gradients import new_node, used_up_node
from lamina.compiler.guards import Guards
from lamina.compiler.sources import Reached, Source
from lamina.compiler.worth import is_worth_it
from lamina.core.engine import root_edge
from lamina.core.node import OutputEdge
from lamina.core.positions import here
from lamina.core.tensor import Tensor, cell_of, wrap
from lamina.core.versions import bump_all, next_stamp

Taker = Callable[[list[Tensor], Sequence[Tensor]], Any]
"""Gives what a call returns, or a part of it, from the tensors that were made and the arguments."""


@final
class Program:
    """One captured call, compiled.

    Attributes:
        guards: When it may run.
        parts: What runs.
        is_worth_it: Whether it is quicker than the function as it is; else that one runs instead.
        runs: How often it ran, or was found to fit (not in calls that go unasked).
    """

    def __init__(self, recording: Recording, parts: Parts, guards: Guards) -> None:
        self.guards = guards
        self.parts = parts
        self.is_worth_it = is_worth_it(recording)
        self.runs = 0
        self._lock = threading.Lock()
        self._results = recording.results
        places = {id(result): k for k, result in enumerate(self._results)}
        self._returned = _taker(recording.nest, places)
        self._differentiable = [(k, r) for k, r in enumerate(self._results) if r.output is not None]
        self._gradients = [(t, g and places[id(g)]) for t, g in recording.gradients]
        self._changes = recording.changes
        self._edges = _Edges(guards, parts.backward.targets) if parts.backward is not None else None

    def run(self, tensors: Sequence[Tensor], arrays: list[Any]) -> Any:
        """Run on arrays that the guards have accepted, and do what the call did besides."""
        place = here()
        self.runs += 1
        with self._lock:
            for tensor, _ in self._gradients:  # so that its memory may serve again
                tensor._grad = None
            found = self.parts.executable.run(arrays)
        if self._changes:
            self._note_changes(tensors, place)
        origin = (*place, "compile", None, None)
        made: list[Tensor] = []
        for result in self._results:
            tensor = wrap(found[len(made)], result.origin or origin)
            tensor._requires_grad = result.requires
            made.append(tensor)
        for tensor, position in self._gradients:
            if position is not None:
                tensor._grad = made[position]
                tensor.grad_filled_at = (place,)
        if self._differentiable:
            self._attach(made, found, tensors, place)
        return self._returned(made, tensors)

    def _note_changes(self, tensors: Sequence[Tensor], place: Any) -> None:
        """Count the changes of each tensor that was written."""
        cells = [
            cell_of(tensors[where] if where.__class__ is int else where)  # type: ignore[arg-type]
            for where, _ in self._changes
        ]
        bump_all(cells, *place)
        for cell, (_, count) in zip(cells, self._changes, strict=True):
            cell.version += count - 1

    def _attach(
        self, made: list[Tensor], found: list[Any], tensors: Sequence[Tensor], place: Any
    ) -> None:
        """Give results with a derivative their node."""
        backward, results = self.parts.backward, self._differentiable
        if backward is None or self._edges is None:
            for position, _ in results:
                tensor = made[position]
                tensor._node, tensor._requires_grad = used_up_node(place, next_stamp()), True
            return
        edges, are_leaves = self._edges.now(tensors)
        node = new_node(place, next_stamp(), edges, len(results))
        node.is_last = are_leaves and backward.executable.is_all_native
        node.context = backward
        kept = found[len(found) - self.parts.kept :]
        # As `keep_input` keeps them: the guards know that none is an inference tensor.
        node.saved = (kept, [source.tensor(tensors) for source in backward.inputs])
        for position, result in results:
            tensor = made[position]
            tensor._requires_grad, tensor._origin = True, None
            tensor._node = node if len(results) == 1 else OutputEdge(node, result.output or 0)


@final
class _Edges:
    """Where the gradients of a program go: found out again where anything changed."""

    def __init__(self, guards: Guards, targets: Sequence[Source]) -> None:
        self._guards = guards
        self._targets = targets
        self._are_reached = all(isinstance(target, Reached) for target in targets)
        self._facts: Any = None
        self._known: tuple[tuple[Any, ...], bool] = ((), False)

    def now(self, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], bool]:
        """The edges, and whether they lead to different leaves alone."""
        if self._facts is self._guards.facts:
            return self._known
        edges: list[Any] = []
        are_leaves = are_whole = True
        for target in self._targets:
            tensor = target.tensor(tensors)
            if tensor is None:
                edges.append(None)
                continue
            are_leaves = are_leaves and tensor._node is None
            are_whole = are_whole and tensor._view is None
            edges.append(root_edge(tensor))
        are_leaves = are_leaves and are_whole and len(set(edges)) == len(edges)
        if self._are_reached and are_whole:
            self._known = tuple(edges), are_leaves
            self._facts = self._guards.facts
        return tuple(edges), are_leaves


def _taker(nest: Any, places: dict[int, int]) -> Taker:
    """What gives the captured nest with tensors in it."""
    if nest.__class__ is Result:
        if nest.ref is not None:
            place = places[id(nest)]
            return lambda made, tensors: made[place]
        number = nest.argument
        if number is not None:
            return lambda made, tensors: tensors[number]
        return lambda made, tensors: nest.tensor
    if isinstance(nest, tuple | list):
        takers = [_taker(item, places) for item in nest]
        if isinstance(nest, list):
            return lambda made, tensors: [take(made, tensors) for take in takers]
        kind = type(nest)
        make = (lambda parts: kind(*parts)) if hasattr(nest, "_fields") else kind
        return lambda made, tensors: make([take(made, tensors) for take in takers])
    if isinstance(nest, dict):
        named = {key: _taker(item, places) for key, item in nest.items()}
        return lambda made, tensors: {key: take(made, tensors) for key, take in named.items()}
    return lambda made, tensors: nest
