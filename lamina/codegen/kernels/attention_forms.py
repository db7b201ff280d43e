"""What the kernels of attention must know of their operands: where the matrices of a batch are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lamina.codegen.kernels.gathering import Table
from lamina.codegen.kernels.tasks.attention_parts import MASKS
from lamina.codegen.stores import address_of
from lamina.devices.layouts import fresh


class Form(NamedTuple):
    """The shape of an operand and its steps, in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array: Any) -> Form:
        """That of an array."""
        return cls(array.shape, array.strides)


def mask_form(mask: Any) -> tuple[Form, str] | None:
    """That of a mask, and of which kind its elements are."""
    return None if mask is None else (Form.of(mask), "i8" if mask.dtype.kind == "b" else "float")


def dense_last(array: Any) -> Any:
    """The array, or a copy, whose last dimension is dense."""
    is_dense = array.strides[-1] == array.itemsize or array.shape[-1] < 2
    return array if is_dense else np.ascontiguousarray(array)


def offsets(form: Form, batch: tuple[int, ...]) -> Table:
    """Where the matrix of each place of the batch is, in bytes."""
    places = np.zeros(form.shape[:-2], np.int64)
    for axis, (size, step) in enumerate(zip(places.shape, form.strides, strict=False)):
        steps = np.arange(size, dtype=np.int64) * step
        places += steps.reshape(-1, *[1] * (places.ndim - axis - 1))
    return np.broadcast_to(places, batch).reshape(-1)


def numbered(shape: tuple[int, ...], batch: tuple[int, ...]) -> Table:
    """The number of each place of the batch in a shape that broadcasts to it."""
    places = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    return np.broadcast_to(places, batch).reshape(-1)


def of_mask(mask: tuple[Form, str] | None, shape: tuple[int, ...]) -> tuple[dict[str, int], Table]:
    """What tasks must know of a mask that broadcasts to a shape, and where each matrix is."""
    if mask is None:
        none = np.zeros(math.prod(shape[:-2]), np.int64)
        return {"mask_kind": 0, "mask_row": 0, "mask_column": 0}, none
    given, kind = mask
    layout = np.broadcast_to(fresh(given.shape, np.int8, given.strides), shape)
    steps = layout.strides
    numbers = {"mask_kind": MASKS[kind], "mask_row": steps[-2], "mask_column": steps[-1]}
    return numbers, offsets(Form.of(layout), shape[:-2])


class Dropout(NamedTuple):
    """Which weights are kept, as truth values of shape (*batch, L, S), and what scales them."""

    kept: Any
    factor: float


def form_of_kept(dropout: Dropout | None) -> Form | None:
    """The form of the truth values."""
    return None if dropout is None else Form.of(dropout.kept)


def of_kept(kept: Form | None, shape: tuple[int, ...]) -> tuple[dict[str, int], Table]:
    """What tasks must know of dropout, and where the truth values of each matrix are."""
    if kept is None:
        return {"has_kept": 0, "kept_row": 0}, np.zeros(math.prod(shape[:-2]), np.int64)
    return {"has_kept": 1, "kept_row": kept.strides[-2]}, offsets(kept, shape[:-2])


def drop_table(dropout: Dropout | None, char: str) -> tuple[dict[str, int], Any]:
    """Addresses of what dropout needs, and what must live as long."""
    if dropout is None:
        return {"kept": 0, "factor": 0}, None
    factor = np.array(dropout.factor, char)
    return {"kept": address_of(dropout.kept), "factor": address_of(factor)}, factor
