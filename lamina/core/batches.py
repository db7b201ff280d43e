"""What operations do while a function is mapped over a batch (`vmap`).

A tensor inside the function holds a `BatchedArray`, so kernels and rules run for all samples
without knowing. Two things are left to the general way of a call. A tensor from outside that wants
a gradient enters the batch by an operation of its own, whose derivative is the sum over the
samples. And what was written before a function turns out to need its samples one by one is put
back before it runs again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from lamina.core.modes import door, state
from lamina.core.op import traced
from lamina.core.promotion import is_array
from lamina.core.tensor import Tensor
from lamina.devices.batched import Batch, batches_of, lift_array


@final
class Mapping:
    """One `vmap` that is running.

    Attributes:
        batch: The samples; None while the function runs sample by sample.
        randomness: "error", "different" or "same": what random operations do.
        size: The number of samples.
    """

    __slots__ = ("_written", "batch", "randomness", "size")

    def __init__(self, size: int, randomness: str, batch: Batch | None) -> None:
        self.size = size
        self.randomness = randomness
        self.batch = batch
        self._written: list[tuple[Any, ...]] = []

    def note_before(self, target: Any) -> None:
        """Remember a tensor that is about to be written to."""
        base = target if target._view is None else target._view.base
        place = (base._node, base._requires_grad, base._origin)
        self._written.append((target._array, target._array.copy(), base, place))

    def undo(self) -> None:
        """Put back what was written to, newest first."""
        for array, before, base, place in reversed(self._written):
            array[...] = before
            base._node, base._requires_grad, base._origin = place
        self._written.clear()


@contextmanager
def running(mapping: Mapping) -> Iterator[None]:
    """A mapping's function runs inside: the door sends every operation the general way."""
    outer = state.mappings
    state.mappings = (*outer, mapping)
    door.watch(1)
    try:
        yield
    finally:
        door.watch(-1)
        state.mappings = outer
        if mapping.batch is not None:
            mapping.batch.is_active = False


def note_before_write(target: Any) -> None:
    """Have the mappings that are under way remember a tensor before it is written to."""
    for mapping in state.mappings:
        if mapping.batch is not None:
            mapping.note_before(target)


def active_batches() -> list[Batch]:
    """The batches of the mappings under way, the outermost first."""
    return [mapping.batch for mapping in state.mappings if mapping.batch is not None]


def lift_tensor(tensor: Tensor, batches: Sequence[Batch]) -> Tensor:
    """A tensor in all of the batches, by recorded steps where it was in none."""
    for batch in batches:
        if batch not in batches_of(tensor._array):
            tensor = traced.lift_to_batch(tensor, batch)
    return tensor


def lift_inputs(op: Any, values: list[Any], tensors: list[Tensor]) -> list[Tensor]:
    """Bring inputs that want a gradient into the batches that the others are in."""
    if not (state.grad_enabled and op.is_differentiable) or op.name in _BETWEEN:
        return tensors
    among = {batch for tensor in tensors for batch in batches_of(tensor._array)}
    batches = [batch for batch in active_batches() if batch in among]
    if not batches or not any(tensor._requires_grad for tensor in tensors):
        return tensors

    def lift(value: Any) -> Any:
        wants = isinstance(value, Tensor) and value._requires_grad
        return lift_tensor(value, batches) if wants else value

    for position in op.tensor_positions:
        value = values[position]
        values[position] = (
            [lift(item) for item in value] if isinstance(value, list) else lift(value)
        )
    return [lift(tensor) for tensor in tensors]


_BETWEEN = frozenset({"enter_batch", "leave_batch", "lift_to_batch", "total_of_batch"})
"""Operations that lead into a batch or out of it."""


def lift_arrays(op: Any, arrays: list[Any]) -> list[Any]:
    """Arrays for a kernel: all in the batches that any is in, so that indexing is dispatched."""
    if op.name in _BETWEEN:
        return arrays
    flat: list[Any] = []
    for position in op.tensor_positions:
        value = arrays[position]
        flat += value if isinstance(value, list) else [value]
    among = {batch for value in flat for batch in batches_of(value)}
    if not among:
        return arrays
    batches = sorted(among, key=lambda batch: batch.serial)

    def lift(value: Any) -> Any:
        if isinstance(value, list):
            return [lift(item) for item in value]
        if is_array(value):
            for batch in batches:
                if batch not in batches_of(value):
                    value = lift_array(value, batch)
        return value

    lifted = list(arrays)
    for position in op.tensor_positions:
        lifted[position] = lift(arrays[position])
    return lifted
