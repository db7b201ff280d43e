"""Graphs to look at: `graph(tensor)` reads one, `Graph` prints and saves it.

A reader (`own_reader`, `torch_reader`) makes a `model` of plain records; `text`, `svg` and `page`
draw it, and know nothing of tensors.
"""

from lamina.explain.graphs.asked import graph
from lamina.explain.graphs.drawn import Graph

__all__ = ["Graph", "graph"]
