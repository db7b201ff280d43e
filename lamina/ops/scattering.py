"""Writing by index: scatter and its reductions, index_put, index_add, masks, and parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import native
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.inplace import apply_inplace
from lamina.core.op import NOT_WRITTEN, traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.indexing_rules import (
    positions_along,
    refused,
)
from lamina.ops.numbers import number_as
from lamina.ops.picking import check_along, check_gather, cut
from lamina.ops.row_kernels import with_added_along

__all__ = ["scatter", "scatter_add", "scatter_reduce"]


def _check_source(index: Any, src: Any, input: Any, axis: int) -> None:
    if src.dtype != input.dtype:
        raise refused("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return
    if max(src.ndim, 1) != max(index.ndim, 1):
        raise refused("Index tensor must have the same number of dimensions as src tensor")
    if any(a > b for a, b in zip(index.shape, src.shape, strict=False)):
        raise refused(
            f"Expected index {dims(index.shape)} to be no larger than self {dims(input.shape)} "
            f"apart from dimension {axis} and to be no larger size than src {dims(src.shape)}"
        )


def _raised(array: Any) -> Any:
    return array if array.ndim else array[None]


def _checked(
    name: str, input: Any, dim: int, index: Any, src: Any, is_looked_at: bool
) -> tuple[int, Any, Any]:
    """The axis, the index (None if it is empty), and the part of the source it reaches."""
    if not index.size:
        check_gather(name, input, dim, index) if index.ndim == input.ndim else None
        return 0, None, None
    axis = check_gather(name, input, dim, index, is_looked_at)
    wide = _raised(index)
    if src is None:
        return axis, wide, None
    _check_source(index, src, input, axis)
    return axis, wide, cut(_raised(src), wide, -1)


def _prepared(
    name: str, input: Any, dim: int, index: Any, src: Any = None
) -> tuple[Any, Any, Any, Any]:
    """A copy of the input, and what `_checked` gives."""
    return _raised(input).copy("C"), *_checked(name, input, dim, index, src, True)


def _part_of_source(F: Any, part: Any, shape: tuple[int, ...], kind: Any) -> Any:
    """The gradient of a source of which the index may reach only a part."""
    if part.shape == shape:
        return part
    if not shape:
        return F.reshape(part, shape)
    if 0 in part.shape:
        part = F.reshape(part, (0,) * len(shape))
    reached = tuple(slice(n) for n in part.shape)
    return F.embed_view(part, shape, kind, (("slice_view", (reached,)),))


def _scatter_src(input: Any, dim: int, index: Any, src: Any) -> Any:
    out, axis, wide, part = _prepared("scatter", input, dim, index, src)
    if wide is not None:
        np.put_along_axis(cut(out, wide, axis), wide, part, axis)
    return out.reshape(input.shape)


_from_source: dict[str, Any] = {
    "input": lambda F, g, dim, index: F.scatter_value(g, dim, index, 0),
    "src": lambda F, g, dim, index, src_shape, src_dtype: _part_of_source(
        F, F.gather(g, dim, index), src_shape, src_dtype
    ),
}
_rows = np.array([[2, 0, 1]])
scatter_src = operation(
    "scatter_src",
    _scatter_src,
    tensors="input index src",
    grad=_from_source,
    node_name="ScatterBackward0",
    halves_in_float=False,
    samples=lambda make: [
        sample(make(3, 4), 0, _rows, make(2, 3)),
        sample(make(3, 4), -1, _rows, make(1, 3)),
    ],
    doc="A copy with elements of `src` written where the indices name along a dimension.",
)


def _scatter_value(input: Any, dim: int, index: Any, value: Any) -> Any:
    out, axis, wide, _ = _prepared("scatter", input, dim, index)
    if wide is not None:
        np.put_along_axis(cut(out, wide, axis), wide, number_as(value, input.dtype), axis)
    return out.reshape(input.shape)


scatter_value = operation(
    "scatter_value",
    _scatter_value,
    tensors="input index",
    grad={"input": lambda F, g, dim, index: F.scatter_value(g, dim, index, 0)},
    node_name="ScatterBackward1",
    halves_in_float=False,
    samples=lambda make: [sample(make(3, 4), 0, _rows, 1.5)],
    doc="A copy with a number written where the indices name along a dimension.",
)


def _scatter_with(input: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    if reduce not in ("add", "multiply"):
        raise refused("reduce argument must be either add or multiply.")
    if hasattr(src, "dtype"):
        out, axis, wide, part = _prepared("scatter", input, dim, index, src)
    else:
        out, axis, wide, _ = _prepared("scatter", input, dim, index)
        part = (
            None
            if wide is None
            else np.full_like(out, number_as(src, input.dtype), shape=wide.shape, order="C")
        )
    if wide is not None:
        positions = positions_along(out.shape, wide, axis).reshape(-1)
        ufunc = np.add if reduce == "add" else np.multiply
        ufunc.at(out.reshape(-1), positions, part.reshape(-1))
    return out.reshape(input.shape)


scatter_with = operation(
    "scatter_with",
    _scatter_with,
    tensors="input index #src",
    grad={"input": NOT_WRITTEN, "src": NOT_WRITTEN},
    node_name="NotImplemented",
    samples=None,
    doc="A copy with elements added or multiplied in where the indices name along a dimension.",
)


def scatter_choice(
    input: Tensor, dim: int, index: Tensor, src: Any, value: Any, reduce: str | None
) -> tuple[Any, tuple[Any, ...]]:
    """The operation that a call of `scatter` means, and its arguments."""
    given = value if src is None else src
    if given is None:
        raise errors.ArgumentTypeError(
            "scatter() missing the argument 'src' or 'value'", [(this_place(), "called here")]
        )
    if reduce is not None:
        return scatter_with, (dim, index, given, reduce)
    if isinstance(given, Tensor):
        return scatter_src, (dim, index, given)
    return scatter_value, (dim, index, given)


@native
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None, out: Any = None,
) -> Tensor:  # fmt: skip
    """A copy with values written where the indices name along a dimension.

    >>> import lamina
    >>> lamina.scatter(lamina.zeros(3), 0, lamina.tensor([2, 0]), lamina.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    operation_, arguments = scatter_choice(input, dim, index, src, value, reduce)
    found: Tensor = operation_(input, *arguments, out=out)
    return found


@native
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """In-place form of `scatter`."""
    operation_, arguments = scatter_choice(self, dim, index, src, value, reduce)
    return apply_inplace(operation_.op, self, [self, *arguments])


def _scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    axis, wide, part = _checked("scatter_add", input, dim, index, src, False)
    if wide is None:
        return input.copy("C")
    try:
        return with_added_along(_raised(input), wide, axis, part).reshape(input.shape)
    except IndexError:
        check_along(input, axis, index)
        raise


scatter_add = operation(
    "scatter_add",
    _scatter_add,
    tensors="input index src",
    grad={"input": lambda F, g: g, "src": _from_source["src"]},
    samples=lambda make: [
        sample(make(3, 4), 0, np.array([[2, 0, 2]]), make(2, 3)),
        sample(make(3, 4), 1, _rows, make(1, 3)),
    ],
    doc="""A copy with elements of `src` added where the indices name along a dimension.

    >>> import lamina
    >>> lamina.scatter_add(lamina.zeros(2), 0, lamina.tensor([1, 1]), lamina.tensor([5.0, 6.0]))
    tensor([ 0., 11.])
    """,
)  # fmt: skip

# --- scatter with a reduction --------------------------------------------------------------------

_REDUCERS = {
    "sum": np.add,
    "prod": np.multiply,
    "mean": np.add,
    "amax": np.maximum,
    "amin": np.minimum,
}


def _start_value(reduce: str, kind: Any) -> Any:
    """What does not change a reduction."""
    if reduce in ("amax", "amin"):
        if kind.kind == "b":
            return reduce == "amin"
        if kind.kind in "iu":
            return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max
        return -np.inf if reduce == "amax" else np.inf
    return 1 if reduce == "prod" else 0


def _scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if reduce not in _REDUCERS:
        raise refused(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    out, axis, wide, part = _prepared("scatter_reduce", input, dim, index, src)
    if wide is None:
        return out.reshape(input.shape)
    positions = positions_along(out.shape, wide, axis).reshape(-1)
    flat = out.reshape(-1)
    if not include_self:
        flat[positions] = _start_value(reduce, input.dtype)
    _REDUCERS[reduce].at(flat, positions, part.reshape(-1))
    if reduce == "mean":
        count = np.zeros_like(flat, dtype=np.int64) + (1 if include_self else 0)
        np.add.at(count, positions, 1)
        count = np.maximum(count, 1).astype(flat.dtype)
        flat[...] = flat // count if flat.dtype.kind in "iu" else flat / count
    return out.reshape(input.shape)


def _reduce_grads(
    F: Any, g: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool,
    out: Any, needs: Any, src_shape: Any, src_dtype: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    own, part = _REDUCE_RULES[reduce](F, g, input, dim, index, src, include_self, out)
    if not include_self:
        own = F.scatter_value(own, dim, index, 0)
    return own, None, _part_of_source(F, part, src_shape, src_dtype)


def _reached(F: Any, src: Any, index: Any) -> Any:
    """The part of the source that the index reaches."""
    if src.shape == index.shape:
        return src
    return F.slice_view(src, tuple(slice(n) for n in index.shape))


def _sum_rule(
    F: Any, g: Any, input: Any, dim: int, index: Any, src: Any, own: bool, out: Any
) -> Any:
    return g, F.gather(g, dim, index)


def _mean_rule(
    F: Any, g: Any, input: Any, dim: int, index: Any, src: Any, own: bool, out: Any
) -> Any:
    ones = F.ones_like(g) if own else F.zeros_like(g)
    count = F.clamp(F.scatter_add(ones, dim, index, F.ones_like(F.gather(g, dim, index))), 1)
    share = g / count
    return share, F.gather(share, dim, index)


def _extreme_rule(
    F: Any, g: Any, input: Any, dim: int, index: Any, src: Any, own: bool, out: Any
) -> Any:
    zero, one = F.zeros_like(g), F.ones_like(g)
    part = _reached(F, src, index)
    mine = F.where(input == out, one, zero)
    hit = F.where(
        part == F.gather(out, dim, index), F.gather(one, dim, index), F.gather(zero, dim, index)
    )
    start = mine if own else zero
    share = g / F.clamp(F.scatter_add(start, dim, index, hit), 1)
    return mine * share, hit * F.gather(share, dim, index)


def _product_rule(
    F: Any, g: Any, input: Any, dim: int, index: Any, src: Any, own: bool, out: Any
) -> Any:
    """The product of the other factors: the result divided by a part, or a product without it."""
    zero, one = F.zeros_like(g), F.ones_like(g)
    part = _reached(F, src, index)
    is_zero = part == 0
    is_zero_there = F.where(is_zero, F.gather(one, dim, index), F.gather(zero, dim, index))
    zeros = F.scatter_add(zero, dim, index, is_zero_there)
    if F is traced and zeros.device.type == "cpu" and bool(F.any(zeros > 1)):
        raise errors.NotDifferentiable(
            "scatter_reduce(): the second derivative of a product with more than one zero in src "
            "at one position is not implemented",
            help=["keep zeros out of src, or ask for first derivatives only"],
        )
    others = g  # for an element that is kept, or replaced and then left out
    if own:
        others = g * F.conj(F.scatter_reduce(one, dim, index, part, "prod", include_self=True))
    nonzero = F.where(is_zero, F.gather(one, dim, index), part)
    start = input if own else one
    alone = F.scatter_reduce(start, dim, index, nonzero, "prod", include_self=own)
    alone = F.where(zeros == 1, g * F.conj(alone), zero)
    share = F.gather(g * F.conj(out), dim, index) / F.conj(nonzero)
    return others, F.where(is_zero, F.gather(alone, dim, index), share)


_REDUCE_RULES = {
    "sum": _sum_rule, "prod": _product_rule, "mean": _mean_rule, "amax": _extreme_rule,
    "amin": _extreme_rule,
}  # fmt: skip
_onto = np.array([0, 0, 1, 1])
_spread_rows = np.array([[2, 0, 2, 1], [0, 0, 2, 1]])
scatter_reduce = operation(
    "scatter_reduce",
    _scatter_reduce,
    tensors="input index src",
    grad=_reduce_grads,
    samples=lambda make: (
        [
            sample(
                make.distinct(3, 4), 0, _spread_rows, make.distinct(2, 4), reduce, include_self=own
            )
            for reduce in _REDUCERS
            for own in (True, False)
        ]
        + [
            sample(np.array([0.0, 2.0, 3.0]), 0, _onto, np.array([3.0, 4.0, 0.0, 0.5]), "prod"),
            sample(
                np.array([0.0, 2.0, 3.0]),
                0,
                _onto,
                np.array([3.0, 4.0, 0.0, 0.5]),
                "prod",
                include_self=False,
            ),
        ]
    ),
    doc="A copy with elements of `src` reduced into the places that the indices name.",
)
