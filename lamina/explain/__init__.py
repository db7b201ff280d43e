"""The explainer: `why(t)` says what is the matter with a tensor, `graph(t)` draws where it is.

Drawing is loaded when it is first used, so that `why` answers at once.
"""

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from lamina.explain.answer import why
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation

if TYPE_CHECKING:
    from lamina.explain.graphs import Graph, graph
    from lamina.explain.summaries import summary

_HOMES = {
    "Graph": "lamina.explain.graphs",
    "graph": "lamina.explain.graphs",
    "summary": "lamina.explain.summaries",
}

__all__ = ["Cause", "Explanation", "Graph", "graph", "summary", "why"]


def __getattr__(name: str) -> _Any:
    if name in _HOMES:
        return getattr(_importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'lamina.explain' has no attribute {name!r}")
