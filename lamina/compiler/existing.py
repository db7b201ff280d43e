"""The tensors that exist before a function is captured, and what the capture did to them."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple, final

from lamina.core.tensor import Tensor, set_array
from lamina.core.versions import INFERENCE


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


@final
class Existing:
    """Every tensor alive, as it was.

    Asking the garbage collector finds also those that no walk would (20 ms for a million objects,
    once for each program).
    """

    def __init__(self, more: list[Tensor]) -> None:
        found = {id(t): t for t in gc.get_objects() if issubclass(type(t), Tensor)}
        found |= {id(tensor): tensor for tensor in more}
        for tensor in list(found.values()):
            grad = tensor._grad
            if grad is not None:
                found[id(grad)] = grad
        self._records = {key: _record(tensor) for key, tensor in found.items()}
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
        for record in self._records.values():
            if record.node is edge:
                return record.tensor
        return None

    def had_no_gradient(self, tensor: Tensor) -> bool:
        """Whether a tensor had no `.grad`."""
        return self._records[id(tensor)].grad is None

    def new_gradients(self) -> list[Tensor]:
        """The tensors whose `.grad` is another one now."""
        return [
            record.tensor
            for record in self._records.values()
            if record.tensor._grad is not record.grad
        ]

    def changes(self) -> list[tuple[Tensor, int]]:
        """The tensors that were changed in place, each with how often.

        Tensors that share memory share their count, and stand here once.
        """
        found: dict[int, tuple[Tensor, int]] = {}
        for record in self._records.values():
            cell = record.tensor._cell
            if cell is not None and cell is not INFERENCE and cell.version != record.version:
                found.setdefault(id(cell), (record.tensor, cell.version - record.version))
        return list(found.values())

    def trouble(self) -> str | None:
        """A change that a program cannot make again."""
        for record in self._records.values():
            tensor = record.tensor
            if tensor._array is not record.array:
                return "a tensor was given other memory (`.data =`, `set_`, `resize_`)"
            if tensor._requires_grad != record.requires_grad:
                return "`requires_grad` of a tensor was switched"
            if tensor._hooks is not record.hooks:
                return "a hook was registered"
            if tensor._node is not record.node:
                return "a tensor from outside was changed in place while that was recorded"
        return None

    def restore(self) -> None:
        """Put all tensors back as they were."""
        for record in self._records.values():
            tensor = record.tensor
            if tensor._array is not record.array:
                set_array(tensor, record.array)
            tensor._grad = record.grad
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
