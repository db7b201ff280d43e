"""A model's recorded operations as a graph for TensorBoard."""

from __future__ import annotations

from collections import Counter
from typing import Any, final

from lamina.core.modes import enable_grad
from lamina.core.tensor import Tensor
from lamina.utils._pytree import tree_leaves
from lamina.utils.tensorboard.package import part_of_package

__all__ = ["graph_of"]


def graph_of(model: Any, inputs: Any) -> Any:
    """The operations that a model records for some inputs, as TensorFlow's `GraphDef`.

    Its nodes are those of the backward pass, named as `grad_fn` is, and the parameters.
    """
    arguments = inputs if isinstance(inputs, tuple | list) else (inputs,)
    with enable_grad():
        outputs = [leaf for leaf in tree_leaves(model(*arguments)) if isinstance(leaf, Tensor)]
    names = {id(value): name for name, value in model.named_parameters()}
    graph = part_of_package("tensorboardX.proto.graph_pb2").GraphDef()
    drawn = _Drawn(graph, names)
    for number, output in enumerate(outputs):
        sources = [] if output.grad_fn is None else [drawn.name_of(output.grad_fn)]
        graph.node.add(name=f"output/{number}", op="IO Node", input=sources)
    drawn.finish()
    return graph


@final
class _Drawn:
    """The nodes that have names, and those whose inputs are still to be written."""

    def __init__(self, graph: Any, names: dict[int, str]) -> None:
        self._graph = graph
        self._parameters = names
        self._names: dict[Any, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: list[Any] = []

    def name_of(self, node: Any) -> str:
        """The name of a node of the backward pass, new or known."""
        if node not in self._names:
            variable = getattr(node, "variable", None)
            known = self._parameters.get(id(variable)) if variable is not None else None
            word = type(node).__name__
            if known is None:
                self._names[node] = f"{word}_{self._counts[word]}"
                self._counts[word] += 1
            else:
                self._names[node] = "parameters/" + known.replace(".", "/")
            self._waiting.append(node)
        return self._names[node]

    def finish(self) -> None:
        """Write all nodes. A list instead of a recursion: graphs are deep."""
        while self._waiting:
            node = self._waiting.pop()
            sources = [self.name_of(source) for source, _ in node.next_functions if source]
            name = self._names[node]
            kind = "Parameter" if name.startswith("parameters/") else type(node).__name__
            self._graph.node.add(name=name, op=kind, input=sources)
