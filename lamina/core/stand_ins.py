"""Tensors by which something is differentiated in place of the user's own."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.core.batches import lift_tensor
from lamina.core.modes import door, state
from lamina.core.op import traced
from lamina.core.tensor import Tensor
from lamina.devices.batched import Batch


def stand_in(tensor: Tensor, records: bool, batches: Sequence[Batch]) -> Tensor:
    """A tensor with the same elements that wants a gradient.

    Args:
        tensor: What it stands for.
        records: Whether its graph shall lead on to that tensor's.
        batches: What it shall be a member of, so that gradients are those of each sample.
    """
    before = state.grad_enabled
    door.set_grad_enabled(records)
    try:
        made: Tensor = traced.view(tensor, tensor._array.shape)
    finally:
        door.set_grad_enabled(before)
    made = lift_tensor(made, batches)
    if made._node is None or not made._requires_grad:
        made.requires_grad_()
    return made
