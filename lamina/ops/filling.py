"""Whole tensors written over: copy_, fill_, zero_."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.inplace import apply_inplace
from lamina.core.modes import door, state
from lamina.core.op import ZERO
from lamina.core.plain_writes import note_written
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.core.versions import INFERENCE
from lamina.core.warning import warn
from lamina.devices import device_of
from lamina.ops.indexing_rules import ndarray, refused
from lamina.ops.numbers import check_target, fill_choice, number_as

__all__ = ["fill"]


def real_part(source: Any) -> Any:
    """The real part of complex values, with PyTorch's warning that the rest is lost."""
    warn("Casting complex values to real discards the imaginary part")
    return np.real(source)


def _copy(input: Any, src: Any) -> Any:
    if src.shape != input.shape:
        src = np.broadcast_to(src, input.shape)
    if src.dtype == input.dtype:
        return src
    if src.dtype.kind == "c" and input.dtype.kind not in "cb":
        src = real_part(src)
    with np.errstate(all="ignore"):
        return src.astype(input.dtype)


_copy_op = operation(
    "copy",
    _copy,
    tensors="input src@",
    grad={
        "input": ZERO,
        "src": lambda F, g, src_shape, src_dtype: F.cast_like_input(
            F.sum_to_size(g, src_shape), src_dtype
        ),
    },
    node_name="CopyBackwards",
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3), make(3)), sample(make(2), make(2))],
    doc="The values of `src` in the shape and dtype of the input.",
)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the values of `src` over this tensor's, converted and broadcast; returns the tensor."""
    if not isinstance(src, Tensor):
        if isinstance(src, int | float | complex):
            return fill_(self, src)
        raise errors.ArgumentTypeError(
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}",
            [(this_place(), "called here")],
        )
    place = device_of(self._array)
    if place is not device_of(src._array) and place.type != "meta":
        src = src.to(place)
    check_target("copy_", self, src)
    _check_expands(self, src)
    return apply_inplace(_copy_op.op, self, [self, src])


def _check_expands(self: Tensor, src: Tensor) -> None:
    shape, other = self._array.shape, src._array.shape
    if shape == other:
        return
    for back in range(1, min(len(other), len(shape)) + 1):
        if other[-back] != shape[-back] and 1 not in (other[-back], shape[-back]):
            raise errors.WriteShapeMismatch(
                f"The size of tensor a ({shape[-back]}) must match the size of tensor b "
                f"({other[-back]}) at non-singleton dimension {max(len(shape), len(other)) - back}",
                [(this_place(), "copied here")],
            )
    if len(other) > len(shape) or np.broadcast_shapes(shape, other) != shape:
        raise errors.WriteShapeMismatch(
            f"output with shape {dims(shape)} doesn't match the broadcast shape {dims(other)}",
            [(this_place(), "copied here")],
        )


def _fill(input: Any, value: Any) -> Any:
    if hasattr(value, "dtype"):
        with np.errstate(all="ignore"):
            made = np.empty_like(input)
            made[...] = value.astype(input.dtype)
            return made
    return np.full_like(input, number_as(value, input.dtype))


def _filling(name: str, with_tensor: bool, node_name: str) -> Any:
    grads: dict[str, Any] = {"input": ZERO}
    if with_tensor:
        grads["value"] = lambda F, g, value_dtype: F.cast_like_input(
            F.sum_to_size(g, ()), value_dtype
        )
    return operation(
        name,
        _fill,
        tensors="input value~" if with_tensor else "input",
        grad=grads,
        node_name=node_name,
        halves_in_float=False,
        samples=lambda make: [sample(make(2, 3), make() if with_tensor else 1.5)],
        doc="The same value everywhere.",
    )


_fill_number = _filling("fill", False, "FillBackward0")
_fill_tensor = _filling("fill_tensor", True, "FillBackward1")
_fill_number_in_place = _filling("fill_in_place", False, "FillBackward2")
_fill_tensor_in_place = _filling("fill_tensor_in_place", True, "FillBackward3")


def _fill_form(value: Any, with_number: Any, with_tensor: Any) -> Any:
    if isinstance(value, Tensor) and value._array.ndim:
        raise refused(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._array.ndim} dimensions."
        )
    return fill_choice("fill_", value, with_number, with_tensor)


@native
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape and dtype with one value everywhere."""
    found: Tensor = _fill_form(value, _fill_number, _fill_tensor)(input, value)
    return found


def _is_plain(self: Tensor) -> bool:
    """Whether NumPy can write to a tensor at once: on the host, and nothing is recorded."""
    array = self._array
    return (
        array.__class__ is ndarray
        and bool(array.flags.carray)  # in rows, and not protected from being written to
        and not door.is_watched
        and not (state.grad_enabled and self.requires_grad)
        and self._cell is not INFERENCE
    )


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value over all elements."""
    if isinstance(value, int | float | complex) and _is_plain(self):
        self._array.fill(number_as(value, self._array.dtype))
        note_written(self)
        return self
    check_target("fill_", self, value)
    chosen = _fill_form(value, _fill_number_in_place, _fill_tensor_in_place)
    return apply_inplace(chosen.op, self, [self, value])


_zero = operation(
    "zero",
    lambda input: np.zeros_like(input),
    grad={"input": ZERO},
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3))],
    doc="Zeros in place of the values.",
)


def zero_(self: Tensor) -> Tensor:
    """Write zero over all elements."""
    if _is_plain(self):
        self._array.fill(0)
        note_written(self)
        return self
    return apply_inplace(_zero.op, self, [self])


# --- a diagonal -----------------------------------------------------------------------------------


def _fill_diagonal(input: Any, fill_value: Any, wrap: bool = False) -> Any:
    shape = input.shape
    if len(shape) < 2:
        raise refused("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise refused("all dimensions of input must be of equal length")
    step, count = 1, 1
    for length in shape[:0:-1]:
        count *= length
        step += count
    end = input.size if wrap or len(shape) > 2 else shape[1] * shape[1]
    flat = input.reshape(-1).copy()
    flat[:end:step] = number_as(fill_value, input.dtype)
    return flat.reshape(shape)


fill_diagonal = operation(
    "fill_diagonal",
    _fill_diagonal,
    grad={"input": lambda F, g, wrap: F.fill_diagonal(g, 0, wrap)},
    halves_in_float=False,
    samples=lambda make: [sample(make(3, 3), 1.5), sample(make(5, 2), 0.0, True)],
    doc="One value on the main diagonal, which goes on below with `wrap` in a tall matrix.",
)


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write one value over the main diagonal."""
    op = fill_diagonal.op
    return apply_inplace(op, self, [self, fill_value, wrap])
