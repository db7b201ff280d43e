"""What reductions share: dimensions checked and counted, sums that stay accurate, and the
operations that their derivatives consist of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina import dtypes, errors
from lamina.codegen.fused import is_large
from lamina.codegen.later import Later
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.samples import sample
from lamina.ops.axes import axis_of, rows_first
from lamina.ops.row_kernels import summed_along

if TYPE_CHECKING:
    from lamina.codegen.kernels import totals
else:
    totals = Later("lamina.codegen.kernels.totals")

# --- dimensions --------------------------------------------------------------------------------


def axes_of(dim: Any, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """The dimensions that `dim` (a number, several, or None for all) means."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, Sequence):
        if not dim and empty_is_all:
            return tuple(range(ndim))
        axes = tuple(axis_of(each, ndim) for each in dim)
        if len(set(axes)) != len(axes):
            twice = next(axis for axis in axes if axes.count(axis) > 1)
            raise errors.InvalidArgument(
                f"dim {twice} appears multiple times in the list of dims",
                [(this_place(), "asked for here")],
            )
        return axes if ndim else ()
    axis = axis_of(dim, ndim)
    return (axis,) if ndim else ()


def length_of(shape: Sequence[int], dim: Any) -> int:
    """How many elements one result of a reduction is made of."""
    count = 1
    for axis in axes_of(dim, len(shape)):
        count *= shape[axis]
    return count


def on_lines(input: Any) -> Any:
    """The input, with one dimension if it had none."""
    return input if input.ndim else input.reshape((1,))


def counted_along(input: Any, axis: int) -> Any:
    """0, 1, 2, ... along one axis, to be broadcast; on the device of the input."""
    length = input.shape[axis]
    ones = np.ones_like(input, shape=(length,), dtype=np.int64)
    shape = [1] * input.ndim
    shape[axis] = length
    return (np.add.accumulate(ones) - 1).reshape(tuple(shape))


def numpy_dtype(kind: Any) -> Any:
    """NumPy's dtype for `dtype=`; None stays None."""
    return kind.numpy if isinstance(kind, dtypes.dtype) else kind


# --- sums --------------------------------------------------------------------------------------

BLOCK: Final = 64
"""How many numbers are added one after another before their sum is set aside."""

NARROW: Final = 32
"""With rows shorter than this, NumPy is up to 80 times slower than with long ones."""

_ROUGH: Final = frozenset({"float32", "complex64"})
_plus: Final[Any] = np.add  # without its stubs, which know only literal `keepdims`


def add_up(input: Any, axes: tuple[int, ...], keepdim: bool, kind: Any = None) -> Any:
    """The sum over some axes. Rounding errors stay small along every axis.

    NumPy adds in pairs along the axis that is contiguous only; along others, and there with many
    numbers in a low precision, parts are summed first and then their sums.
    """
    if kind is None and is_large(input) and totals.can_sum(input, axes):
        return totals.sum_along(input, axes, keepdim)
    if input.size > 16384 and kind is None and input.dtype.kind in "fc":
        is_rough = input.dtype.name in _ROUGH
        for axis in sorted(axes):
            row = math.prod(input.shape[axis + 1 :])
            if axis + 1 < input.ndim and (is_rough or row < NARROW):
                input = _add_parts(input, axis)
    return _plus.reduce(input, axis=axes, dtype=kind, keepdims=keepdim)


def _add_parts(input: Any, axis: int) -> Any:
    """Sums of far apart elements along one axis: an array to be summed instead of the input."""
    head = (slice(None),) * axis
    while input.shape[axis] > 2 * BLOCK:
        shape = input.shape
        part = shape[axis] // BLOCK
        whole = part * BLOCK
        parts = input[(*head, slice(0, whole))].reshape(
            (*shape[:axis], BLOCK, part, *shape[axis + 1 :])
        )
        sums = np.add.reduce(parts, axis=axis)
        if whole != shape[axis]:
            rest = np.add.reduce(input[(*head, slice(whole, None))], axis=axis, keepdims=True)
            sums = np.concatenate((sums, rest), axis=axis)
        input = sums
    return input


def sum_dtype(input: Any, dtype: Any) -> Any:
    """The dtype in which a sum or product is computed; None for the input's own."""
    if dtype is not None:
        return numpy_dtype(dtype)
    return np.dtype(np.int64) if input.dtype.kind in "biu" else None


# --- what derivatives consist of ---------------------------------------------------------------


def _spread(input: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if isinstance(input, np.generic):  # NumPy's products of arrays without dimensions
        input = np.asarray(input)
    if input.__class__ is np.ndarray and not input.ndim:
        # As `broadcast_to` does it, in 0.6 us instead of 1.9: the gradient of every loss is one.
        spread: Any = np.ndarray(shape, input.dtype, input, 0, (0,) * len(shape))
        spread.flags.writeable = False
        return spread
    if dim is not None and not keepdim and len(shape):
        input = np.expand_dims(input, axes_of(dim, len(shape)))
    return np.broadcast_to(input, shape)


spread = operation(
    "spread",
    _spread,
    grad={"input": lambda F, g, dim, keepdim, input_shape: F.sum_as(g, dim, keepdim, input_shape)},
    node_name="ExpandBackward0",
    halves_in_float=False,
    samples=lambda make: [
        sample(make(3), (3, 4), 1, False),
        sample(make(3, 1), (3, 4), (1,), True),
        sample(make(), (3, 4), None, False),
    ],
    doc="The results of a reduction, repeated in the places that they were made of.",
)


def _sum_as(input: Any, dim: Any, keepdim: bool, shape: Any) -> Any:
    axes = axes_of(dim, input.ndim)
    return add_up(input, axes, keepdim).reshape(shape)


sum_as = operation(
    "sum_as",
    _sum_as,
    grad={"input": lambda F, g, input_shape, dim, keepdim: F.spread(g, input_shape, dim, keepdim)},
    node_name="SumBackward1",
    samples=lambda make: [sample(make(3, 4), 1, False, (3,))],
    doc="The sum over dimensions, in a given shape: the derivative of `spread`.",
)


def _put_along(input: Any, shape: Any, dim: int, indices: Any, keepdim: bool) -> Any:
    made = np.zeros_like(input, shape=shape)
    if not made.ndim:
        return made + input.reshape(())
    if not keepdim:
        input, indices = np.expand_dims(input, dim), np.expand_dims(indices, dim)
    np.put_along_axis(made, indices, input, axis=dim)
    return made


def _take_along(input: Any, dim: int, indices: Any, keepdim: bool) -> Any:
    if not input.ndim:
        return input.reshape(indices.shape)
    if keepdim:
        return np.take_along_axis(input, indices, axis=dim)
    taken = np.take_along_axis(input, np.expand_dims(indices, dim), axis=dim)
    return np.squeeze(taken, axis=dim)


put_along = operation(
    "put_along",
    _put_along,
    tensors="input indices",
    grad={
        "input": lambda F, g, dim, indices, keepdim: F.take_along(g, dim, indices, keepdim),
    },
    node_name="ValueSelectingReductionBackward0",
    halves_in_float=False,
    doc="Zeros with given values at chosen places along a dimension, each place chosen once.",
)
take_along = operation(
    "take_along",
    _take_along,
    tensors="input indices",
    grad={
        "input": lambda F, g, input_shape, dim, indices, keepdim: F.put_along(
            g, input_shape, dim, indices, keepdim
        ),
    },
    node_name="GatherBackward0",
    halves_in_float=False,
    doc="The values at chosen places along a dimension, each place chosen once.",
)


def _pick_along(input: Any, dim: int, indices: Any) -> Any:
    if not input.ndim:
        return input.reshape(indices.shape)
    return np.take_along_axis(input, indices, axis=dim)


def _add_along(input: Any, shape: Any, dim: int, indices: Any) -> Any:
    if not shape:
        return np.zeros_like(input, shape=shape) + input.reshape(())
    return summed_along(input, indices, axis_of(dim, len(shape)), shape, input.dtype)


pick_along = operation(
    "pick_along",
    _pick_along,
    tensors="input indices",
    grad={
        "input": lambda F, g, input_shape, dim, indices: F.add_along(g, input_shape, dim, indices)
    },
    node_name="GatherBackward0",
    halves_in_float=False,
    doc="The values at chosen places along a dimension; a place may be chosen many times.",
)
add_along = operation(
    "add_along",
    _add_along,
    tensors="input indices",
    grad={"input": lambda F, g, dim, indices: F.pick_along(g, dim, indices)},
    node_name="ScatterAddBackward0",
    doc="Zeros to which given values are added at chosen places along a dimension.",
)


def at_chosen(F: Any, g: Any, input_shape: Any, dim: Any, keepdim: Any, out1: Any) -> Any:
    """The rule of operations that choose one element of each line: values, and `out1` indices."""
    return None if g[0] is None else F.put_along(g[0], input_shape, dim, out1, keepdim)


def _shift_along(input: Any, dim: int, by: int, fill: Any) -> Any:
    made = np.full_like(input, fill)
    if not input.ndim:
        return made
    head = (slice(None),) * axis_of(dim, input.ndim)
    if by > 0:
        made[(*head, slice(by, None))] = input[(*head, slice(None, -by))]
    else:
        made[(*head, slice(None, by))] = input[(*head, slice(-by, None))]
    return made


shift_along = operation(
    "shift_along",
    _shift_along,
    grad={"input": lambda F, g, dim, by: F.shift_along(g, dim, -by, 0)},
    halves_in_float=False,
    samples=lambda make: [sample(make(3, 4), 1, 1, 0.0), sample(make(3, 4), 0, -2, 1.0)],
    doc="Every line along a dimension moved by some places, and filled up with a number.",
)


def _turn_around(input: Any, dim: int) -> Any:
    return rows_first(np.flip(input, axis_of(dim, input.ndim))) if input.ndim else input


turn_around = operation(
    "turn_around",
    _turn_around,
    grad={"input": lambda F, g, dim: F.turn_around(g, dim)},
    node_name="FlipBackward0",
    halves_in_float=False,
    samples=lambda make: [sample(make(3, 4), 1)],
    doc="Every line along a dimension from its end to its start.",
)


# --- errors ------------------------------------------------------------------------------------


def refuse_empty(name: str, shape: Sequence[int], dim: Any) -> None:
    """A reduction without an identity needs at least one element in each line."""
    if dim is None:
        if 0 in shape:
            raise errors.EmptyReduction(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument.",
                [(this_place(), "reduced here")],
            )
        return
    for axis in axes_of(dim, len(shape)):
        if shape[axis] == 0:
            raise errors.IndexOutOfRange(
                f"{name}(): Expected reduction dim {axis} to have non-zero size.",
                [(this_place(), "reduced here")],
            )


def refuse_complex(name: str, input: Any) -> None:
    """Complex numbers have no order."""
    if input.dtype.kind == "c":
        raise errors.NotImplementedForDtype(
            f"{name} is not implemented for {dtypes.from_numpy(input.dtype)}: "
            "complex numbers have no order",
            [(this_place(), "called here")],
            ["compare their sizes instead: `x.abs()`"],
        )
