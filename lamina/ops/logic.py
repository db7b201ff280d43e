"""Logic of truth values and of the bits of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import errors
from lamina.core.fast import binary, unary
from lamina.core.op import KEEP
from lamina.core.samples import Make, Sample, sample

__all__ = [
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]

logical_and = binary(
    "logical_and", np.logical_and, grad=None, dtypes=KEEP, doc="Whether both elements are nonzero."
)
logical_or = binary(
    "logical_or", np.logical_or, grad=None, dtypes=KEEP, doc="Whether either element is nonzero."
)
logical_xor = binary(
    "logical_xor",
    np.logical_xor,
    grad=None,
    dtypes=KEEP,
    doc="Whether exactly one of the elements is nonzero.",
)
logical_not = unary(
    "logical_not", np.logical_not, grad=None, dtypes=KEEP, doc="Whether each element is zero."
)


def _integers(make: Make) -> list[Sample]:
    return [
        sample(make.integers(3, 4), make.integers(3, 4)),
        sample(make.integers(3, 1), make.integers(4)),
        sample(make.integers(3), 1),
    ]


def _bits(name: str, ufunc: Any, doc: str, with_bool: bool = True) -> Any:
    def kernel(input: Any, other: Any) -> Any:
        if input.dtype.kind not in ("biu" if with_bool else "iu"):
            raise errors.NotImplementedForDtype(f'"{name}" not implemented for {input.dtype}')
        return ufunc(input, other)

    return binary(name, kernel, grad=None, samples=_integers, doc=doc)


bitwise_and = _bits("bitwise_and", np.bitwise_and, "The bits that both numbers have.")
bitwise_or = _bits("bitwise_or", np.bitwise_or, "The bits that either number has.")
bitwise_xor = _bits("bitwise_xor", np.bitwise_xor, "The bits that exactly one number has.")
bitwise_left_shift = _bits(
    "bitwise_left_shift", np.left_shift, "The bits of each number, moved up.", with_bool=False
)
bitwise_right_shift = _bits(
    "bitwise_right_shift", np.right_shift, "The bits of each number, moved down.", with_bool=False
)


def _bitwise_not(input: Any) -> Any:
    if input.dtype.kind not in "biu":
        raise errors.InvalidDtype(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors, "
            f"not {input.dtype}"
        )
    return np.invert(input)


bitwise_not = unary(
    "bitwise_not",
    _bitwise_not,
    grad=None,
    dtypes=KEEP,
    samples=lambda make: [sample(make.integers(3, 4))],
    doc="Each number with its bits turned over; for truth values, the opposite.",
)
