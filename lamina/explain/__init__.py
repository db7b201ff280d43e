"""The explainer: `why(t)` says what is the matter with a tensor, `graph(t)` draws where it is."""

from lamina.explain.answer import why
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation
from lamina.explain.graphs import Graph, graph

__all__ = ["Cause", "Explanation", "Graph", "graph", "why"]
