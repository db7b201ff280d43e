"""Methods whose arguments have another order than those of the function: loaded when first used."""

from __future__ import annotations

from typing import Any

from lamina.ops import gamma_function, logic
from lamina.ops.choices import change_by

__all__ = ["polygamma", "polygamma_", "reflected_left_shift", "reflected_right_shift"]


def polygamma(self: Any, n: int) -> Any:
    """The n-th derivative of `digamma` at each element."""
    return gamma_function.polygamma(n, self)


def polygamma_(self: Any, n: int) -> Any:
    """Replace each element by the n-th derivative of `digamma` there, in place."""
    return change_by(gamma_function.polygamma_of, self, n)


def reflected_left_shift(self: Any, other: Any) -> Any:
    """`other << self`."""
    return logic.bitwise_left_shift(other, self)


def reflected_right_shift(self: Any, other: Any) -> Any:
    """`other >> self`."""
    return logic.bitwise_right_shift(other, self)
