"""Common divisors and multiples of integers, and places in a flat tensor, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import this_place, word_of
from lamina.core.call import operation
from lamina.core.fast import binary
from lamina.core.samples import Make, Sample, sample

__all__ = ["gcd", "lcm", "unravel_index"]


def _of_integers(name: str, ufunc: Any, doc: str) -> Any:
    def kernel(input: Any, other: Any) -> Any:
        if input.dtype.kind not in "iu":
            kind = word_of(dtypes.from_numpy(input.dtype))
            raise errors.NotImplementedForDtype(
                f"\"{name}_cpu\" not implemented for '{kind}'",
                [(this_place(), "called here")],
                ["convert whole numbers first: `x.long()`"],
            )
        return ufunc(input, other)

    return binary(name, kernel, grad=None, tensors="input~ other~", samples=_integers, doc=doc)


def _integers(make: Make) -> list[Sample]:
    return [
        sample(make.integers(3, 4, low=-20, high=20), make.integers(3, 4, low=-20, high=20)),
        sample(make.integers(3, 1), make.integers(4)),
    ]


gcd = _of_integers("gcd", np.gcd, "The greatest common divisor of each pair of integers; 0 of 0s.")
lcm = _of_integers("lcm", np.lcm, "The least common multiple of each pair of integers.")


def _unravel(indices: Any, shape: tuple[int, ...]) -> Any:
    places, left = [], indices.astype(np.int64)
    for length in reversed(shape):
        places.append(np.remainder(left, length))
        left = np.floor_divide(left, length)
    return tuple(reversed(places))


_unravel_index = operation(
    "unravel_index",
    _unravel,
    tensors="indices",
    samples=lambda make: [sample(make.integers(5, high=24), (2, 3, 4))],
    doc="Places in a flat tensor as places along each dimension.",
)


@takes_tensors
def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """Places in a flattened tensor as places along each dimension of the tensor.

    Args:
        indices: Integers of any shape. They count from the end of the tensor if negative.
        shape: The shape of the tensor that they are places in.

    Returns:
        A tensor of int64 for each dimension, of the shape of `indices`.

    Raises:
        TypeError: `indices` are not integers, or `shape` is not made of ints.
        ValueError: A length is negative.
        RuntimeError: A length is 0, so that there is no place.

    >>> import lamina
    >>> lamina.unravel_index(lamina.tensor([5, 11]), (3, 4))
    (tensor([1, 2]), tensor([1, 3]))
    """
    kind = indices._array.dtype.kind
    if kind not in "iu":
        raise errors.ArgumentTypeError(
            f"expected 'indices' to be integer dtype, but got {indices.dtype}",
            [(this_place(), "called here")],
            ["convert them first: `indices.long()`"],
        )
    lengths = _lengths(shape)
    if 0 in lengths and indices._array.size:
        raise errors.InvalidArgument(
            f"ZeroDivisionError: a tensor of shape {lengths} has no elements, and so no places",
            [(this_place(), "called here")],
        )
    if 0 in lengths:
        lengths = tuple(length or 1 for length in lengths)
    return tuple(_unravel_index(indices, lengths))


def _lengths(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, int):
        lengths: tuple[Any, ...] = (shape,)
    elif isinstance(shape, Sequence):
        lengths = tuple(shape)
    else:
        raise errors.ArgumentTypeError(
            f"expected 'shape' to be int or sequence of ints, but got {type(shape)}",
            [(this_place(), "called here")],
        )
    for length in lengths:
        if not isinstance(length, int):
            raise errors.ArgumentTypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(length)}",
                [(this_place(), "called here")],
            )
    if any(length < 0 for length in lengths):
        raise errors.InvalidValue(
            f"'shape' cannot have negative values, but got {lengths}",
            [(this_place(), "called here")],
        )
    return lengths
