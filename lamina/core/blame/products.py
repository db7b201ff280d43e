"""Errors about products of matrices: shapes that don't fit, dtypes that differ."""

from __future__ import annotations

from typing import Any

from lamina import dtypes, errors
from lamina.core.blame.words import Note, called, dims, made_note, this_place

_C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def product_mismatch(
    first: Any,
    second: Any,
    shape: tuple[int, ...],
    other: tuple[int, ...],
    *,
    is_layer: bool = False,
) -> errors.MatmulShapeMismatch:
    """Two matrices, of `shape` and `other` as the product sees them, cannot be multiplied."""
    names = called(first, "the first factor"), called(second, "the second factor")
    by = " x ".join(map(str, first._array.shape)), " x ".join(map(str, second._array.shape))
    notes: list[Note] = [(this_place(), "multiplied here")]
    notes += made_note(first, f"{names[0]}, {dims(first._array.shape)}, was made here")
    notes += made_note(second, f"{names[1]}, {dims(second._array.shape)}, was made here")
    if is_layer:
        help = [
            f"the layer's weight ({by[1]}) takes inputs whose last size is {other[0]}, and "
            f"{names[0]} ({by[0]}) has {shape[-1]}: change the layer's in_features, or reshape the "
            "input"
        ]
    else:
        help = [_repair(names, shape, other)]
    return errors.MatmulShapeMismatch(
        f"mat1 and mat2 shapes cannot be multiplied ({_by(shape)} and {_by(other)})", notes, help
    )


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _repair(names: tuple[str, str], shape: tuple[int, ...], other: tuple[int, ...]) -> str:
    first, second = (name.strip("`") if name.startswith("`") else letter
                     for name, letter in zip(names, "ab", strict=True))  # fmt: skip
    if len(shape) == 2 and len(other) == 2:
        if shape[1] == other[1]:
            return f"transpose the second factor: `{first} @ {second}.T`"
        if shape[0] == other[0]:
            return f"transpose the first factor: `{first}.T @ {second}`"
        if shape[0] == other[1]:
            return f"exchange the factors: `{second} @ {first}`"
    return (
        f"the last size of the first factor ({shape[-1]}) must be the "
        f"{'last but one' if len(other) > 1 else 'only'} size of the second ({other[-2:][0]})"
    )


def product_dtypes(headline: str, tensors: list[Any]) -> errors.DtypeError:
    """The factors of a product have different dtypes, and products never promote."""
    first, second = tensors[0], tensors[1]
    notes: list[Note] = [(this_place(), "multiplied here")]
    for tensor in tensors:
        notes += made_note(tensor, f"{called(tensor)} is {tensor.dtype.name}")
    wide = dtypes.promote_types(first.dtype, second.dtype)
    if first._is_param or (second._is_param and first.dtype is wide):
        kept, moved = (first, second) if first._is_param else (second, first)
    else:
        kept, moved = (first, second) if first.dtype is wide else (second, first)
    name = called(moved, "the other")
    return errors.DtypeError(
        headline,
        notes,
        [f"products do not convert: bring {name} to {kept.dtype!r} with `.to({kept.dtype!r})`"],
    )


def c_name(kind: dtypes.dtype) -> str:
    """The name of a dtype in the C++ of PyTorch's messages: `float`, `long int`."""
    return _C_NAMES.get(kind.name, kind.name)
