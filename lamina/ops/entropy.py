"""Products of numbers and logarithms: `entr` and `xlog1py`, with their limits at zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.arguments import native
from lamina.core.fast import binary, unary
from lamina.core.op import TO_FLOAT
from lamina.core.samples import binary_samples, sample, unary_samples
from lamina.core.tensor import Tensor

__all__: list[str] = []


def _entr(input: Any) -> Any:
    inside = np.where(input > 0, -input * np.log(input), -float("inf"))
    return np.where(input == 0, 0, np.where(np.isnan(input), input, inside)).astype(input.dtype)


entr = unary(
    "special_entr",
    _entr,
    grad=lambda F, g, input: -g * (1 + F.log(input)),
    samples=unary_samples(0.2, 3.0),
    doc=r"$-x \log x$ of each element; 0 at 0, and $-\infty$ below.",
)


def _xlog1py(input: Any, other: Any) -> Any:
    if not hasattr(other, "dtype"):
        other = input.dtype.type(other)
    value = input * np.log1p(other)
    return np.where((input == 0) & ~np.isnan(other), 0, value).astype(value.dtype)


def _slope_or_zero(F: Any, g: Any, input: Any, other: Any) -> Any:
    """The logarithm; 0 where the limit is taken."""
    if not hasattr(other, "dtype"):
        other = input * 0 + other
    return g * F.where(F.logical_and(input == 0, other <= -1), 0, F.log1p(other))


def _declared(name: str, number: int, samples: Any) -> Any:
    return binary(
        name,
        _xlog1py,
        grad={
            "input": _slope_or_zero,
            "other": lambda F, g, input, other: g * (input / (other + 1)),
        },
        node_name=f"SpecialXlog1PyBackward{number}",
        tensors="#input #other",
        dtypes=TO_FLOAT,
        samples=samples,
        doc=r"$x \log(1 + y)$ of each pair of elements; 0 where $x$ is 0.",
    )


# PyTorch's graph tells whether one of the two is a number.
_of_tensors = _declared("special_xlog1py", 0, lambda make: binary_samples(0.5, 2.0)(make)[:3])
_of_number = _declared(
    "special_xlog1py_of_number", 1, lambda make: [sample(1.5, make(3, 4, low=0.5))]
)
_with_number = _declared(
    "special_xlog1py_with_number", 2, lambda make: [sample(make(3, 4, low=0.5), 1.5)]
)


@native
def xlog1py(input: Any, other: Any, *, out: Any = None) -> Any:
    r"""$x \log(1 + y)$ of each pair of elements; 0 where $x$ is 0. Either may be a number.

    >>> import lamina
    >>> lamina.special.xlog1py(lamina.tensor([0.0, 2.0]), lamina.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """
    if not isinstance(input, Tensor):
        chosen = _of_number
    else:
        chosen = _of_tensors if isinstance(other, Tensor) else _with_number
    return chosen(input, other) if out is None else chosen(input, other, out=out)
