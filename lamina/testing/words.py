"""What `assert_close` says about values that are not close."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.tensor import Tensor

__all__ = ["elements_differ", "scalars_differ"]


def _headline(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'close' if rtol or atol else 'equal'}!\n\n"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""


def scalars_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """Two numbers, and how far apart they are."""
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else float("inf")
    return (
        _headline("Scalars", rtol, atol)
        + f"Expected {expected} but got {actual}.\n"
        + f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}\n"
        + f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def elements_differ(
    actual: Tensor, expected: Tensor, close: Tensor, rtol: float, atol: float
) -> str:
    """How many elements of two tensors differ, and where they differ most.

    Args:
        actual: One tensor, of a dtype in which differences can be computed.
        expected: The other, of the same dtype and shape.
        close: Which elements are close.
        rtol: The relative tolerance that was allowed.
        atol: The absolute tolerance that was allowed.
    """
    wrong = int((~close).sum())
    count = close.numel()
    difference = (actual - expected).abs()
    difference[close] = 0
    relative = difference / expected.abs()
    relative[close] = 0
    return (
        _headline("Tensor-likes", rtol, atol)
        + f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})\n"
        + f"Greatest absolute difference: {_greatest(difference)}{_allowed(atol, rtol, atol)}\n"
        + f"Greatest relative difference: {_greatest(relative)}{_allowed(rtol, rtol, atol)}"
    )


def _greatest(values: Tensor) -> str:
    place = int(values.argmax())
    index = tuple(int(part) for part in np.unravel_index(place, values.shape))
    return f"{values.flatten()[place].item()} at index {index}"
