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

__all__ = ["Cause", "Explanation", "Graph", "graph", "why"]


def __getattr__(name: str) -> _Any:
    if name in ("Graph", "graph"):
        return getattr(_importlib.import_module("lamina.explain.graphs"), name)
    raise AttributeError(f"module 'lamina.explain' has no attribute {name!r}")
