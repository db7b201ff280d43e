"""What is done to a graph before it is scheduled; each pass changes the graph it is given."""

from lamina.codegen.graph import Graph
from lamina.codegen.passes.accumulating import accumulate
from lamina.codegen.passes.common import share_common
from lamina.codegen.passes.dead import drop_dead
from lamina.codegen.passes.folding import fold
from lamina.codegen.passes.joining_products import join_products
from lamina.codegen.passes.laying_out import lay_out
from lamina.codegen.passes.lone_sums import sum_alone
from lamina.codegen.passes.merging_sums import merge_sums
from lamina.codegen.passes.paneling import use_panels
from lamina.codegen.passes.parts import make_in_place

__all__ = [
    "accumulate",
    "drop_dead",
    "fold",
    "join_products",
    "lay_out",
    "make_in_place",
    "merge_sums",
    "share_common",
    "simplify",
    "sum_alone",
    "use_panels",
]


def simplify(graph: Graph, lanes: int = 0) -> None:
    """All passes, in their order.

    Args:
        graph: It is changed.
        lanes: How many float32 a vector of the machine holds; 0 if there is no machine code.
    """
    fold(graph)
    share_common(graph)
    fold(graph)
    drop_dead(graph)
    accumulate(graph)
    make_in_place(graph)
    join_products(graph)
    if lanes:
        use_panels(graph, lanes)
        merge_sums(graph)
    lay_out(graph)
    sum_alone(graph)
