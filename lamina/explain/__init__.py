"""The explainer: `why(t)` says what is the matter with a tensor, `graph(t)` draws where it is.

Drawing is loaded when it is first used, so that `why` answers at once.
"""

from typing import TYPE_CHECKING

from lamina.explain.answer import why
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation
from lamina.late_loading import late_names

if TYPE_CHECKING:
    from lamina.explain.graphs import Graph, graph
    from lamina.explain.summaries import summary

_HOMES = {"lamina.explain.graphs": "Graph graph", "lamina.explain.summaries": "summary"}
__getattr__, __dir__ = late_names(__name__, _HOMES)

__all__ = ["Cause", "Explanation", "Graph", "graph", "summary", "why"]
