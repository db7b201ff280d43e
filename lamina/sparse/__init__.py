"""Sparse tensors in coordinate format: products, sums, softmax, and the older ways to make them."""

from __future__ import annotations

from typing import Any

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.ops.sparse import sparse_coo_tensor
from lamina.ops.sparse import sparse_mm as mm
from lamina.ops.sparse import sparse_sum as sum
from lamina.ops.sparse_softmax import sparse_log_softmax as log_softmax
from lamina.ops.sparse_softmax import sparse_softmax as softmax

__all__ = [
    "ByteTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "addmm",
    "log_softmax", "mm", "softmax", "sum",
]  # fmt: skip


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), for a sparse `mat1`."""
    return beta * mat + alpha * mm(mat1, mat2)


def _of(dtype: dtypes.dtype, name: str) -> Any:
    def make(*args: Any, device: Any = None) -> Tensor:
        parts = list(args)
        if len(parts) > 1 and isinstance(parts[1], Tensor):
            return sparse_coo_tensor(*parts[:3], dtype=dtype, device=device)
        shape = parts[0] if parts and not isinstance(parts[0], int) else parts
        return sparse_coo_tensor(tuple(shape), dtype=dtype, device=device)

    make.__name__ = make.__qualname__ = name
    forms = f"`{name}(indices, values, size)` or `{name}(*size)`"
    make.__doc__ = f"A sparse tensor of {dtype}: {forms}; see `sparse_coo_tensor`."
    return make


ByteTensor = _of(dtypes.uint8, "ByteTensor")
DoubleTensor = _of(dtypes.float64, "DoubleTensor")
FloatTensor = _of(dtypes.float32, "FloatTensor")
HalfTensor = _of(dtypes.float16, "HalfTensor")
IntTensor = _of(dtypes.int32, "IntTensor")
LongTensor = _of(dtypes.int64, "LongTensor")
