"""Tables: rows looked up by index (embedding), and indices as one-hot rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import legacy_type, this_place
from lamina.core.call import operation
from lamina.core.modes import no_grad
from lamina.core.op import LINEAR
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.constants import constant_like
from lamina.ops.indexing_rules import ndarray, refused
from lamina.ops.picking import check_lookup
from lamina.ops.row_kernels import summed_rows, taken_rows


def _embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    if weight.ndim != 2:
        raise refused("'weight' must be 2-D")
    check_lookup(indices, weight.shape[0])
    return taken_rows(weight, indices, 0)


_embedding_op = operation(
    "embedding",
    _embedding,
    tensors="weight indices",
    grad={
        "weight": lambda F, g, indices, padding_idx, scale_grad_by_freq, weight_shape: (
            F.embedding_backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
        )
    },
    halves_in_float=False,
    tangent=LINEAR,
    samples=lambda make: [
        sample(make(4, 3), np.array([[0, 2], [2, 3]])), sample(make(4, 3), np.array([2, 0]), 1),
    ],
    doc="The rows of a table at some indices.",
)  # fmt: skip


def _weights_of(indices: Any, padding_idx: int, scale_grad_by_freq: bool, kind: Any) -> Any:
    """What each row's gradient counts: nothing for padding, a share for a frequent row."""
    flat = indices.reshape(-1)
    weight = np.ones_like(flat, dtype=kind)
    if scale_grad_by_freq:
        _, place, count = np.unique(flat, return_inverse=True, return_counts=True)
        weight = weight / count[place].astype(kind)
    if padding_idx >= 0:
        weight = np.where(flat == padding_idx, np.zeros_like(weight), weight)
    return weight


def _embedding_backward(
    input: Any, indices: Any, count: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    width = input.shape[-1]
    rows = input.reshape(-1, width)
    if padding_idx >= 0 or scale_grad_by_freq:
        rows = rows * _weights_of(indices, padding_idx, scale_grad_by_freq, input.dtype)[:, None]
    return summed_rows(rows, indices, 0, (count, width), input.dtype)


embedding_backward = operation(
    "embedding_backward",
    _embedding_backward,
    tensors="input indices",
    grad={
        "input": lambda F, g, indices, padding_idx, scale_grad_by_freq: F.embedding_weighted(
            g, indices, padding_idx, scale_grad_by_freq
        )
    },
    samples=lambda make: [sample(make(2, 2, 3), np.array([[0, 2], [2, 3]]), 4, 0, False)],
    doc="The gradient of a table from that of its looked-up rows.",
)


def _embedding_weighted(
    input: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    rows = taken_rows(input, indices, 0)
    if padding_idx >= 0 or scale_grad_by_freq:
        weight = _weights_of(indices, padding_idx, scale_grad_by_freq, input.dtype)
        rows = rows * weight.reshape((*indices.shape, 1))
    return rows


embedding_weighted = operation(
    "embedding_weighted",
    _embedding_weighted,
    tensors="input indices",
    grad={
        "input": lambda F, g, indices, padding_idx, scale_grad_by_freq, input_shape: (
            F.embedding_backward(g, indices, input_shape[0], padding_idx, scale_grad_by_freq)
        )
    },
    samples=lambda make: [sample(make(4, 3), np.array([[0, 2], [2, 3]]), 0, False)],
    doc="Looked-up rows, each times what its gradient counts.",
)


@takes_tensors
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` at the indices in `input`: `nn.functional.embedding`.

    Args:
        input: Indices, of any shape.
        weight: The table, one row for each index.
        padding_idx: A row that receives no gradient.
        max_norm: Rows that are longer are scaled down to this norm first, in place.
        norm_type: The p of that norm.
        scale_grad_by_freq: Divide a row's gradient by how often it is looked up.
        sparse: Accepted; gradients are always dense.
    """
    kind = input._array.dtype
    if kind.kind != "i" or kind.itemsize < 4:
        raise errors.DtypeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {legacy_type(input.dtype, input.device)} instead (while checking "
            "arguments for embedding)",
            [(this_place(), "called here")],
            ["make the indices integers: .long()"],
        )
    rows = weight._array.shape[0] if weight._array.ndim else 0
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += rows
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    found: Tensor = _embedding_op(weight, input, padding_idx, scale_grad_by_freq, sparse)
    return found


def _renormalise(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are about to be looked up down to a norm, in place."""
    with no_grad():
        array = weight._array
        chosen = np.unique(indices._array)
        rows = array[chosen]
        size = (np.abs(rows) ** norm_type).sum(axis=1, keepdims=True) ** (1 / norm_type)
        scale = np.where(size > max_norm, max_norm / (size + 1e-7), 1).astype(array.dtype)
        array[chosen] = rows * scale
        weight.copy_(weight.detach())


def _one_hot(input: Any, num_classes: int = -1) -> Any:
    if input.dtype.kind != "i" or input.dtype.itemsize != 8:
        raise refused("one_hot is only applicable to index tensor of type LongTensor.")
    if not input.size:
        if num_classes <= 0:
            raise refused("Can not infer total number of classes from empty tensor.")
        return np.zeros_like(input, shape=(*input.shape, num_classes), order="C")
    if num_classes == -1 or input.__class__ is ndarray:
        if int(input.min()) < 0:
            raise refused("Class values must be non-negative.")
        largest = int(input.max())
        if num_classes == -1:
            num_classes = largest + 1
        elif num_classes < 1:
            raise refused("num_classes should be positive")
        elif largest >= num_classes:
            raise refused("Class values must be smaller than num_classes.")
    classes = constant_like(input, np.arange(num_classes))
    return (input[..., None] == classes).astype(input.dtype)


one_hot = operation(
    "one_hot",
    _one_hot,
    halves_in_float=False,
    samples=lambda make: [sample(make.integers(3, low=0, high=4), 4)],
    doc="A row for each index, with a one at the place it names and zeros elsewhere.",
)
