"""How products, and the decompositions of matrices, run on all samples of a batch at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.devices.batch_rules import at_rank, rule_for
from lamina.devices.batched import Batch, BatchedArray, belongs, looped


@rule_for(np.matmul)
def _multiplied(batch: Batch, function: Any, x1: Any, x2: Any, /, **options: Any) -> Any:
    """Products of matrices and vectors, in batches or not."""
    if options.get("out") is not None:
        return looped(batch, function, x1, x2, **options)
    if not belongs(x2, batch) and x2.ndim <= 2 and x1.ndim <= 2:
        return BatchedArray(_rows_times(x1.values, x2, **options), batch)
    if not belongs(x1, batch) and x1.ndim == 2 and x2.ndim == 1:
        # One large product instead of one for each sample.
        return BatchedArray(np.matmul(x2.values, x1.T, **options), batch)
    first, second = x1.ndim, x2.ndim
    ndim = max(first, second, 2)
    left = _as_matrices(batch, x1, ndim, is_row=True)
    right = _as_matrices(batch, x2, ndim, is_row=False)
    if left.shape[-1] == 1 and left.dtype == right.dtype and not options:
        result = left * right  # an outer product for each sample: BLAS is slow at that
    else:
        result = np.matmul(left, right, **options)
    if first == 1:
        result = result[..., 0, :] if second > 1 else result[..., 0, 0]
    elif second == 1:
        result = result[..., 0]
    return BatchedArray(result, batch)


def _rows_times(values: Any, matrix: Any, **options: Any) -> Any:
    """Rows of all samples times one matrix or vector: a single product."""
    if values.ndim <= 2:
        return np.matmul(values, matrix, **options)
    rows = values.reshape(-1, values.shape[-1])
    return np.matmul(rows, matrix, **options).reshape(*values.shape[:-1], *matrix.shape[1:])


def _as_matrices(batch: Batch, factor: Any, ndim: int, is_row: bool) -> Any:
    """A factor with a matrix for each sample, a vector as a matrix of one row or column."""
    if not belongs(factor, batch):
        if factor.ndim > 1:
            return factor
        return factor[None, :] if is_row else factor[:, None]
    if factor.ndim > 1:
        return at_rank(factor, ndim)
    held = factor.values[:, None, :] if is_row else factor.values[:, :, None]
    return held[(slice(None), *[None] * (ndim - 2))]


@rule_for(np.dot)
def _dotted(batch: Batch, function: Any, a: Any, b: Any, out: Any = None) -> Any:
    if out is not None or max(a.ndim, b.ndim) > 2 or not min(a.ndim, b.ndim):
        return looped(batch, function, a, b, **({} if out is None else {"out": out}))
    return _multiplied(batch, np.matmul, a, b)


@rule_for(np.einsum)
def _summed_products(
    batch: Batch, function: Any, subscripts: Any, *operands: Any, **options: Any
) -> Any:
    if not isinstance(subscripts, str) or "->" not in subscripts or "." in subscripts:
        return looped(batch, function, subscripts, *operands, **options)
    inputs, result = subscripts.replace(" ", "").split("->")
    letter = next(
        chr(code) for code in range(65, 123) if chr(code).isalpha() and chr(code) not in subscripts
    )
    parts = [
        letter + part if belongs(operand, batch) else part
        for part, operand in zip(inputs.split(","), operands, strict=True)
    ]
    held = [operand.values if belongs(operand, batch) else operand for operand in operands]
    return BatchedArray(np.einsum(f"{','.join(parts)}->{letter}{result}", *held, **options), batch)


@rule_for(np.linalg.inv, np.linalg.cholesky, np.linalg.det, np.linalg.slogdet, np.linalg.svd,
          np.linalg.qr, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.eig,
          np.linalg.eigvals)  # fmt: skip
def _decomposed(batch: Batch, function: Any, a: Any, *more: Any, **options: Any) -> Any:
    """Functions of one matrix, which go over batches themselves."""
    found = function(a.values, *more, **options)
    if isinstance(found, tuple):
        parts = [BatchedArray(part, batch) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return BatchedArray(found, batch)


@rule_for(np.linalg.solve)
def _solved(batch: Batch, function: Any, a: Any, b: Any) -> Any:
    if b.ndim < 2:
        return looped(batch, function, a, b)
    ndim = max(a.ndim, b.ndim)
    held = [at_rank(each, ndim) if belongs(each, batch) else each for each in (a, b)]
    return BatchedArray(np.linalg.solve(*held), batch)
