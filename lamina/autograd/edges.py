"""Places in the graph as users hold them, in place of tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lamina import errors
from lamina.core import blame
from lamina.core.engine import root_edge
from lamina.core.node import Node, edge_of_public, public_edge
from lamina.core.tensor import Tensor, wrap

__all__ = ["GradientEdge", "get_gradient_edge", "standing_for"]


class _Edge(NamedTuple):
    node: Node
    output_nr: int
    ownership_token: Any = None


class GradientEdge(_Edge):
    """Where a tensor stands in the graph: its node, and which output of that it is.

    `backward` and `grad` take it in place of the tensor, which need not be kept alive.
    """

    model: Any = None  # an array like the tensor's, without memory of its own


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place of a tensor in the graph."""
    if not tensor.requires_grad:
        raise errors.NoGraph(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients",
            [(blame.this_place(), "asked for here")],
        )
    found = GradientEdge(*public_edge(root_edge(tensor)))
    array = tensor._array
    found.model = np.broadcast_to(np.zeros_like(array, shape=()), array.shape)
    return found


def standing_for(value: Any) -> Any:
    """A tensor at the place in the graph that an edge names; a tensor itself."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, GradientEdge):
        raise errors.NotAGraphTensor(
            f"expected a Tensor or a GradientEdge, but got {type(value).__name__}: only those "
            "stand in a graph",
            [(blame.this_place(), "given here")],
            ["pass the tensor itself, such as `model.weight`, not its name or its values"],
        )
    edge = edge_of_public(value.node, value.output_nr)
    if isinstance(edge, Tensor):
        return edge
    made = wrap(np.zeros(()) if value.model is None else value.model, None)
    made._node = edge
    made._requires_grad = True
    return made
