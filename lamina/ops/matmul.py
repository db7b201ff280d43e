"""Products of matrices: `@`, `mm`, `bmm`.

Products never promote: factors of different dtypes are an error. float16 and bfloat16 are
multiplied in float32 and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.autocasting import autocast_inputs
from lamina.core.blame.products import c_name, product_dtypes, product_mismatch
from lamina.core.blame.words import dims, made_note, this_place
from lamina.core.call import execute, publish
from lamina.core.fast_batches import batch_caller, batch_product
from lamina.core.fast_products import matrix_product, product_caller
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import offer
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.product_checks import (
    check_tensors,
    dot_of,
    legacy,
    refuse,
    refuse_bool,
    refuse_mixed_halves,
    rows_of,
    stack_of,
)
from lamina.ops.vectors import dot, mv

__all__ = ["bmm", "matmul", "mm"]

# --- two matrices ------------------------------------------------------------------------------


def _mm(input: Any, mat2: Any) -> Any:
    return dot_of(input, mat2)


_mm_op = matrix_product(
    "mm",
    _mm,
    grad={
        "input": lambda F, g, mat2: F.mm(g, F.conj_transpose(mat2)),
        "mat2": lambda F, g, input: F.mm(F.conj_transpose(input), g),
    },
    node_name="MmBackward0",
    samples=lambda make: [sample(make(2, 3), make(3, 4)), sample(make(2, 0), make(0, 3))],
    doc="The product of two matrices: $(n, k) \\times (k, m) \\to (n, m)$.",
)


def _general_mm(input: Any, mat2: Any, out: Any = None) -> Any:
    check_tensors("mm", ("input", input), ("mat2", mat2))
    if out is None:
        input, mat2 = autocast_inputs("mm", (input, mat2))
    if input.ndim != 2 or mat2.ndim != 2:
        name = "self" if input.ndim != 2 else "mat2"
        raise refuse(
            f"{name} must be a matrix: mm takes 2-D tensors, not {input.ndim}-D and {mat2.ndim}-D",
            "matmul (`@`) also takes vectors and batches",
        )
    _check_mm(input, mat2)
    return execute(_mm_op, [input, mat2], out)


def _check_mm(input: Tensor, mat2: Tensor) -> None:
    shape, other = input._array.shape, mat2._array.shape
    if shape[1] != other[0]:
        raise product_mismatch(input, mat2, shape, other)
    if input._array.dtype != mat2._array.dtype:
        raise product_dtypes(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{c_name(input.dtype)} != {c_name(mat2.dtype)}",
            [input, mat2],
        )
    refuse_bool("addmm_impl_cpu_", input._array)


_fast_mm = publish(_mm_op, product_caller(_mm_op, _general_mm, _mm_op))


@takes_numpy_names
def mm(input: Any, mat2: Any, *, out: Any = None, **numpy_names: Any) -> Any:
    r"""The product of two matrices: $(n, k) \times (k, m) \to (n, m)$.

    >>> import lamina
    >>> lamina.mm(lamina.tensor([[1.0, 2.0]]), lamina.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    if numpy_names or mat2 is MISSING:
        return again(mm, numpy_names, input, mat2, out)
    return _fast_mm(input, mat2) if out is None else _fast_mm(input, mat2, out=out)


mm.op = _mm_op  # type: ignore[attr-defined]


# --- batches -----------------------------------------------------------------------------------


def _matmul(input: Any, other: Any) -> Any:
    if input.dtype.itemsize == 2 and input.dtype.kind in "fV":
        wide = _matmul(input.astype(np.float32), other.astype(np.float32))
        return wide.astype(input.dtype)
    if other.ndim <= 2 and input.ndim <= 2:
        return dot_of(input, other)
    if other.ndim == 2 and input.flags.c_contiguous:
        # One large product instead of one for each matrix of the batch.
        shape = input.shape
        return dot_of(input.reshape(rows_of(shape)), other).reshape((*shape[:-1], other.shape[1]))
    return stack_of(input, other)


def _cotangent(F: Any, g: Any, input_shape: Any, other_shape: Any) -> Any:
    """The cotangent with the dimensions that vectors dropped."""
    shape = list(g.shape)
    if len(other_shape) == 1:
        shape.append(1)
    if len(input_shape) == 1:
        shape.insert(len(shape) - 1, 1)
    return F.reshape(g, tuple(shape)) if len(shape) != g.ndim else g


def _grad_of_first(F: Any, g: Any, other: Any, input_shape: Any) -> Any:
    g = _cotangent(F, g, input_shape, other.shape)
    if other.ndim == 1:
        other = F.reshape(other, (other.shape[0], 1))
    grad = F.matmul(g, F.conj_transpose(other))
    if len(input_shape) == 1:
        grad = F.sum_to_size(grad, (1, input_shape[0]))
        return F.reshape(grad, tuple(input_shape))
    return F.sum_to_size(grad, input_shape) if grad.shape != input_shape else grad


def _grad_of_second(F: Any, g: Any, input: Any, other_shape: Any) -> Any:
    g = _cotangent(F, g, input.shape, other_shape)
    if input.ndim == 1:
        input = F.reshape(input, (1, input.shape[0]))
    if len(other_shape) <= 2 and input.ndim > 2:
        # One large product instead of a sum over those of the batch.
        rows = F.reshape(input, rows_of(input.shape))
        grad = F.mm(F.conj_transpose(rows), F.reshape(g, rows_of(g.shape)))
        return grad if len(other_shape) == 2 else F.reshape(grad, tuple(other_shape))
    grad = F.matmul(F.conj_transpose(input), g)
    size = other_shape if len(other_shape) > 1 else (other_shape[0], 1)
    if grad.shape != size:
        grad = F.sum_to_size(grad, tuple(size))
    return grad if len(other_shape) > 1 else F.reshape(grad, tuple(other_shape))


_matmul_rules = {"input": _grad_of_first, "other": _grad_of_second}
_row_op = batch_product(
    "row_product",
    _matmul,
    grad=_matmul_rules,
    node_name="SqueezeBackward4",
    samples=lambda make: [sample(make(3), make(3, 4))],
    doc="The product of a vector and a matrix.",
)
_batch_op = batch_product(
    "matmul",
    _matmul,
    grad=_matmul_rules,
    node_name="UnsafeViewBackward0",
    samples=lambda make: [
        sample(make(2, 3, 4), make(4, 2)),
        sample(make(2, 1, 3, 4), make(5, 4, 2)),
        sample(make(2, 3, 4), make(4)),
        sample(make(4), make(2, 4, 3)),
    ],
    doc="The product of matrices in batches.",
)


def _general_matmul(input: Any, other: Any, out: Any = None) -> Any:
    """`matmul` of anything but two plain float matrices."""
    check_tensors("matmul", ("input", input), ("other", other))
    if out is None:
        input, other = autocast_inputs("matmul", (input, other))
    first, second = input._array.ndim, other._array.ndim
    if first == 2 and second == 2:
        return _general_mm(input, other, out)
    if first == 0 or second == 0:
        raise refuse(
            f"both arguments to matmul need to be at least 1D, but they are {first}D and {second}D",
            "multiply by a number with `*`",
        )
    if first == 1 and second == 1:
        return dot(input, other, out=out)
    if first == 2 and second == 1:
        return mv(input, other, out=out)
    _check_batched(input, other)
    return execute(_row_op if first == 1 and second == 2 else _batch_op, [input, other], out)


def _check_batched(input: Tensor, other: Tensor) -> None:
    shape, size = input._array.shape, other._array.shape
    folded = len(shape) <= 2 or len(size) <= 2
    if folded:
        _check_inner(input, other, shape, size)
    if input._array.dtype != other._array.dtype:
        raise product_dtypes(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(input.dtype)} != "
            f"{c_name(other.dtype)}"
            if folded
            else f"expected scalar type {legacy(input)} but found {legacy(other)}",
            [input, other],
        )
    refuse_bool("bmm", input._array)
    if not folded:
        _check_batch_sizes(input, other, shape[:-2], size[:-2])
        _check_inner(input, other, shape, size)


def _check_inner(input: Tensor, other: Tensor, shape: Any, size: Any) -> None:
    if shape[-1] != (size[-2] if len(size) > 1 else size[0]):
        if len(shape) > 2 and len(size) > 2:
            raise _batch_mismatch(input, other, shape, size)
        rows = int(np.prod(shape[:-1]))
        raise product_mismatch(input, other, (rows, shape[-1]), size[-2:])


def _check_batch_sizes(input: Tensor, other: Tensor, shape: Any, size: Any) -> None:
    for back in range(1, min(len(shape), len(size)) + 1):
        a, b = shape[-back], size[-back]
        if a != b and 1 not in (a, b):
            raise errors.ShapeMismatch(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                f"non-singleton dimension {max(len(shape), len(size)) - back}",
                [(this_place(), "multiplied here"), *made_note(input), *made_note(other)],
                ["all dimensions but the last two are the batch, and must broadcast"],
            )


def _batch_mismatch(input: Any, other: Any, shape: Any, size: Any) -> errors.MatmulShapeMismatch:
    found = product_mismatch(input, other, shape[-2:], size[-2:])
    headline = (
        f"Expected size for first two dimensions of batch2 tensor to be: "
        f"{dims((*shape[:-2], shape[-1])[-2:])} but got: {dims(size[-3:-1])}."
    )
    return errors.MatmulShapeMismatch(headline, found.notes, found.help)


_batched = batch_caller(_batch_op, 2, 64, _general_matmul)
matmul = product_caller(_mm_op, _batched, _batch_op)
matmul.__name__ = matmul.__qualname__ = "matmul"
matmul.__module__ = __name__
matmul.__doc__ = r"""The product of two tensors as matrices: `input @ other`.

    Two vectors give a number, a matrix and a vector give a vector. With more than two dimensions,
    the last two are the matrices, and the others, the batch, broadcast.

    >>> import lamina
    >>> (lamina.ones(5, 2, 3) @ lamina.ones(3, 4)).shape
    torch.Size([5, 2, 4])
    """
matmul.op = _batch_op  # type: ignore[attr-defined]
offer("matmul", _matmul, matmul)


def _bmm(input: Any, mat2: Any) -> Any:
    if input.ndim != 3 or mat2.ndim != 3:
        raise refuse("batch1 and batch2 must be 3D tensors: bmm takes batches of matrices")
    if input.dtype != mat2.dtype:
        raise errors.DtypeError(f"expected scalar type {legacy(input)} but found {legacy(mat2)}")
    refuse_bool("bmm", input)
    if (input.shape[0], input.shape[2]) != mat2.shape[:2]:
        raise errors.MatmulShapeMismatch(
            f"Expected size for first two dimensions of batch2 tensor to be: "
            f"[{input.shape[0]}, {input.shape[2]}] but got: {dims(mat2.shape[:2])}.",
            [(this_place(), "multiplied here")],
        )
    return stack_of(input, mat2)


_bmm_op = batch_product(
    "bmm",
    _bmm,
    grad={
        "input": lambda F, g, mat2, input_shape: F.matmul(g, F.conj_transpose(mat2)),
        "mat2": lambda F, g, input, mat2_shape: F.matmul(F.conj_transpose(input), g),
    },
    node_name="BmmBackward0",
    samples=lambda make: [sample(make(2, 3, 4), make(2, 4, 5))],
    doc="The products of two batches of matrices.",
)
_fast_bmm = batch_caller(
    _bmm_op, 3, 3, lambda input, mat2, out: execute(_bmm_op, [input, mat2], out)
)


@takes_numpy_names
def bmm(input: Any, mat2: Any, *, out: Any = None, **numpy_names: Any) -> Any:
    r"""The products of two batches of matrices: $(b, n, k) \times (b, k, m) \to (b, n, m)$."""
    if numpy_names or mat2 is MISSING:
        return again(bmm, numpy_names, input, mat2, out)
    return _fast_bmm(input, mat2, out)


bmm.op = _bmm_op  # type: ignore[attr-defined]
refuse_mixed_halves(bmm)
offer("bmm", _bmm, bmm)
