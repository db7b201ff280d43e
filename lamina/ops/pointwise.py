"""Pointwise operations: arithmetic, exponentials, trigonometry, rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina.core.call import operation
from lamina.core.fast import binary, unary
from lamina.core.op import SAME, ZERO, traced

# --- arithmetic --------------------------------------------------------------------------------

_add = binary(
    "plus",
    np.add,
    grad={"input": SAME, "other": SAME},
    node_name="AddBackward0",
    doc="The sum of each pair of elements.",
)
_sub = binary(
    "minus",
    np.subtract,
    grad={"input": SAME, "other": lambda F, g: -g},
    node_name="SubBackward0",
    doc="The difference of each pair of elements.",
)


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    r"""The sum of each pair of elements: $x + \alpha y$.

    >>> import lamina
    >>> lamina.add(lamina.tensor([1.0, 2.0]), 3)
    tensor([4., 5.])
    """
    if alpha != 1:
        other = traced.mul(other, alpha)
    return _add(input, other, out=out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    r"""The difference of each pair of elements: $x - \alpha y$."""
    if alpha != 1:
        other = traced.mul(other, alpha)
    return _sub(input, other, out=out)


mul = binary(
    "mul",
    np.multiply,
    grad={
        "input": lambda F, g, other: g * F.conj(other),
        "other": lambda F, g, input: g * F.conj(input),
    },
    doc="The product of each pair of elements: $x y$.",
)
neg = unary("neg", np.negative, grad=lambda F, g: -g, dtypes="keep", doc="$-x$ of each element.")
exp = unary("exp", np.exp, grad=lambda F, g, out: g * F.conj(out), doc="$e^x$ of each element.")
tanh = unary(
    "tanh",
    np.tanh,
    grad=lambda F, g, out: g * F.conj(1 - out * out),
    doc="Hyperbolic tangent of each element.",
)
