"""Views with any strides of a tensor's memory, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims, made_note, this_place
from lamina.core.call import operation
from lamina.core.fast_moves import moving
from lamina.core.op import offer
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.core.views import View
from lamina.devices import backend_of, current_recorder, device_of
from lamina.devices.dispatched import whole_memory
from lamina.ops.axes import sizes_of
from lamina.ops.indexing_rules import refused
from lamina.ops.memory import contiguous
from lamina.ops.windows import strided

__all__ = ["as_strided"]

# Where an array's elements lie in its memory, in elements: the stride of each dimension, and the
# place of the first one.
Geometry = tuple[tuple[int, ...], int]


def storage_of(array: Any) -> tuple[Any, int]:
    """The whole memory that an array shows a part of, flat, in its dtype; and where it begins."""
    owner = whole_memory(array)
    if owner is array and array.flags.c_contiguous:
        return array.reshape(-1), 0
    flat = owner.reshape(-1) if owner.flags.c_contiguous else owner.ravel("K")
    place = backend_of(device_of(array))
    offset = place.pointer(array) - place.pointer(flat)
    if flat.dtype != array.dtype:
        whole = flat.nbytes // array.itemsize * array.itemsize
        flat = flat[: whole // flat.itemsize].view(array.dtype)
    return flat, offset // array.itemsize


def _strided_part(flat: Any, size: Any, stride: Any, offset: int) -> Any:
    if len(size) != len(stride):
        raise refused("mismatch in length of strides and shape")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    needed = 0 if 0 in size else last + 1
    if needed > flat.size or offset < 0 or min(stride, default=0) < 0:
        raise refused(
            f"setStorage: sizes {dims(size)}, strides {dims(stride)}, storage offset {offset}, and "
            f"itemsize {flat.itemsize} requiring a storage size of {needed * flat.itemsize} are "
            f"out of bounds for storage of size {flat.nbytes}"
        )
    return strided(flat[offset:], size, [s * flat.itemsize for s in stride])


def _as_strided(input: Any, size: Any, stride: Any, offset: int, geometry: Geometry) -> Any:
    return _strided_part(storage_of(input)[0], size, stride, offset)


strided_op = moving(
    "as_strided",
    _as_strided,
    grad=lambda F, g, input_shape, size, stride, offset, geometry: F.as_strided_backward(
        g, input_shape, size, stride, offset, geometry
    ),
    samples=lambda make: [sample(make(3, 4), (2, 2), (1, 2), 1, ((4, 1), 0))],
    doc="A view with any size and strides (in elements) of the tensor's memory.",
)


def strided_arguments(
    input: Tensor, size: Any, stride: Any, storage_offset: Any
) -> tuple[Any, ...]:
    """The arguments of `strided_op` for a tensor."""
    array = input._array
    memory, own = storage_of(array)
    if memory.size != array.size and getattr(array, "recorder", None) is None:
        _refuse_in_capture(input)
    geometry = tuple(step // array.itemsize for step in array.strides), own
    offset = own if storage_offset is None else int(storage_offset)
    return sizes_of((size,)), sizes_of((stride,), "stride"), offset, geometry


def _refuse_in_capture(input: Tensor) -> None:
    """A captured program knows of its inputs' elements, and not of what lies around them."""
    if current_recorder() is not None:
        raise errors.CaptureError(
            "as_strided of a part of a tensor that was made outside of the captured function",
            [(this_place(), "called here"), *made_note(input)],
            ["make the part inside, or take as_strided of the whole tensor"],
        )


@native
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view with any size and strides (in elements) of the tensor's memory.

    >>> import lamina
    >>> lamina.as_strided(lamina.arange(6), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    arguments = strided_arguments(input, size, stride, storage_offset)
    made: Tensor = strided_op(input, *arguments)
    view = made._view
    if view is not None:
        # Whatever views lie between, the memory is the base's.
        base = view.base._array
        sizes, steps, offset, _ = arguments
        own = storage_of(base)[1]
        name = "part_of_rows" if base.flags.c_contiguous else "as_strided"
        step = (name, (sizes, steps, offset - own) if base.flags.c_contiguous else arguments)
        made._view = View(view.base, (step,), view.creation, view.version, view.origin)
    return made


def _part_of_rows(input: Any, size: Any, stride: Any, offset: int) -> Any:
    """A strided view of an array's elements in row-major order, however they lie in memory."""
    return _strided_part(input.reshape(-1), size, stride, offset)


def _part_of_tensor(input: Tensor, size: Any, stride: Any, offset: int) -> Tensor:
    rows = contiguous(input)
    return as_strided(rows, size, stride, offset + storage_of(rows._array)[1])


offer("part_of_rows", _part_of_rows, _part_of_tensor)


def _positions(size: Any, stride: Any, offset: int) -> Any:
    found: Any = np.zeros(size, np.int64) + offset
    for axis, (length, step) in enumerate(zip(size, stride, strict=True)):
        found = found + (np.arange(length) * step).reshape((-1,) + (1,) * (len(size) - 1 - axis))
    return found


def _as_strided_backward(
    input: Any, shape: Any, size: Any, stride: Any, offset: int, geometry: Geometry
) -> Any:
    """Add the view's gradient up in memory, and read the input's part of that."""
    target, source = _positions(size, stride, offset), _positions(shape, *geometry)
    count = max([int(places.max()) + 1 for places in (target, source) if places.size], default=0)
    memory = np.zeros_like(input, shape=(count,), order="C")
    np.add.at(memory, target.reshape(-1), input.reshape(-1))
    found = memory[source.reshape(-1)].reshape(shape)
    if any(step == 0 and length > 1 for step, length in zip(geometry[0], shape, strict=True)):
        # Elements that are one place in memory share its gradient.
        shared = np.bincount(source.reshape(-1), minlength=count)[source]
        found = found / shared.astype(found.dtype)
    return found


as_strided_backward = operation(
    "as_strided_backward",
    _as_strided_backward,
    grad={
        "input": lambda F, g, shape, size, stride, offset, geometry: F.as_strided_backward(
            g, size, shape, geometry[0], geometry[1], (stride, offset)
        )
    },
    samples=lambda make: [sample(make(2, 2), (3, 4), (2, 2), (1, 2), 1, ((4, 1), 0))],
    doc="The gradient of a tensor from that of a strided view of its memory.",
)
