"""Masks: elements picked, filled and written where a condition holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.core.arguments import native
from lamina.core.call import operation, run
from lamina.core.inplace import apply_inplace
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.indexing_rules import kind_name, refused
from lamina.ops.numbers import check_target, fill_choice, number_as
from lamina.ops.shape import flatten

__all__ = [
    "argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero", "nonzero_static",
]  # fmt: skip

# --- reading -------------------------------------------------------------------------------------


def wide_mask(input: Any, mask: Any) -> tuple[Any, Any]:
    """Input and mask in the shape they have together."""
    if input.shape == mask.shape:
        return input, mask
    together = np.broadcast_shapes(input.shape, mask.shape)
    return np.broadcast_to(input, together), np.broadcast_to(mask, together)


def _masked_select(input: Any, mask: Any) -> Any:
    if mask.dtype.kind != "b":
        raise refused("masked_select: expected BoolTensor for mask")
    wide, mask = wide_mask(input, mask)
    return wide[mask].reshape(-1)


masked_select = operation(
    "masked_select",
    _masked_select,
    tensors="input mask",
    grad={
        "input": lambda F, g, mask, input_shape, input_dtype: F.sum_to_size(
            F.embed_masked(g, mask, input_shape, input_dtype), input_shape
        )
    },
    halves_in_float=False,
    samples=lambda make: [
        sample(make(2, 3), np.array([[True, False, True], [False, True, True]])),
        sample(make(3), np.array([[True], [True]])),
    ],
    doc="""The elements where a mask is True, as a vector.

    >>> import lamina
    >>> x = lamina.tensor([1, 2, 3])
    >>> lamina.masked_select(x, x > 1)
    tensor([2, 3])
    """,
)


def _embed_masked(input: Any, mask: Any, shape: Any, kind: Any) -> Any:
    together = np.broadcast_shapes(shape, mask.shape)
    base = np.zeros_like(input, shape=together, dtype=kind, order="C")
    base[np.broadcast_to(mask, together)] = input
    return base


embed_masked = operation(
    "embed_masked",
    _embed_masked,
    tensors="input mask",
    grad={"input": lambda F, g, mask: F.masked_select(g, mask)},
    halves_in_float=False,
    samples=lambda make: [
        sample(make(2), np.array([True, False, True]), (3,), np.dtype(np.float64))
    ],
    doc="Zeros of a shape, with values where a mask is True.",
)


def _nonzero(input: Any) -> Any:
    places = np.nonzero(input if input.ndim else input[None])
    if not input.ndim:
        return np.zeros_like(input, shape=(len(places[0]), 0), dtype=np.int64)
    return np.stack(places, axis=-1).astype(np.int64, copy=False)


_nonzero_op = operation(
    "nonzero",
    _nonzero,
    halves_in_float=False,
    samples=lambda make: [sample(np.array([[0.0, 1.0], [2.0, 0.0]]))],
    doc="The indices of all elements that are not zero, one row for each.",
)


@native
def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:
    """The indices of all elements that are not zero: one row each, or a tensor for each dimension.

    >>> import lamina
    >>> lamina.nonzero(lamina.tensor([5, 0, 6]))
    tensor([[0],
            [2]])
    """
    if not as_tuple:
        return _nonzero_op(input, out=out)
    if not input._array.ndim:
        input = flatten(input)
    return traced.unbind(_nonzero_op(input), 1)


@native
def argwhere(input: Tensor) -> Tensor:
    """The indices of all elements that are not zero, one row for each."""
    found: Tensor = _nonzero_op(input)
    return found


@native
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """As `nonzero` with a fixed number of rows: too many are left out, missing ones filled."""
    found: Tensor = _nonzero_padded(input, size, fill_value, out=out)
    return found


def _pad_rows(input: Any, size: int, fill_value: int) -> Any:
    rows = _nonzero(input)[:size]
    base = np.full_like(rows, fill_value, shape=(size, input.ndim), order="C")
    base[: len(rows)] = rows
    return base


_nonzero_padded = operation(
    "nonzero_static",
    _pad_rows,
    halves_in_float=False,
    samples=lambda make: [sample(np.array([0.0, 1.0, 2.0]), 3, -1)],
    doc="The indices of a fixed number of elements that are not zero.",
)

# --- writing -------------------------------------------------------------------------------------


def _masked_fill(input: Any, mask: Any, value: Any) -> Any:
    if mask.dtype.kind != "b":
        raise refused(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{kind_name(mask.dtype).lower()}"
        )
    wide, mask = wide_mask(input, mask)
    out = np.copy(wide, order="C")
    if not hasattr(value, "dtype"):
        value = number_as(value, input.dtype)
    np.copyto(out, value, casting="unsafe", where=mask)
    return out


_mask = np.array([[True, False, True]])
masked_fill_number = operation(
    "masked_fill",
    _masked_fill,
    tensors="input mask",
    grad={
        "input": lambda F, g, mask, input_shape: F.sum_to_size(
            F.masked_fill(g, mask, 0), input_shape
        )
    },
    halves_in_float=False,
    samples=lambda make: [
        sample(make(2, 3), _mask, 1.5),
        sample(make(3), np.array([[True], [False]]), 0),
    ],
    doc="A copy with a number where a mask is True.",
)
masked_fill_tensor = operation(
    "masked_fill_tensor",
    _masked_fill,
    tensors="input mask value~",
    grad={
        "input": lambda F, g, mask, input_shape: F.sum_to_size(
            F.masked_fill(g, mask, 0), input_shape
        ),
        "value": lambda F, g, mask: F.sum_to_size(F.where(mask, g, F.filled_like(g, (), 0)), ()),
    },
    node_name="MaskedFillBackward1",
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3), _mask, make())],
    doc="A copy with the value of a 0-dimensional tensor where a mask is True.",
)


@native
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with one value where a mask is True.

    >>> import lamina
    >>> x = lamina.tensor([1, 2, 3])
    >>> lamina.masked_fill(x, x > 1, 0)
    tensor([1, 0, 0])
    """
    chosen = fill_choice("masked_fill_", value, masked_fill_number, masked_fill_tensor)
    found: Tensor = run(chosen.op, [input, mask, value])
    return found


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place form of `masked_fill`."""
    check_target("masked_fill_", self, value)
    chosen = fill_choice("masked_fill_", value, masked_fill_number, masked_fill_tensor)
    return apply_inplace(chosen.op, self, [self, mask, value])


def _masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    if mask.dtype.kind != "b":
        raise refused("masked_scatter_ only supports boolean masks")
    if source.dtype != input.dtype:
        raise refused(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{kind_name(input.dtype)} and {kind_name(source.dtype)}"
        )
    wide, mask = wide_mask(input, mask)
    out = np.copy(wide, order="C")
    count = int(np.count_nonzero(mask))
    if count > source.size:
        raise refused("Number of elements of source < number of ones in mask")
    out[mask] = source.reshape(-1)[:count]
    return out


def _masked_source(F: Any, g: Any, mask: Any, source_shape: Any, source_dtype: Any) -> Any:
    taken = F.masked_select(g, mask)
    count = math.prod(source_shape)
    steps = (("slice", (0, 0, taken.shape[0], 1)),)
    return F.reshape(F.embed_view(taken, (count,), source_dtype, steps), source_shape)


def _masked_input(F: Any, g: Any, mask: Any, input_shape: Any) -> Any:
    """The mask has the shape of the result, or broadcasts to it."""
    return F.sum_to_size(F.masked_fill(g, mask, 0), input_shape)


masked_scatter = operation(
    "masked_scatter",
    _masked_scatter,
    tensors="input mask source",
    grad={"input": _masked_input, "source": _masked_source},
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3), _mask, make(5))],
    doc="A copy with the first elements of `source` where a mask is True.",
)
