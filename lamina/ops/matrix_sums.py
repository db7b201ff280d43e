"""Products added to a tensor: `addmm`, `addmv`, `addbmm`, `baddbmm`, `addr`.

Each is `beta * input + alpha * product`. With `beta` 0 the input is not read, so that NaN in it
does not spread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.samples import sample
from lamina.ops.product_checks import (
    conj_number,
    dot_of,
    legacy,
    refuse,
    refuse_bool,
    refuse_mixed_halves,
    stack_of,
)

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]


def _scaled(product: Any, input: Any, beta: Any, alpha: Any, shape: tuple[int, ...]) -> Any:
    """`beta * input + alpha * product` in the dtype of the product."""
    if product.dtype.kind in "iu":
        # Numbers are converted to the dtype of the tensors, as PyTorch does.
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = product * alpha
    _check_expands(input, shape)
    if beta == 0:
        return product + np.zeros_like(product, shape=shape) if product.shape != shape else product
    return product + (input if beta == 1 else input * beta)


def _check_expands(input: Any, shape: tuple[int, ...]) -> None:
    found = input.shape
    if len(found) > len(shape):
        raise refuse(
            f"The expanded size of the tensor ({dims(shape)}) must have at least as many "
            f"dimensions as the tensor: {dims(found)}"
        )
    for back in range(1, len(found) + 1):
        if found[-back] not in (1, shape[-back]):
            raise errors.ShapeMismatch(
                f"The expanded size of the tensor ({shape[-back]}) must match the existing size "
                f"({found[-back]}) at non-singleton dimension {len(shape) - back}.  "
                f"Target sizes: {dims(shape)}.  Tensor sizes: {dims(found)}",
                [(this_place(), "called here")],
            )


def _check_kinds(input: Any, first: Any, second: Any) -> None:
    other = second if second.dtype != first.dtype or input.dtype == first.dtype else first
    if not input.dtype == first.dtype == second.dtype:
        raise errors.DtypeError(
            f"self and mat2 must have the same dtype, but got {legacy(input)} and {legacy(other)}",
            [(this_place(), "called here")],
            ["products do not convert: use `.to(dtype)`"],
        )


def _check_batches(first: Any, second: Any) -> None:
    if first.ndim != 3 or second.ndim != 3:
        raise refuse("batch1 and batch2 must be 3D tensors")
    if (first.shape[0], first.shape[2]) != second.shape[:2]:
        raise errors.MatmulShapeMismatch(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{first.shape[0]}, {first.shape[2]}] but got: {dims(second.shape[:2])}.",
            [(this_place(), "multiplied here")],
        )


def _addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise refuse(f"mat1 and mat2 must be matrices, got {mat1.ndim}-D and {mat2.ndim}-D tensors")
    _check_kinds(input, mat1, mat2)
    refuse_bool("addmm_impl_cpu_", mat1)
    if mat1.shape[1] != mat2.shape[0]:
        raise errors.MatmulShapeMismatch(
            f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[0]}x{mat1.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})",
            [(this_place(), "multiplied here")],
        )
    return _scaled(dot_of(mat1, mat2), input, beta, alpha, (mat1.shape[0], mat2.shape[1]))


def _addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if mat.ndim != 2 or vec.ndim != 1:
        raise refuse(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    if not input.dtype == mat.dtype == vec.dtype:
        raise errors.DtypeError(
            f"addmv input tensors must have the same dtype, but got {legacy(input)}, {legacy(mat)},"
            f" and {legacy(vec)}",
            [(this_place(), "called here")],
        )
    refuse_bool("addmv_impl_cpu", mat)
    if mat.shape[1] != vec.shape[0]:
        raise errors.MatmulShapeMismatch(
            f"size mismatch, got input ({mat.shape[0]}), mat ({mat.shape[0]}x{mat.shape[1]}), vec "
            f"({vec.shape[0]})",
            [(this_place(), "multiplied here")],
        )
    return _scaled(dot_of(mat, vec), input, beta, alpha, (mat.shape[0],))


def _baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    _check_batches(batch1, batch2)
    _check_kinds(input, batch1, batch2)
    refuse_bool("baddbmm", batch1)
    product = stack_of(batch1, batch2)
    return _scaled(product, input, beta, alpha, product.shape)


def _addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    _check_batches(batch1, batch2)
    _check_kinds(input, batch1, batch2)
    refuse_bool("addbmm", batch1)
    b, n, k = batch1.shape
    # The sum over the batch is one product: the batch joins the dimension that is summed over.
    rows = batch1.transpose(1, 0, 2).reshape((n, b * k))
    product = dot_of(rows, batch2.reshape((b * k, batch2.shape[2])))
    return _scaled(product, input, beta, alpha, product.shape)


def _addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if vec1.ndim != 1 or vec2.ndim != 1:
        name, vector = ("vec1", vec1) if vec1.ndim != 1 else ("vec2", vec2)
        raise refuse(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    product = vec1.reshape((-1, 1)) * vec2
    if product.dtype.kind == "b":
        product = product & bool(alpha)
        return product | input if beta else product | np.zeros_like(input)
    return _scaled(product, input, beta, alpha, product.shape)


def _input_rule(F: Any, g: Any, input_shape: Any, beta: Any) -> Any:
    g = F.sum_to_size(g, input_shape)
    return g if beta == 1 else g * conj_number(beta)


def _times(value: Any, g: Any) -> Any:
    return g if value == 1 else g * conj_number(value)


def _declared(
    name: str, kernel: Callable[..., Any], tensors: str, shapes: Any, doc: str, **grad: Any
) -> Any:
    return operation(
        name,
        kernel,
        tensors=tensors,
        grad={"input": _input_rule, **grad},
        samples=lambda make: [
            sample(*(make(*shape) for shape in shapes)),
            sample(make(1), *(make(*shape) for shape in shapes[1:]), beta=0.5, alpha=-2.0),
        ],
        doc=doc,
    )


addmm = _declared(
    "addmm",
    _addmm,
    "input mat1 mat2",
    ((2, 4), (2, 3), (3, 4)),
    r"""A matrix product added to a tensor: $\beta x + \alpha A B$.""",
    mat1=lambda F, g, mat2, alpha: _times(alpha, F.mm(g, F.conj_transpose(mat2))),
    mat2=lambda F, g, mat1, alpha: _times(alpha, F.mm(F.conj_transpose(mat1), g)),
)
addmv = _declared(
    "addmv",
    _addmv,
    "input mat vec",
    ((2,), (2, 3), (3,)),
    r"""A product of matrix and vector added to a tensor: $\beta x + \alpha A v$.""",
    mat=lambda F, g, vec, alpha: _times(alpha, F.outer_product(g, F.conj(vec))),
    vec=lambda F, g, mat, alpha: _times(alpha, F.mv(F.conj_transpose(mat), g)),
)
baddbmm = _declared(
    "baddbmm",
    _baddbmm,
    "input batch1 batch2",
    ((2, 3, 5), (2, 3, 4), (2, 4, 5)),
    r"""Matrix products in a batch added to a tensor: $\beta x_b + \alpha A_b B_b$.""",
    batch1=lambda F, g, batch2, alpha: _times(alpha, F.matmul(g, F.conj_transpose(batch2))),
    batch2=lambda F, g, batch1, alpha: _times(alpha, F.matmul(F.conj_transpose(batch1), g)),
)
addbmm = _declared(
    "addbmm",
    _addbmm,
    "input batch1 batch2",
    ((3, 5), (2, 3, 4), (2, 4, 5)),
    r"""The sum of a batch of matrix products, added: $\beta x + \alpha \sum_b A_b B_b$.""",
    batch1=lambda F, g, batch2, alpha: _times(alpha, F.matmul(g, F.conj_transpose(batch2))),
    batch2=lambda F, g, batch1, alpha: _times(alpha, F.matmul(F.conj_transpose(batch1), g)),
)
addr = _declared(
    "addr",
    _addr,
    "input vec1 vec2",
    ((2, 3), (2,), (3,)),
    r"""An outer product added to a tensor: $\beta x + \alpha u v^T$.""",
    vec1=lambda F, g, vec2, alpha: _times(alpha, F.mv(g, F.conj(vec2))),
    vec2=lambda F, g, vec1, alpha: _times(alpha, F.mv(F.transpose(g, 0, 1), F.conj(vec1))),
)


refuse_mixed_halves(addmm, addmv, baddbmm, addbmm)
