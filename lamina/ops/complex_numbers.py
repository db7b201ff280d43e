"""Complex numbers: their parts, angles, and views as pairs of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.fast import unary
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import KEEP, TO_FLOAT, offer, raw
from lamina.core.samples import Make, Sample, sample
from lamina.ops import support
from lamina.ops.choices import change_by

__all__ = [
    "angle",
    "complex",
    "conj",
    "conj_physical",
    "imag",
    "polar",
    "real",
    "resolve_conj",
    "resolve_neg",
    "view_as_complex",
    "view_as_real",
]


def _complex_samples(make: Make) -> list[Sample]:
    return [sample(make(3, 4) + 1j * make(3, 4)), sample(make(2, 1) + 1j * make(2, 1))]


def _real(input: Any) -> Any:
    return np.real(input) if input.dtype.kind == "c" else input


def _imag(input: Any) -> Any:
    return np.imag(input)


_real_part = operation(
    "real",
    _real,
    grad={"input": lambda F, g, input_dtype: F.cast_like_input(g, input_dtype)},
    node_name="SelectBackward0",
    is_view=True,
    halves_in_float=False,
    samples=_complex_samples,
    doc="A view of the real parts.",
)
_imag_part = operation(
    "imag",
    _imag,
    grad={"input": lambda F, g, input_dtype: F.cast_like_input(g, input_dtype) * 1j},
    node_name="SelectBackward0",
    is_view=True,
    halves_in_float=False,
    samples=_complex_samples,
    doc="A view of the imaginary parts.",
)


@native
def real(input: Any) -> Any:
    """A view of the real parts; a real tensor itself."""
    return _real_part(input) if input._array.dtype.kind == "c" else input


@native
def imag(input: Any) -> Any:
    """A view of the imaginary parts; a real tensor has none and raises."""
    if input._array.dtype.kind != "c":
        raise errors.DtypeError(
            "imag is not implemented for tensors with non-complex dtypes.",
            help=["the imaginary part of a real tensor is zero: torch.zeros_like(x)"],
        )
    return _imag_part(input)


def _view_as_real(input: Any) -> Any:
    if input.dtype.kind != "c":
        raise errors.DtypeError("view_as_real is only supported for complex tensors")
    part = np.float32 if input.dtype == np.complex64 else np.float64
    # The new dimension has length 1, so elements are split there whatever the other strides are.
    return input[..., None].view(part)


def _view_as_complex(input: Any) -> Any:
    if input.dtype not in (np.float32, np.float64):
        raise errors.DtypeError("view_as_complex is only supported for float and double tensors")
    if not input.ndim or input.shape[-1] != 2:
        raise errors.InvalidArgument(
            "Tensor must have a last dimension of size 2",
            help=["a complex number is two reals: stack them along the last dimension"],
        )
    if input.strides[-1] != input.itemsize:
        raise errors.InvalidArgument(
            "Tensor must have a last dimension with stride 1", help=["copy it: x.contiguous()"]
        )
    wide = np.complex64 if input.dtype == np.float32 else np.complex128
    return input.view(wide)[..., 0]


view_as_real = operation(
    "view_as_real",
    _view_as_real,
    grad={"input": lambda F, g: F.join_pairs(g)},
    is_view=True,
    halves_in_float=False,
    samples=_complex_samples,
    doc="A view of a complex tensor as real numbers, with a last dimension of size 2.",
)
view_as_complex = operation(
    "view_as_complex",
    _view_as_complex,
    grad={"input": lambda F, g: F.split_pairs(g)},
    is_view=True,
    halves_in_float=False,
    samples=lambda make: [sample(make(3, 2)), sample(make(2))],
    doc="A view of pairs of real numbers in the last dimension as complex numbers.",
)


def _join_pairs(input: Any) -> Any:
    wide = np.complex64 if input.dtype == np.float32 else np.complex128
    result = np.empty_like(input, shape=input.shape[:-1], dtype=wide)
    result.real = input[..., 0]
    result.imag = input[..., 1]
    return result


def _split_pairs(input: Any) -> Any:
    return np.stack((np.real(input), np.imag(input)), axis=-1)


join_pairs = operation(
    "join_pairs",
    _join_pairs,
    grad={"input": lambda F, g: F.split_pairs(g)},
    samples=lambda make: [sample(make(3, 2))],
    doc="Complex numbers of the pairs in the last dimension, as a copy.",
)
split_pairs = operation(
    "split_pairs",
    _split_pairs,
    grad={"input": lambda F, g: F.join_pairs(g)},
    samples=_complex_samples,
    doc="The parts of complex numbers along a new last dimension, as a copy.",
)

# --- made of two parts -------------------------------------------------------------------------


def _complex(real: Any, imag: Any) -> Any:
    if real.dtype != imag.dtype:
        raise errors.DtypeError(
            f"Expected object of scalar type {dtypes.from_numpy(real.dtype)!r} but got scalar type "
            f"{dtypes.from_numpy(imag.dtype)!r} for second argument"
        )
    if real.dtype not in (np.float32, np.float64):
        raise errors.DtypeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{dtypes.from_numpy(real.dtype)!r}"
        )
    wide = np.complex64 if real.dtype == np.float32 else np.complex128
    shape = np.broadcast_shapes(real.shape, imag.shape)
    result = np.empty_like(real, shape=shape, dtype=wide)
    result.real = real
    result.imag = imag
    return result


complex = operation(
    "complex",
    _complex,
    tensors="real~ imag~",
    grad={
        "real": lambda F, g, real_shape: F.sum_to_size(F.real(g), real_shape),
        "imag": lambda F, g, imag_shape: F.sum_to_size(F.imag(g), imag_shape),
    },
    samples=lambda make: [sample(make(3, 4), make(3, 4)), sample(make(3, 1), make(4))],
    doc="Complex numbers of real and imaginary parts.",
)


def _polar(abs: Any, angle: Any) -> Any:
    return _complex(abs * np.cos(angle), abs * np.sin(angle))


def _polar_length(F: Any, g: Any, abs_shape: Any, angle: Any) -> Any:
    direction = F.real(g) * F.cos(angle) + F.imag(g) * F.sin(angle)
    return F.sum_to_size(direction, abs_shape)


def _polar_turn(F: Any, g: Any, out: Any, angle_shape: Any) -> Any:
    return F.sum_to_size(F.real(F.conj(g) * (out * 1j)), angle_shape)


polar = operation(
    "polar",
    _polar,
    tensors="abs~ angle~",
    grad={"abs": _polar_length, "angle": _polar_turn},
    samples=lambda make: [sample(make(3, 4, low=0.5), make(3, 4))],
    doc="Complex numbers of absolute values and angles.",
)

# --- the angle ---------------------------------------------------------------------------------


def _angle(input: Any) -> Any:
    if input.dtype.kind == "c":
        return np.arctan2(np.imag(input), np.real(input))
    kind = input.dtype.type
    return np.where(np.isnan(input), input, np.where(input < 0, kind(np.pi), kind(0)))


def _angle_rule(F: Any, g: Any, input: Any) -> Any:
    if input.dtype != (F.real(input)).dtype:
        square = F.real(input * F.conj(input))
        return F.where(square == 0, 0, g * (input * 1j / F.where(square == 0, 1, square)))
    return F.zeros_like(g)


angle = unary(
    "angle",
    _angle,
    grad=_angle_rule,
    dtypes=TO_FLOAT,
    doc="The angle of each complex number in radians; for real ones 0 or pi.",
)


@native
def conj(input: Any) -> Any:
    """The complex conjugate; a real tensor (or number) itself."""
    array = getattr(input, "_array", None)
    if array is None:
        return input.conjugate()
    return support.conj(input) if array.dtype.kind == "c" else input


# A rule's F.conj(x) of a real x records nothing.
offer("conj", raw.conj, conj)
_conj_physical = unary(
    "conj_physical",
    np.conjugate,
    grad=lambda F, g: F.conj(g),
    dtypes=KEEP,
    doc="The complex conjugate of each element, in memory of its own.",
)


@native
def conj_physical(input: Any, *, out: Any = None) -> Any:
    """The complex conjugate of each element; a real tensor itself."""
    if out is None and input._array.dtype.kind != "c":
        return input
    return _conj_physical(input) if out is None else _conj_physical(input, out=out)


def conj_physical_(input: Any) -> Any:
    """Conjugate each element, in place."""
    return input if input._array.dtype.kind != "c" else change_by(_conj_physical, input)


@takes_numpy_names
def resolve_conj(input: Any, **numpy_names: Any) -> Any:
    """The tensor itself: conjugates are computed at once here."""
    if numpy_names or input is MISSING:
        return again(resolve_conj, numpy_names, input)
    return input


@takes_numpy_names
def resolve_neg(input: Any, **numpy_names: Any) -> Any:
    """The tensor itself: negatives are computed at once here."""
    if numpy_names or input is MISSING:
        return again(resolve_neg, numpy_names, input)
    return input


def no_complex_half(self: Any, memory_format: Any = None) -> Any:
    """Refused: there are no complex numbers of two halves.

    Raises:
        NotImplementedError: Always.
    """
    raise errors.NotSupported(
        "chalf: torch.complex32, complex numbers of two halves, is left out",
        [(this_place(), "called here")],
        ["use complex64: `x.cfloat()`"],
    )
