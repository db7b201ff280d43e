"""How the losses of elements become one number, and how its gradient is shared among them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.warning import warn


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that the two flags before `reduction` meant."""
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    warn(f"size_average and reduce were replaced by reduction; write reduction='{name}'")
    return name


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that was asked for, perhaps by the flags before it; other names raise."""
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce)
    check_reduction(reduction)
    return reduction


def check_reduction(reduction: str) -> None:
    """Raise for a name that is no reduction."""
    if reduction not in ("mean", "sum", "none"):
        raise errors.InvalidValue(
            f"{reduction} is not a valid value for reduction",
            help=["write reduction='mean', 'sum' or 'none'"],
        )


def reduced(losses: Any, reduction: str) -> Any:
    """Arrays: their mean or sum, or themselves."""
    if reduction == "none":
        return losses
    total = np.add.reduce(losses, axis=None)  # what `np.sum` does in the end, 1 us later
    return total if reduction == "sum" else total / _count(losses.shape)


def reduced_tensor(losses: Any, reduction: str) -> Any:
    """Tensors: their mean or sum, or themselves."""
    if reduction == "mean":
        return losses.mean()
    return losses if reduction == "none" else losses.sum()


def _count(shape: Any) -> Any:
    # A NumPy number, so that the mean of nothing is nan.
    return np.float32(math.prod(shape)) if math.prod(shape) == 0 else math.prod(shape)


def share(g: Any, shape: Any, reduction: str, F: Any = None, dim: int | None = None) -> Any:
    """Each loss's part of the gradient, given the shape of the losses.

    With `dim`, the losses were themselves sums over that dimension, which is put in again.
    """
    if reduction == "mean":
        return g / max(math.prod(shape), 1)
    if reduction == "none" and dim is not None:
        return F.unsqueeze(g, dim)
    return g
