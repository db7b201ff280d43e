"""What functions of matrices ask of their input, and what they say when it does not serve."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.ops.product_checks import legacy, refuse

__all__: list[str] = []


def check_matrices(name: str, x: Any) -> None:
    """Raise unless an array holds matrices of real or complex floating-point numbers."""
    if x.ndim < 2:
        raise refuse(f"{name}: The input tensor A must have at least 2 dimensions.")
    if x.dtype.kind not in "fcV":
        raise refuse(
            f"{name}: Expected a floating point or complex tensor as input. Got {legacy(x)}",
            "convert it first: `.float()` or `.double()`",
        )


def check_square_matrices(name: str, x: Any) -> None:
    """Raise unless an array holds square matrices of floating-point numbers."""
    if x.ndim >= 2 and x.shape[-1] != x.shape[-2]:
        raise refuse(
            f"{name}: A must be batches of square matrices, but they are "
            f"{x.shape[-2]} by {x.shape[-1]} matrices"
        )
    check_matrices(name, x)


def check_same_kind(name: str, A: Any, B: Any) -> None:
    """Raise unless two arrays have one dtype."""
    if A.dtype != B.dtype:
        raise errors.DtypeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {legacy(A)} "
            f"and B of type {legacy(B)} instead",
            [(this_place(), "called here")],
            ["convert one of them: `.to(dtype)`"],
        )


def failed(name: str, text: str, index: int | None, *help: str) -> errors.LinAlgError:
    """The error of a computation that the values of a matrix made impossible."""
    batch = "" if index is None else f"(Batch element {index}): "
    return errors.LinAlgError(f"{name}: {batch}{text}", [(this_place(), "called here")], help)


def matrices_of(x: Any) -> Any:
    """All matrices of a batch, one after the other."""
    return x.reshape((math.prod(x.shape[:-2]), *x.shape[-2:]))


def first_failure(info: Any, x: Any) -> tuple[int | None, int]:
    """Which matrix of a batch failed (None for a single one), and its code."""
    flat = info.reshape(-1)
    index = int(np.argmax(flat != 0))
    return (index if x.ndim > 2 else None), int(flat[index])


def codes_like(x: Any) -> Any:
    """One int32 zero for each matrix of a batch."""
    return np.zeros_like(x, shape=x.shape[:-2], dtype=np.int32)
