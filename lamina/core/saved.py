"""Kept values: how a node keeps an input or its own result, and gives it back checked.

An input is kept as the tensor itself. The node's own result is kept as an array with its version
cell, since keeping the tensor would tie a knot: tensor -> node -> tensor. With
`saved_tensors_hooks`, what the pack hook returned is kept instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from lamina.core import blame
from lamina.core.modes import state
from lamina.core.node import Node, OutputEdge
from lamina.core.op import raw
from lamina.core.tensor import Tensor, cell_of, wrap
from lamina.core.versions import INFERENCE, VersionCell


@final
class KeptResult:
    """A node's own result: its array and version cell, not its tensor."""

    __slots__ = ("array", "cell", "index", "stamp")

    def __init__(self, tensor: Tensor, index: int) -> None:
        self.array = tensor._array
        self.cell: VersionCell = cell_of(tensor)
        self.index = index


@final
class Packed:
    """A value that went through a pack hook; `unpack` brings it back."""

    __slots__ = ("content", "hook", "index", "is_result", "edge_source")

    def __init__(self, tensor: Tensor, is_result: bool, index: int) -> None:
        pack, self.hook = state.pack_hooks[-1]
        self.is_result = is_result
        self.index = index
        self.edge_source = None if is_result else tensor
        bare = wrap(tensor._array, tensor._origin)
        bare._cell = tensor._cell
        if not is_result:
            bare = tensor
        self.content = pack(bare if not is_result else bare)
        if self.content is tensor:
            self.edge_source = tensor
        elif not is_result:
            self.edge_source = _edge_of_kept(tensor)


def _edge_of_kept(tensor: Tensor) -> Any:
    """Where gradients of a kept input go, without its values."""
    if tensor._node is not None:
        return tensor._node
    return tensor if tensor._requires_grad else None


def keep_input(tensor: Any) -> Any:
    """What a node keeps for one input (numbers are kept as they are)."""
    if not isinstance(tensor, Tensor):
        return tensor
    if tensor._cell is INFERENCE:
        raise blame.inference_saved(tensor)
    if state.pack_hooks:
        return Packed(tensor, False, 0)
    return tensor


def keep_result(tensor: Tensor, index: int) -> Any:
    """What a node keeps for its own output `index`."""
    if state.pack_hooks:
        return Packed(tensor, True, index)
    return KeptResult(tensor, index)


def unpack(node: Node, entry: Any, F: Any) -> Any:
    """A kept value as `F` wants it (array or tensor), checked for changes in place."""
    kind = entry.__class__
    if kind is KeptResult:
        if entry.cell.changed_at > node.stamp:
            raise blame.saved_value_modified(node, entry.array, entry.cell, is_result=True)
        return entry.array if F is raw else _as_result(node, entry.array, entry.cell, entry.index)
    if kind is Packed:
        return _unpack_packed(node, entry, F)
    if isinstance(entry, Tensor):
        cell = entry._cell
        if cell is not None and cell.changed_at > node.stamp:
            raise blame.saved_value_modified(node, entry._array, cell, is_result=False, tensor=entry)
        return entry._array if F is raw else entry
    if kind is tuple:
        return [unpack(node, item, F) for item in entry]
    return entry


def _as_result(node: Node, array: Any, cell: VersionCell | None, index: int) -> Tensor:
    """A tensor for a node's own result: it leads back to the node."""
    made = wrap(array, None)
    made._cell = cell
    made._node = node if node.outputs == 1 else OutputEdge(node, index)
    made._requires_grad = True
    return made


def _unpack_packed(node: Node, entry: Packed, F: Any) -> Any:
    value = entry.hook(entry.content)
    if not isinstance(value, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor, got {type(value).__name__}")
    cell = value._cell
    if cell is not None and cell.changed_at > node.stamp and entry.content is value:
        raise blame.saved_value_modified(node, value._array, cell, is_result=entry.is_result)
    if F is raw:
        return value._array
    if entry.is_result:
        return _as_result(node, value._array, None, entry.index)
    edge = entry.edge_source
    if edge is None or isinstance(edge, Tensor):
        return value if edge is None else edge
    made = wrap(value._array, None)
    made._node, made._requires_grad = edge, True
    return made


Hook = Callable[[Any], Any]
