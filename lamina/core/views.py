"""Views: how a tensor knows its base and how it can be made from the base again.

After a change in place of a base, or of another view of it, a view's old `_node` no longer tells
how its values came about. Its version then differs from its cell's, and `refresh` gives it a node
that leads to the base as it is now. (PyTorch does the same, and names that node the same.)
"""

from __future__ import annotations

from typing import Any, final

from lamina.core import blame
from lamina.core.modes import state
from lamina.core.node import NOTHING, Node
from lamina.core.origins import RECORDED
from lamina.core.versions import next_stamp

Steps = tuple[tuple[str, tuple[Any, ...]], ...]


@final
class View:
    """What a differentiable view remembers: its base, the steps from there, and its version.

    A step is `(name of a view op, its further arguments)`; the name is looked up in the namespace
    of raw arrays or of tensors, so that the same steps serve both.
    """

    __slots__ = ("base", "creation", "origin", "steps", "version")

    def __init__(self, base: Any, steps: Steps, creation: str, version: int, origin: Any) -> None:
        self.base = base
        self.steps = steps
        self.creation = creation
        self.version = version
        self.origin = origin


def replay(F: Any, base: Any, steps: Steps) -> Any:
    """The view that `steps` make of a base: raw arrays or tensors, as `F` is."""
    for name, args in steps:
        base = getattr(F, name)(base, *args)
    return base


def inherits_flag(tensor: Any) -> bool:
    """Whether a tensor requires grad only because its base does: a view made without recording.

    Nothing leads from it to the base, and it was never asked to collect gradients itself.
    """
    return tensor._view is not None and tensor._node is None and "asked_at" not in tensor.__dict__


@final
class AsStridedBackward0(Node):
    """The gradient of a view whose base was changed in place after the view was made."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """The base's gradient: the view's, with zeros around it."""
        shape, kind, steps = self.context
        return (None if g is None else F.embed_view(g, shape, kind, steps),)


def refresh(tensor: Any) -> None:
    """Make a view's place in the graph current, if its base was changed in place since."""
    view = tensor._view
    if view is None or view.version == tensor._cell.version:
        return
    base = view.base
    if not (base._requires_grad or tensor._node) or not tensor.dtype.is_differentiable:
        view.version = tensor._cell.version
        return
    if view.creation is not RECORDED:
        if state.grad_enabled:
            raise blame.stale_view(tensor)
        return
    view.version = tensor._cell.version
    node = AsStridedBackward0()
    node.next = ((base._node or base) if base._requires_grad else None,)
    node.saved = NOTHING
    node.context = (base._array.shape, base._array.dtype, view.steps)
    node.stamp = next_stamp()
    node.code, node.lasti = _origin_of(tensor)
    node._hooks = None
    tensor._node = node
    tensor._requires_grad = True


def _origin_of(tensor: Any) -> tuple[Any, int]:
    if tensor._node is not None:
        node = getattr(tensor._node, "node", tensor._node)
        return node.code, node.lasti
    code, lasti = tensor._view.origin[:2]
    return code, lasti
