"""`once_differentiable`: a backward whose result cannot be differentiated again, and says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final

from lamina.autograd import function_blame
from lamina.core.modes import door, state
from lamina.core.node import NOTHING, Node
from lamina.core.op_node import edge_of
from lamina.core.positions import here
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import next_stamp


@final
class Error(Node):
    """The node of a gradient that cannot be differentiated again."""

    __slots__ = ("function",)

    function: Callable[..., Any]

    def pull(self, F: Any, g: Any) -> Any:
        """There is no second derivative."""
        raise function_blame.differentiated_twice(self.function)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that is not made of differentiable operations: it runs without recording.

    Differentiating its result raises an error, instead of giving a wrong gradient in silence.
    """

    @functools.wraps(fn)
    def backward(ctx: Any, *gradients: Any) -> Any:
        before = state.grad_enabled
        door.set_grad_enabled(False)
        try:
            found = fn(ctx, *gradients)
        finally:
            door.set_grad_enabled(before)
        if not before or not any(isinstance(g, Tensor) and g.requires_grad for g in gradients):
            return found
        node = Error()
        node.function = fn
        node.next = tuple(edge_of(gradient) for gradient in gradients)
        node.code, node.lasti = here()
        node.context = node.freed_at = node._hooks = None
        node.saved = NOTHING
        node.stamp = next_stamp()
        if not isinstance(found, tuple):
            return _ending_at(node, found)
        return tuple(_ending_at(node, gradient) for gradient in found)

    return backward


def _ending_at(node: Error, gradient: Any) -> Any:
    if not isinstance(gradient, Tensor):
        return gradient
    made = wrap(gradient._array, None)
    made._node = node
    made._requires_grad = True
    return made
