"""Products with vectors: `mv`, `dot`, `vdot`, and all products of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.blame.words import dims, this_place
from lamina.core.call import operation
from lamina.core.samples import sample
from lamina.ops.product_checks import dot_of, legacy, refuse, refuse_bool, refuse_mixed_halves

__all__ = ["dot", "mv", "vdot"]


def _mv(input: Any, vec: Any) -> Any:
    if input.ndim != 2 or vec.ndim != 1:
        raise refuse(
            f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}",
            "mv takes a matrix and a vector",
        )
    if input.dtype != vec.dtype:
        raise errors.DtypeError(
            "addmv input tensors must have the same dtype, but got "
            f"{legacy(vec)}, {legacy(input)}, and {legacy(vec)}",
            [(this_place(), "multiplied here")],
        )
    refuse_bool("addmv_impl_cpu", input)
    if input.shape[1] != vec.shape[0]:
        raise errors.MatmulShapeMismatch(
            f"size mismatch, got input ({input.shape[0]}), "
            f"mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})",
            [(this_place(), "multiplied here")],
            ["the vector must be as long as the matrix has columns"],
        )
    return dot_of(input, vec)


mv = operation(
    "mv",
    _mv,
    tensors="input vec",
    grad={
        "input": lambda F, g, vec: F.outer_product(g, F.conj(vec)),
        "vec": lambda F, g, input: F.mv(F.conj_transpose(input), g),
    },
    samples=lambda make: [sample(make(3, 4), make(4))],
    doc="The product of a matrix and a vector.",
)
outer_product = operation(
    "outer_product",
    lambda input, vec2: np.multiply(input.reshape(-1, 1), vec2),
    tensors="input vec2",
    grad={
        "input": lambda F, g, vec2: F.mv(g, F.conj(vec2)),
        "vec2": lambda F, g, input: F.mv(F.transpose(g, 0, 1), F.conj(input)),
    },
    node_name="MulBackward0",
    samples=lambda make: [sample(make(3), make(4))],
    doc="All products of an element of one vector with one of the other.",
)


def _check_vectors(name: str, first: Any, second: Any) -> None:
    if first.ndim != 1 or second.ndim != 1:
        raise refuse(
            f"1D tensors expected, but got {first.ndim}D and {second.ndim}D tensors",
            "`@` takes matrices too",
        )
    if first.dtype != second.dtype:
        raise errors.DtypeError(
            f"{name} : expected both vectors to have same dtype, but found {legacy(first)} and "
            f"{legacy(second)}",
            [(this_place(), "multiplied here")],
        )
    refuse_bool(name, first)
    if first.shape != second.shape:
        raise errors.MatmulShapeMismatch(
            f"inconsistent tensor size, expected tensor {dims(first.shape)} and src "
            f"{dims(second.shape)} to have the same number of elements, but got {first.size} and "
            f"{second.size} elements respectively",
            [(this_place(), "multiplied here")],
        )


def _dot(input: Any, tensor: Any) -> Any:
    _check_vectors("dot", input, tensor)
    return dot_of(input, tensor)


def _vdot(input: Any, other: Any) -> Any:
    _check_vectors("vdot", input, other)
    return dot_of(input.conj(), other)


dot = operation(
    "dot",
    _dot,
    tensors="input tensor",
    grad={
        "input": lambda F, g, tensor: g * F.conj(tensor),
        "tensor": lambda F, g, input: g * F.conj(input),
    },
    samples=lambda make: [sample(make(4), make(4))],
    doc="The inner product of two vectors: $\\sum_i x_i y_i$.",
)
vdot = operation(
    "vdot",
    _vdot,
    tensors="input other",
    grad={
        "input": lambda F, g, other: F.conj(g) * other,
        "other": lambda F, g, input: g * input,
    },
    samples=lambda make: [sample(make(4), make(4))],
    doc="The inner product of two vectors, the first conjugated: $\\sum_i \\bar x_i y_i$.",
)


refuse_mixed_halves(mv, dot, vdot)
