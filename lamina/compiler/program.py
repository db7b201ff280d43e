"""Compiled programs: what a run does besides computing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, final

from lamina.compiler.building import Parts
from lamina.compiler.capturing import Recording, Result
from lamina.compiler.gradients import new_node, used_up_node
from lamina.compiler.guards import Guards
from lamina.core.engine import root_edge
from lamina.core.node import OutputEdge
from lamina.core.provenance import here
from lamina.core.tensor import Tensor, cell_of, wrap
from lamina.core.versions import next_stamp


@final
class Program:
    """One captured call, compiled.

    Attributes:
        guards: When it may run.
        parts: What runs.
        runs: How often it ran.
    """

    def __init__(self, recording: Recording, parts: Parts, guards: Guards) -> None:
        self.guards = guards
        self.parts = parts
        self.runs = 0
        self._lock = threading.Lock()
        self._nest = recording.nest
        self._results = recording.results
        self._differentiable = [r for r in self._results if r.output is not None]
        self._gradients = recording.gradients
        self._changes = recording.changes

    def run(self, tensors: Sequence[Tensor], arrays: list[Any]) -> Any:
        """Run on arrays that the guards have accepted, and do what the call did besides."""
        place = here()
        self.runs += 1
        with self._lock:
            for tensor, _ in self._gradients:  # so that its memory may serve again
                tensor._grad = None
            found = self.parts.executable.run(arrays)
        self._note_changes(tensors, place)
        origin = (*place, "compile", None, None)
        made: dict[int, Tensor] = {}
        for result, array in zip(self._results, found, strict=False):
            made[id(result)] = tensor = wrap(array, result.origin or origin)
            if result.requires:
                tensor._requires_grad = True
        for tensor, gradient in self._gradients:
            if gradient is not None:
                tensor._grad = made[id(gradient)]
                tensor.grad_filled_at = (place,)
        if self._differentiable:
            self._attach(made, found, tensors, place)
        return self._returned(self._nest, made, tensors)

    def _note_changes(self, tensors: Sequence[Tensor], place: Any) -> None:
        """Count the changes of each tensor that was written."""
        for where, count in self._changes:
            tensor = tensors[where] if where.__class__ is int else where
            cell = cell_of(tensor)  # type: ignore[arg-type]
            cell.bump(*place)
            cell.version += count - 1

    def _returned(self, nest: Any, made: dict[int, Tensor], tensors: Sequence[Tensor]) -> Any:
        """What the call returns: the captured nest with tensors in it."""
        if nest.__class__ is Result:
            if nest.ref is not None:
                return made[id(nest)]
            return nest.tensor if nest.argument is None else tensors[nest.argument]
        if isinstance(nest, tuple):
            parts = [self._returned(item, made, tensors) for item in nest]
            return type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)
        if isinstance(nest, list):
            return [self._returned(item, made, tensors) for item in nest]
        if isinstance(nest, dict):
            return {key: self._returned(item, made, tensors) for key, item in nest.items()}
        return nest

    def _attach(
        self, made: dict[int, Tensor], found: list[Any], tensors: Sequence[Tensor], place: Any
    ) -> None:
        """Give results with a derivative their node."""
        backward, results = self.parts.backward, self._differentiable
        if backward is None:
            for result in results:
                tensor = made[id(result)]
                tensor._node, tensor._requires_grad = used_up_node(place, next_stamp()), True
            return
        targets = [source.tensor(tensors) for source in backward.targets]
        edges = tuple([None if target is None else root_edge(target) for target in targets])
        node = new_node(place, next_stamp(), edges, len(results))
        node.context = backward.context
        kept = found[len(found) - self.parts.kept :]
        # As `keep_input` keeps them: the guards know that none is an inference tensor.
        node.saved = (kept, [source.tensor(tensors) for source in backward.inputs])
        for result in results:
            tensor = made[id(result)]
            tensor._requires_grad, tensor._origin = True, None
            tensor._node = node if len(results) == 1 else OutputEdge(node, result.output or 0)
