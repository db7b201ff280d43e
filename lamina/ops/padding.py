"""Padding: more elements at the ends of dimensions, constant or taken from the tensor itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import whole_numbers
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.fast_moves import moving
from lamina.core.op import GENERAL
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.constants import constant_like
from lamina.ops.indexing_rules import refused
from lamina.ops.numbers import number_as

Pad = tuple[int, ...]


def _pairs(pad: Pad, ndim: int) -> list[tuple[int, int, int]]:
    """(axis, before, after) for each padded dimension; `pad` begins with the last one."""
    return [(ndim - 1 - k // 2, pad[k], pad[k + 1]) for k in range(0, len(pad), 2)]


# --- a constant ----------------------------------------------------------------------------------


def _constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Any:
    if len(pad) % 2:
        raise refused(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise refused(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {input.ndim}"
        )
    sizes = list(input.shape)
    source, target = [slice(None)] * input.ndim, [slice(None)] * input.ndim
    for axis, before, after in _pairs(pad, input.ndim):
        size = input.shape[axis]
        sizes[axis] = size + before + after
        if sizes[axis] < 0:
            raise refused(
                f"The input size {size}, plus negative padding {before} and {after}, resulted in a "
                f"negative output size, which is invalid. Check dimension {axis} of your input."
            )
        source[axis] = slice(max(-before, 0), size - max(-after, 0))
        target[axis] = slice(max(before, 0), sizes[axis] - max(after, 0))
    out = np.full_like(input, number_as(value, input.dtype), shape=sizes, order="C")
    out[tuple(target)] = input[tuple(source)]
    return out


constant_pad_nd = moving(
    "constant_pad_nd",
    _constant_pad_nd,
    grad=lambda F, g, pad: F.constant_pad_nd(g, tuple(-length for length in pad), 0),
    is_view=False,
    samples=lambda make: [
        sample(make(2, 3), (1, 2), 0), sample(make(2, 3), (1, 0, -1, 2), 1.5),
        sample(make(4), (-1, -1), 0),
    ],
    doc="A copy with a number before and after the elements; negative lengths cut.",
)  # fmt: skip
constant_pad_nd.op.tangent = GENERAL  # linear but for the number around it

# --- the tensor's own elements -------------------------------------------------------------------


def _reflected(size: int, before: int, after: int) -> Any:
    places = np.abs(np.arange(-before, size + after))
    return np.where(places >= size, 2 * (size - 1) - places, places)


def _replicated(size: int, before: int, after: int) -> Any:
    return np.clip(np.arange(-before, size + after), 0, size - 1)


def _wrapped(size: int, before: int, after: int) -> Any:
    # Negative lengths cut first; what is left is then continued around its ends.
    start = max(-before, 0)
    count = size - start - max(-after, 0)
    return np.arange(-max(before, 0), count + max(after, 0)) % max(count, 1) + start


_PLACES = {"reflect": _reflected, "replicate": _replicated, "circular": _wrapped}


def _pad_from_self(input: Any, pad: Any, mode: str) -> Any:
    found = input
    for axis, before, after in _pairs(pad, input.ndim):
        if before or after:
            places = _PLACES[mode](input.shape[axis], before, after)
            found = np.take(found, constant_like(input, places), axis=axis)
    return found.copy() if found is input else found


def _unpad(input: Any, shape: Any, pad: Any, mode: str) -> Any:
    """Add each element of a padded gradient to the element it was taken from."""
    found = input
    for axis, before, after in _pairs(pad, input.ndim):
        if not before and not after:
            continue
        size = shape[axis]
        places = _PLACES[mode](size, before, after)
        sizes = [*found.shape[:axis], size, *found.shape[axis + 1 :]]
        first: Any = (slice(None),) * axis
        begin, end = max(before, 0), max(before, 0) + size - max(-before, 0) - max(-after, 0)
        base = np.zeros_like(found, shape=sizes, order="C")
        if end > begin:
            kept = slice(max(-before, 0), max(-before, 0) + end - begin)
            base[(*first, kept)] += found[(*first, slice(begin, end))]
        for k in [*range(min(begin, len(places))), *range(max(end, begin), len(places))]:
            base[(*first, int(places[k]))] += found[(*first, k)]
        found = base
    return found


unpad = operation(
    "unpad",
    _unpad,
    grad={"input": lambda F, g, pad, mode: F.pad_from_self(g, pad, mode)},
    samples=lambda make: [sample(make(2, 6), (2, 3), (1, 2), mode) for mode in _PLACES],
    doc="The sum of a padded gradient over the elements that were copied.",
)


def _self_padding(name: str, node_name: str) -> Any:
    return moving(
        name,
        _pad_from_self,
        grad=lambda F, g, input_shape, pad, mode: F.unpad(g, input_shape, pad, mode),
        node_name=node_name,
        is_view=False,
        samples=lambda make: [sample(make(2, 3), (1, 2), mode) for mode in _PLACES],
        doc="A copy with the tensor's own elements before and after.",
    )


pad_from_self = _self_padding("pad_from_self", "CopySlices")
_OF_RANK = {
    ("reflect", k): _self_padding(f"reflection_pad{k}d", f"ReflectionPad{k}DBackward0")
    for k in (1, 2, 3)
} | {
    ("replicate", k): _self_padding(f"replication_pad{k}d", f"ReplicationPad{k}DBackward0")
    for k in (1, 2, 3)
}  # fmt: skip


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """A copy with more elements at the ends of its last dimensions: `nn.functional.pad`.

    Args:
        input: The tensor.
        pad: Lengths before and after, the last dimension first: `(left, right, top, bottom, ...)`.
        mode: `constant`, `reflect`, `replicate` or `circular`.
        value: The number for `constant`; 0 if None.

    >>> import lamina
    >>> lamina.nn.functional.pad(lamina.tensor([1, 2]), (1, 0), value=9)
    tensor([9, 1, 2])
    """
    lengths = whole_numbers("pad", "pad", pad)
    if len(lengths) % 2:
        raise refused("Padding length must be divisible by 2")
    if len(lengths) > 2 * input._array.ndim:
        raise refused(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(lengths)} and input of dimension {input._array.ndim}"
        )
    if mode == "constant":
        return constant_pad_nd(input, lengths, 0 if value is None else value)
    if value is not None and value != 0:
        raise refused(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _PLACES:
        raise errors.NotSupported(
            f"Unrecognised padding mode {mode}", [(this_place(), "called here")]
        )
    _check_self_padding(input._array.shape, lengths, mode)
    rank = len(lengths) // 2
    if mode == "circular":
        return pad_from_self(input, lengths, mode)
    return _OF_RANK[mode, rank](input, lengths, mode)


def _check_self_padding(shape: tuple[int, ...], pad: Pad, mode: str) -> None:
    ndim = len(shape)
    if (len(pad), ndim) not in {(2, 2), (2, 3), (4, 3), (4, 4), (6, 4), (6, 5)}:
        raise errors.NotSupported(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: padding "
            f"size {len(pad)} is not supported for {ndim}D input tensor.",
            [(this_place(), "called here")],
            ["add a batch or channel dimension first: unsqueeze(0)"],
        )
    for axis, before, after in _pairs(pad, ndim):
        size = shape[axis]
        if mode == "reflect" and max(before, after) >= size:
            raise refused(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({before}, {after}) at dimension {axis} of input {dims(shape)}"
            )
        if mode == "circular" and max(before, after) > size:
            raise refused("Padding value causes wrapping around more than once.")
        if size + before + after < 1 or (mode != "circular" and not size):
            raise refused(
                f"input (size {size} at dimension {axis}) is too small for padding ({before}, "
                f"{after})"
            )
