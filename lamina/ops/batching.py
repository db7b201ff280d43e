"""The ways into a batch and out of it, for functions that are mapped (`vmap`).

They are operations, so that derivatives of any order go through them.
"""

from __future__ import annotations

from typing import Any

from lamina.core.batches import lift_tensor
from lamina.core.call import operation
from lamina.core.op import LINEAR, offer
from lamina.core.tensor import Tensor
from lamina.devices.batched import (
    Batch,
    NeedsSamples,
    lift_array,
    total_of,
)
from lamina.devices.batched import (
    enter_batch as enter_kernel,
)
from lamina.devices.batched import (
    leave_batch as leave_kernel,
)

__all__ = ["enter_batch", "leave_batch", "lift_to_batch", "total_of_batch"]


def _enter(input: Any, batch: Batch, axis: int) -> Any:
    return enter_kernel(input, batch, axis)


def _leave(input: Any, batch: Batch, axis: int) -> Any:
    return leave_kernel(input, batch, axis)


def _lift(input: Any, batch: Batch) -> Any:
    return lift_array(input, batch)


def _total(input: Any, batch: Batch) -> Any:
    return total_of(input, batch)


def _total_later(F: Any, g: Any, batch: Batch) -> Any:
    """The sum over the samples, of a pass outside of the mapping.

    A pass inside it wants the gradient for one sample.
    """
    if batch.is_active:
        raise NeedsSamples("the gradient of a tensor from outside")
    return F.total_of_batch(g, batch)


enter_batch = operation(
    "enter_batch",
    _enter,
    grad={
        "input": lambda F, g, batch, axis: F.leave_batch(
            F.brought_into_batch(g, batch), batch, axis
        )
    },
    is_view=True,
    halves_in_float=False,
    doc="The tensor as one sample of a batch, with all samples behind it.",
)

leave_batch = operation(
    "leave_batch",
    _leave,
    grad={"input": lambda F, g, batch, axis: F.enter_batch(g, batch, axis)},
    halves_in_float=False,
    doc="All samples of a batch, of which the tensor is one, along a dimension.",
)

lift_to_batch = operation(
    "lift_to_batch",
    _lift,
    grad={"input": _total_later},
    halves_in_float=False,
    doc="The tensor as one that is the same for all samples of a batch.",
)

total_of_batch = operation(
    "total_of_batch",
    _total,
    grad={"input": lambda F, g, batch: F.lift_to_batch(g, batch)},
    halves_in_float=False,
    doc="The sum over all samples of a batch.",
)


def _bring(input: Tensor, batch: Batch) -> Tensor:
    """The tensor in a batch; by a recorded step if it was not."""
    return lift_tensor(input, [batch])


offer("brought_into_batch", lift_array, _bring)

for operation_ in (enter_batch, leave_batch, lift_to_batch, total_of_batch):
    operation_.op.tangent = LINEAR
