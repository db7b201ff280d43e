"""From what a reader found to a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.explain.graphs.calls import Chain
from lamina.explain.graphs.folding import fold
from lamina.explain.graphs.model import Edge, GraphModel, Node
from lamina.explain.graphs.plan import steps_of


def assembled(
    *,
    names: Iterable[str | None],
    library: str,
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    chains: Sequence[Chain],
    roots: Iterable[int],
    kept_bytes: int,
    notes: Sequence[str],
) -> GraphModel:
    """The whole model: nodes get their groups, and the backward pass its steps.

    Args:
        names: What the program calls the roots.
        chains: The boxes around each operation, in the order of running.
        roots: The nodes that the pass begins at; one that stands here twice counts once.
    """
    folded = fold(nodes, edges, chains)
    begins = tuple(dict.fromkeys(roots))
    return GraphModel(
        title=", ".join(name for name in names if name) or "a tensor",
        library=library,
        nodes=folded.nodes,
        edges=tuple(edges),
        groups=folded.groups,
        roots=begins,
        steps=tuple(steps_of(folded.nodes, edges, begins)),
        kept_bytes=kept_bytes,
        notes=tuple(notes),
    )
