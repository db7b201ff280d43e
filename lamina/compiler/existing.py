"""The tensors that exist before a function is captured, and what the capture did to them."""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple, final

from lamina.core.living import living
from lamina.core.node import NOTHING, Node, OutputEdge
from lamina.core.tensor import Tensor, set_array
from lamina.core.versions import INFERENCE, next_stamp
from lamina.devices.traced import TracedArray

_MEMORY: Final = "a tensor was given other memory (`.data =`, `set_`, `resize_`)"


class NotCaptured(Exception):
    """Why a call cannot be captured."""


@final
class Boundary(Node):
    """Stands for the history that a tensor has outside, while a function is captured."""

    __slots__ = ()

    def pull(self, F: Any, g: Any) -> Any:
        """No pass goes on from here: what is outside would be used up only once."""
        raise NotCaptured("a backward pass inside leads to a graph that was recorded outside")


def boundary_for(edge: Any) -> Boundary:
    """A boundary in the place of a node (or an output of one)."""
    node = edge.node if edge.__class__ is OutputEdge else edge
    made = Boundary()
    made.next, made.saved, made.context = (), NOTHING, None
    made.code, made.lasti, made.stamp = node.code, node.lasti, next_stamp()
    made._hooks = made.freed_at = None
    return made


@final
class _Record(NamedTuple):
    tensor: Tensor
    array: Any
    grad: Any
    requires_grad: bool
    node: Any
    view: Any
    hooks: Any
    cell: Any
    version: int
    changed_at: int


def _is_whole(tensor: Tensor) -> bool:
    """Whether a tensor was finished: an operation that fails half-way may leave one that was not,
    which the traceback keeps alive."""
    return all(hasattr(tensor, name) for name in _PARTS)


_PARTS: Final = ("_array", "_cell", "_grad", "_hooks", "_node", "_requires_grad", "_view")


@final
class Existing:
    """Every tensor alive, as it was.

    Asking the garbage collector finds also those that no walk would (20 ms for a million objects,
    once for each program). While other threads run, what happens to a tensor that was not found by
    walking may be their doing: then only traced arrays are taken back from it.

    Tensors with a history get a `Boundary` in its place, so that nothing goes back beyond it.

    Args:
        known: Tensors that were found by walking, and arguments.
    """

    def __init__(self, known: list[Tensor]) -> None:
        # Those known first, in their order: the collector's differs from process to process, and
        # with the order of results the text of the program would.
        found = {id(tensor): tensor for tensor in known}
        found |= {id(tensor): tensor for tensor in living(Tensor) if _is_whole(tensor)}
        self._own = {id(tensor) for tensor in known}
        if threading.active_count() == 1:
            self._own = set(found)
        for tensor in list(found.values()):
            grad = tensor._grad
            if grad is not None:
                found[id(grad)] = grad
        self._records = {key: _record(tensor) for key, tensor in found.items()}
        self._boundaries: dict[int, Boundary] = {}
        self._behind: dict[int, Tensor] = {}
        for key, record in self._records.items():
            if record.node is not None and key in self._own:
                boundary = self._boundaries[key] = boundary_for(record.node)
                self._behind[id(boundary)] = record.tensor
                record.tensor._node = boundary
        self.owners: dict[int, list[Tensor]] = {}
        for record in self._records.values():
            self.owners.setdefault(id(record.array), []).append(record.tensor)
        self.grad_owner = {
            id(record.grad): record.tensor
            for record in self._records.values()
            if record.grad is not None
        }

    def __contains__(self, tensor: Tensor) -> bool:
        return id(tensor) in self._records

    def with_edge(self, edge: Any) -> Tensor | None:
        """The tensor whose gradient an edge carries on."""
        return self._behind.get(id(edge))

    def had_no_gradient(self, tensor: Tensor) -> bool:
        """Whether a tensor had no `.grad`."""
        return self._records[id(tensor)].grad is None

    def new_gradients(self) -> list[Tensor]:
        """The tensors whose `.grad` is another one now."""
        return [
            record.tensor
            for key, record in self._records.items()
            if record.tensor._grad is not record.grad and self._is_ours(key, record)
        ]

    def _is_ours(self, key: int, record: _Record) -> bool:
        """Whether a changed tensor was changed by the capture, as far as one can tell."""
        grad = record.tensor._grad
        return key in self._own or isinstance(getattr(grad, "_array", None), TracedArray)

    def changes(self) -> list[tuple[Tensor, int]]:
        """The tensors that were changed in place, each with how often.

        Tensors that share memory share their count, and stand here once.
        """
        found: dict[int, tuple[Tensor, int]] = {}
        for key, record in self._records.items():
            cell = record.tensor._cell
            if key not in self._own:
                continue
            if cell is not None and cell is not INFERENCE and cell.version != record.version:
                found.setdefault(id(cell), (record.tensor, cell.version - record.version))
        return list(found.values())

    def trouble(self) -> str | None:
        """A change that a program cannot make again."""
        for key, record in self._records.items():
            tensor, boundary = record.tensor, self._boundaries.get(key)
            if key not in self._own:
                was_given = tensor._array is not record.array  # else it is left of a failed capture
                if was_given and isinstance(tensor._array, TracedArray):
                    return _MEMORY
                continue
            if tensor._array is not record.array:
                return _MEMORY
            if tensor._requires_grad != record.requires_grad:
                return "`requires_grad` of a tensor was switched"
            if tensor._hooks is not record.hooks or (boundary is not None and boundary._hooks):
                return "a hook was registered"
            if tensor._node is not (record.node if boundary is None else boundary):
                return "a tensor from outside was changed in place while that was recorded"
        return None

    def restore(self) -> None:
        """Put all tensors back as they were."""
        for key, record in self._records.items():
            tensor = record.tensor
            if key not in self._own and not self._is_ours(key, record):
                continue
            if tensor._array is not record.array:
                set_array(tensor, record.array)
            tensor._grad = record.grad
            if key not in self._own:
                continue
            tensor._requires_grad = record.requires_grad
            tensor._node = record.node
            tensor._view = record.view
            tensor._hooks = record.hooks
            tensor._cell = cell = record.cell
            if cell is not None and cell is not INFERENCE:
                cell.version, cell.changed_at = record.version, record.changed_at


def _record(tensor: Tensor) -> _Record:
    cell = tensor._cell
    version, changed_at = (0, 0) if cell is None else (cell.version, cell.changed_at)
    return _Record(
        tensor, tensor._array, tensor._grad, tensor._requires_grad, tensor._node, tensor._view,
        tensor._hooks, cell, version, changed_at,
    )  # fmt: skip
