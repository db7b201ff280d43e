"""Kernels and derivatives of powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors


def power_of_number(input: Any, other: Any) -> Any:
    """Powers with one exponent for all. The common ones are products, which are much faster."""
    exponent = other.item() if hasattr(other, "item") else other
    kind = input.dtype.kind
    if kind in "iu" and isinstance(exponent, int) and exponent < 0:
        raise errors.InvalidArgument(
            "Integers to negative integer powers are not allowed.",
            help=["convert to floating point first: x.float() ** -1"],
        )
    if kind == "b":
        return np.ones_like(input) if not exponent else input.copy()
    if exponent == 2:
        return np.square(input)
    if exponent == 3:
        return input * input * input
    if kind in "fc":
        if exponent == 0.5:
            return np.sqrt(input)
        if exponent == 1:
            return input.copy()
        if exponent == -0.5:
            return np.reciprocal(np.sqrt(input))
        if exponent == -1:
            return np.reciprocal(input)
        if exponent == -2:
            return np.reciprocal(np.square(input))
    return np.power(input, other)


def power_of_number_rule(F: Any, g: Any, input: Any, other: Any) -> Any:
    """The gradient of a base whose exponent is a number."""
    if other == 0:
        return F.zeros_like(g)
    if other == 2:
        return g * F.conj(input * 2)
    return g * F.conj(F.pow_number(input, other - 1) * other)


def powers_of(input: Any, other: Any) -> Any:
    """Powers with an exponent for each element."""
    if other.dtype.kind == "b":
        raise errors.NotImplementedForDtype("\"pow\" not implemented for 'Bool'")
    if other.dtype.kind != "i":
        return np.power(input, other)
    # NumPy refuses negative exponents of integers; only 1 and -1 have such powers, others give 0.
    power = np.power(input, np.maximum(other, 0))
    turned = np.where(input == 1, 1, np.where(input == -1, 1 - 2 * (other & 1), 0))
    return np.where(other < 0, turned, power).astype(input.dtype)


def base_rule(F: Any, g: Any, input: Any, other: Any) -> Any:
    """The gradient of a base."""
    slope = F.conj(other * F.pow(input, other - 1))
    return F.where(other == 0, 0, g * slope)


def exponent_rule(F: Any, g: Any, input: Any, other: Any, out: Any) -> Any:
    """The gradient of an exponent."""
    # 0 ** y is flat for y > 0 although its logarithm is infinite.
    flat = F.logical_and(input == 0, F.real(other) >= 0)
    return g * F.where(flat, 0, F.conj(out * F.log(input)))


def exponent_of_number_rule(F: Any, g: Any, input: Any, other: Any, out: Any) -> Any:
    """The gradient of an exponent whose base is a number."""
    if other == 0:
        # Masked before and after the infinity, which would make the masked zeros' derivatives NaN.
        flat = F.real(input) >= 0
        return g * F.where(flat, 0, F.conj(F.where(flat, 0, out) * float("-inf")))
    return g * F.conj(out * F.log_of_number(other))
