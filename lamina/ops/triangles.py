"""What the rules of matrix functions need: triangles, diagonals and identities of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.core.op import LINEAR, ZERO
from lamina.core.samples import sample


def _triangle(input: Any, is_lower: bool = True, diagonal: float = 1) -> Any:
    keep = np.tril if is_lower else np.triu
    if diagonal == 1:
        return keep(input)
    strict = np.tril(input, -1) if is_lower else np.triu(input, 1)
    return strict if diagonal == 0 else strict + diagonal * np.triu(np.tril(input))


triangle = operation(
    "triangle",
    _triangle,
    grad={"input": lambda F, g, is_lower, diagonal: F.triangle(g, is_lower, diagonal)},
    node_name="TrilBackward0",
    samples=lambda make: [sample(make(2, 3, 3)), sample(make(3, 4), False, 0.5)],
    doc="One triangle of matrices, with the diagonal multiplied by a number.",
)


def _without_diagonal(input: Any, value: float = 0) -> Any:
    kept = input - np.triu(np.tril(input))
    return kept if value == 0 else kept + _identity_like(input) * value


def identity_of(input: Any) -> Any:
    """Identity matrices of an array's shape, dtype and device."""
    return np.triu(np.tril(np.ones_like(input)))


def _identity_like(input: Any) -> Any:
    return identity_of(input)


identity_like = operation(
    "identity_like",
    _identity_like,
    grad={"input": ZERO},
    node_name="CopyBackwards",
    samples=lambda make: [sample(make(2, 3, 3))],
    doc="Identity matrices of a tensor's shape.",
)
without_diagonal = operation(
    "without_diagonal",
    _without_diagonal,
    grad={"input": lambda F, g: F.without_diagonal(g)},
    node_name="FillBackward0",
    samples=lambda make: [sample(make(2, 3, 3)), sample(make(3, 3), 1.0)],
    doc="Matrices with one number everywhere on the diagonal.",
)


def _diagonal_part(input: Any) -> Any:
    return np.diagonal(input, axis1=-2, axis2=-1).copy()


def _diagonal_matrix(input: Any, rows: int, columns: int) -> Any:
    made = np.zeros_like(input, shape=(*input.shape[:-1], rows, columns))
    count = input.shape[-1]
    made[..., range(count), range(count)] = input
    return made


diagonal_part = operation(
    "diagonal_part",
    _diagonal_part,
    grad={
        "input": lambda F, g, input_shape: F.diagonal_matrix(g, input_shape[-2], input_shape[-1])
    },
    node_name="DiagonalBackward0",
    samples=lambda make: [sample(make(2, 3, 4)), sample(make(4, 3))],
    doc="The diagonal elements of matrices.",
)
diagonal_matrix = operation(
    "diagonal_matrix",
    _diagonal_matrix,
    grad={"input": lambda F, g: F.diagonal_part(g)},
    node_name="DiagEmbedBackward0",
    tangent=LINEAR,
    samples=lambda make: [sample(make(2, 3), 3, 4)],
    doc="Matrices with given diagonals, and zeros elsewhere.",
)


def _constant_diagonal(input: Any, rows: int, columns: int) -> Any:
    made = np.zeros_like(input, shape=(*input.shape, rows, columns))
    made[..., range(min(rows, columns)), range(min(rows, columns))] = input[..., None]
    return made


def _trace(input: Any) -> Any:
    return np.sum(np.diagonal(input, axis1=-2, axis2=-1), axis=-1)


constant_diagonal = operation(
    "constant_diagonal",
    _constant_diagonal,
    grad={"input": lambda F, g: F.traces(g)},
    node_name="DiagEmbedBackward0",
    samples=lambda make: [sample(make(), 3, 4), sample(make(2), 3, 3)],
    doc="For each number, a matrix with it everywhere on the diagonal.",
)
traces = operation(
    "traces",
    _trace,
    grad={
        "input": lambda F, g, input_shape: F.constant_diagonal(g, input_shape[-2], input_shape[-1])
    },
    node_name="TraceBackward0",
    tangent=LINEAR,
    samples=lambda make: [sample(make(3, 4)), sample(make(2, 3, 3))],
    doc="The sum of the diagonal elements of each matrix.",
)
