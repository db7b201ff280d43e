"""Reads the graphs of a running program's backward passes, for `lamina graph`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, final

from lamina.core import records
from lamina.core.positions import user_frame
from lamina.core.tensor import Tensor
from lamina.explain.graphs import own_reader
from lamina.explain.graphs.asked import call_log, has_graph
from lamina.explain.graphs.drawn import Graph
from lamina.explain.graphs.naming import scopes_of, variables_in

REMEMBERED_FORMS: Final = 100
"""A program whose graphs all differ must not fill the memory with what was read."""


class Enough(BaseException):
    """The pass that was asked for has been seen: the program need not go on."""


@final
class Watched:
    """A graph that passes went through, and which ones: numbers from 1."""

    def __init__(self, graph: Graph, first: int) -> None:
        self.graph = graph
        self.first = self.last = first
        self.count = 1


@final
class PassWatcher:
    """Reads the graph of each backward pass before it runs: `with PassWatcher() as watcher`.

    Passes over graphs of one form, as in a training loop, are read once.

    Args:
        stop_at: Raise `Enough` when this pass was seen, before it runs; None to see them all.
        with_values: Whether to compute the gradients as well.
    """

    def __init__(self, stop_at: int | None = None, with_values: bool = False) -> None:
        self.stop_at = stop_at
        self.with_values = with_values
        self.passes = 0
        self.problem: Exception | None = None
        self._log = call_log()
        self._found: dict[int, Watched] = {}

    @property
    def graphs(self) -> list[Watched]:
        """What was seen, by when it was seen last."""
        return sorted(self._found.values(), key=lambda watched: watched.last)

    def __enter__(self) -> Self:
        self._log.__enter__()
        records.watchers.append(self._see)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        records.watchers.remove(self._see)
        self._log.__exit__(kind, error, trace)

    def _see(self, roots: Sequence[Tensor]) -> None:
        self.passes += 1
        try:
            self._read(roots)
        except Exception as error:  # what looks on must not stop the program
            self.problem = error
        if self.passes == self.stop_at:
            raise Enough

    def _read(self, roots: Sequence[Tensor]) -> None:
        form = own_reader.form_of(roots)
        known = self._found.get(form)
        if known is not None:
            known.last = self.passes
            known.count += 1
            return
        scopes = scopes_of(user_frame(sys._getframe(1)))
        self._found[form] = Watched(self._graph(roots, scopes), self.passes)
        if len(self._found) > REMEMBERED_FORMS:
            del self._found[min(self._found, key=lambda one: self._found[one].last)]

    def _graph(self, roots: Sequence[Tensor], scopes: Sequence[Mapping[str, Any]]) -> Graph:
        calls = self._log.calls() or None
        return Graph(
            own_reader.read(roots, scopes=scopes, calls=calls, with_values=self.with_values)
        )

    def newest_in(self, variables: Mapping[str, Any]) -> Graph | None:
        """The graph of the tensor among variables that was computed last; None without any."""
        found = [t for t in variables_in(variables).values() if isinstance(t, Tensor)]
        computed = [(t.grad_fn.stamp, t) for t in found if has_graph(t) and t.grad_fn is not None]
        if not computed:
            return None
        _, newest = max(computed, key=lambda pair: pair[0])
        return self._graph([newest], [variables_in(variables)])
