"""Bags of embeddings: sums, means and maxima of rows of a table, without the rows in between."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.call import operation
from lamina.core.samples import sample
from lamina.core.tensor import wrap
from lamina.ops.constants import constant_like
from lamina.ops.lookup import embedding
from lamina.ops.row_kernels import summed_rows, taken_rows

__all__: list[str] = []


def _bag_sum(input: Any, weights: Any, bags: Any, count: int) -> Any:
    return _bag_total(input * np.expand_dims(weights, -1), bags, count)


def _bag_rows(input: Any, bags: Any) -> Any:
    return taken_rows(input, bags, 0)


operation(
    "bag_rows",
    _bag_rows,
    tensors="input bags",
    grad={
        "input": lambda F, g, bags, input_shape: F.bag_total(g, bags, input_shape[0]),
    },
    doc="For every element of a bag, the bag's row.",
)


def _bag_total(input: Any, bags: Any, count: int) -> Any:
    return summed_rows(input, bags, 0, (count, *input.shape[1:]), input.dtype)


operation(
    "bag_total",
    _bag_total,
    tensors="input bags",
    grad={"input": lambda F, g, bags: F.bag_rows(g, bags)},
    doc="The sum of each bag's rows.",
)
_bag_sum_op = operation(
    "bag_sum",
    _bag_sum,
    tensors="input weights bags",
    grad={
        "input": lambda F, g, weights, bags: F.bag_rows(g, bags) * F.unsqueeze(weights, -1),
        "weights": lambda F, g, input, bags: F.sum(F.bag_rows(g, bags) * input, -1, False),
    },
    node_name="EmbeddingBagBackward0",
    samples=lambda make: [sample(make(4, 3), make(4), np.array([0, 0, 2, 2]), 3)],
    doc="The weighted sum of each bag's rows.",
)


def _bag_max(input: Any, bags: Any, takes_part: Any, count: int) -> tuple[Any, Any]:
    """The largest of each bag's numbers in each column, and the row it is in (-1: empty bag)."""
    values = np.where(np.expand_dims(takes_part, -1), input, -math.inf)
    best = np.full_like(input, -math.inf, shape=(count, input.shape[1]))
    np.maximum.at(best, bags, values)
    rows = constant_like(bags, np.arange(input.shape[0])[:, None])
    is_best = (values == best[bags]) & np.expand_dims(takes_part, -1)
    place = np.full_like(bags, input.shape[0], shape=best.shape)
    np.minimum.at(place, bags, np.where(is_best, rows, input.shape[0]))
    empty = place == input.shape[0]
    return np.where(empty, 0, best).astype(input.dtype), np.where(empty, -1, place)


def _bag_max_spread(input: Any, places: Any, count: int) -> Any:
    made = np.zeros_like(input, shape=(count + 1, input.shape[1]))
    np.put_along_axis(made, places % (count + 1), input, 0)
    return made[:count]


def _bag_max_pick(input: Any, places: Any) -> Any:
    found = np.take_along_axis(input, np.maximum(places, 0), 0)
    return np.where(places < 0, 0, found).astype(input.dtype)


operation(
    "bag_max_spread",
    _bag_max_spread,
    tensors="input places",
    grad={"input": lambda F, g, places: F.bag_max_pick(g, places)},
    doc="Gradients of bags' maxima, in the rows that they came from.",
)
operation(
    "bag_max_pick",
    _bag_max_pick,
    tensors="input places",
    grad={"input": lambda F, g, places, input_shape: F.bag_max_spread(g, places, input_shape[0])},
    doc="Elements of rows that are named for each bag and column.",
)
_bag_max_op = operation(
    "bag_max",
    _bag_max,
    tensors="input bags takes_part",
    grad={"input": lambda F, g, out1, input_shape: F.bag_max_spread(g[0], out1, input_shape[0])},
    node_name="EmbeddingBagBackward0",
    samples=lambda make: [
        sample(make.distinct(4, 3), np.array([0, 0, 2, 2]), np.array([True, True, True, False]), 3)
    ],
    doc="The largest of each bag's numbers in each column.",
)


def _bags_of(input: Any, offsets: Any, include_last_offset: bool) -> tuple[Any, Any, int]:
    """The indices in one row, the bag of each of them, and the number of bags."""
    if input.dim() == 2:
        if offsets is not None:
            raise errors.InvalidValue(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences"
            )
        count, length = input.shape
        numbers = np.repeat(np.arange(count), length)
        return input.reshape(-1), wrap(constant_like(input._array, numbers), None), count
    if input.dim() != 1:
        raise errors.InvalidValue(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if offsets is None:
        raise errors.InvalidValue("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise errors.InvalidValue("offsets has to be a 1D Tensor")
    starts = offsets._array
    if starts.size and int(starts[0]) != 0:
        raise errors.InvalidArgument("offsets[0] has to be 0, the first bag starts there")
    places = constant_like(starts, np.arange(input.shape[0]))
    numbers = np.searchsorted(starts, places, side="right") - 1
    return input, wrap(numbers, None), starts.shape[0] - bool(include_last_offset)


@takes_tensors
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums, means or maxima of bags of rows of a table.

    Args:
        input: indices of rows: (bags, length), or all in one row.
        weight: the table.
        offsets: where each bag starts, if the indices are in one row.
        max_norm: the most that a row's norm may be; longer rows are shortened in place.
        norm_type: the norm.
        scale_grad_by_freq: whether gradients are divided by how often a row is used.
        mode: "sum", "mean" or "max".
        sparse: gradients are dense in any case.
        per_sample_weights: by what rows are multiplied, for "sum".
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row that does not count.
    """
    if mode not in ("sum", "mean", "max"):
        raise errors.InvalidValue("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise errors.NotSupported(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')"
        )
    if per_sample_weights is not None:
        if per_sample_weights.shape != input.shape:
            raise errors.InvalidValue(
                f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not "
                f"None, then it must have the same shape as the input ({list(input.shape)})"
            )
        per_sample_weights = per_sample_weights.reshape(-1)
    flat, bags, count = _bags_of(input, offsets, include_last_offset)
    rows = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    array = flat._array
    takes_part = array >= 0 if padding_idx is None else array != padding_idx
    if mode == "max":
        return _bag_max_op(rows, bags, wrap(takes_part, None), count)[0]
    weights = takes_part.astype(weight._array.dtype)
    if mode == "mean":
        totals = np.zeros_like(weights, shape=(count,))
        np.add.at(totals, bags._array, weights)
        weights = weights / np.maximum(totals, 1)[bags._array]
    weights = wrap(weights, None)
    if per_sample_weights is not None:
        weights = weights * per_sample_weights
    return _bag_sum_op(rows, weights, bags, count)
