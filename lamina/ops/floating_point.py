"""Floating-point numbers as they are stored: mantissa and exponent, and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import this_place, word_of
from lamina.core.call import operation
from lamina.core.op import PROMOTE, SAME, ZERO
from lamina.core.samples import Make, Sample, sample
from lamina.ops import results

__all__ = ["frexp", "nextafter"]


def _frexp(input: Any) -> Any:
    if input.dtype.kind != "f":
        raise errors.DtypeError(
            "torch.frexp() only supports floating-point dtypes",
            [(this_place(), f"the input is {dtypes.from_numpy(input.dtype)!r}")],
            ["convert first: `x.float()`"],
        )
    return np.frexp(input)


def _frexp_rule(F: Any, g: Any, out1: Any, input_dtype: Any) -> Any:
    # The exponent is constant between powers of two; so the mantissa is the input times a number.
    return None if g[0] is None else F.cast_like_input(F.ldexp(g[0], -out1), input_dtype)


frexp = operation(
    "frexp",
    _frexp,
    grad={"input": _frexp_rule},
    result=results.frexp,
    samples=lambda make: [sample(make.distinct(3, 4)), sample(make(low=0.6, high=0.9))],
    doc=r"""The mantissa and exponent of each number: $x = m 2^e$ with $0.5 \leq |m| < 1$.

    The exponents are int32. Zero, the infinities and NaN are their own mantissas, with exponent 0.
    """,
)


def _nextafter(input: Any, other: Any) -> Any:
    if input.dtype.kind not in "fV":
        kind = word_of(dtypes.from_numpy(input.dtype))
        raise errors.NotImplementedForDtype(
            f"\"nextafter_cpu\" not implemented for '{kind}'",
            [(this_place(), "called here")],
            ["only floating-point numbers have a next one: `x.float()`"],
        )
    return np.nextafter(input, other)


def _neighbours(make: Make) -> list[Sample]:
    return [sample(make(3, 4), make(3, 4)), sample(make(3, 1), make(4))]


nextafter = operation(
    "nextafter",
    _nextafter,
    tensors="input~ other~",
    grad={"input": SAME, "other": ZERO},
    dtypes=PROMOTE,
    halves_in_float=False,
    samples=_neighbours,
    doc="The next number that the dtype has, from each element towards the other.",
)
