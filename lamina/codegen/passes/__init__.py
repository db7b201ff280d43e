"""What is done to a graph before it is scheduled; each pass changes the graph it is given."""

from lamina.codegen.graph import Graph
from lamina.codegen.passes.accumulating import accumulate
from lamina.codegen.passes.common import share_common
from lamina.codegen.passes.dead import drop_dead
from lamina.codegen.passes.folding import fold
from lamina.codegen.passes.laying_out import lay_out
from lamina.codegen.passes.lone_sums import sum_alone

__all__ = ["accumulate", "drop_dead", "fold", "lay_out", "share_common", "simplify", "sum_alone"]


def simplify(graph: Graph) -> None:
    """All passes, in their order."""
    fold(graph)
    share_common(graph)
    fold(graph)
    drop_dead(graph)
    accumulate(graph)
    lay_out(graph)
    sum_alone(graph)
