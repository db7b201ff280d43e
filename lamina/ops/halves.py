"""Half-precision inputs of kernels that derivatives call on arrays directly."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from lamina.core.promotion import is_half

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def in_float(kernel: Kernel) -> Kernel:
    """The kernel, which computes in float32 where it is given halves, and rounds results once.

    A call of an operation does that anyway; a derivative calls kernels without it.
    """

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        half = _half_of(args)
        if half is None:
            return kernel(*args, **kwargs)
        return _narrowed(kernel(*map(_widened, args), **kwargs), half)

    return run  # type: ignore[return-value]


def _half_of(value: Any) -> Any:
    """The dtype of an array (or of one of several) of halves; else None."""
    if value.__class__ is list or value.__class__ is tuple:
        for part in value:  # a loop: `next(filter(...))` made a call of layer_norm 6 us longer
            if (found := _half_of(part)) is not None:
                return found
        return None
    kind = getattr(value, "dtype", None)
    return kind if kind is not None and is_half(kind) else None


def _widened(value: Any) -> Any:
    if isinstance(value, list):
        return [_widened(part) for part in value]
    return value if _half_of(value) is None else value.astype(np.float32)


def _narrowed(result: Any, half: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_narrowed(part, half) for part in result)
    if result is None or result.dtype != np.float32:
        return result
    with np.errstate(over="ignore"):
        return result.astype(half)
