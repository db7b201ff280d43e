"""Other products: outer, Kronecker and cross products, powers and chains of matrices, distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.core.arguments import native
from lamina.core.call import operation, run
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import PROMOTE, traced
from lamina.core.samples import sample
from lamina.core.warning import warn
from lamina.ops.contraction import into
from lamina.ops.matmul import mm
from lamina.ops.product_checks import check_tensors, refuse, stack_of
from lamina.ops.triangles import identity_like, traces
from lamina.ops.vectors import outer_product

__all__ = [
    "cdist",
    "chain_matmul",
    "cross",
    "ger",
    "kron",
    "matrix_power",
    "outer",
    "trace",
]


@native
def outer(input: Any, vec2: Any, *, out: Any = None) -> Any:
    r"""All products of an element of one vector with one of the other: $x_i y_j$."""
    check_tensors("outer", ("input", input), ("vec2", vec2))
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.ndim != 1:
            raise refuse(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    if input.dtype is vec2.dtype:
        return run(outer_product.op, [input, vec2], out)
    return traced.mul(traced.reshape(input, (-1, 1)), vec2, out=out)


@native
def ger(input: Any, vec2: Any, *, out: Any = None) -> Any:
    """The older name of `outer`."""
    return outer(input, vec2, out=out)


@takes_numpy_names
def trace(input: Any, **numpy_names: Any) -> Any:
    r"""The sum of a matrix's diagonal elements: $\sum_i x_{i i}$."""
    if numpy_names or input is MISSING:
        return again(trace, numpy_names, input)
    check_tensors("trace", ("input", input))
    if input.ndim != 2:
        raise refuse(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return traces(input)


@takes_numpy_names
def kron(input: Any, other: Any, *, out: Any = None, **numpy_names: Any) -> Any:
    """The Kronecker product: each element of `input` times all of `other`.

    >>> import lamina
    >>> lamina.kron(lamina.tensor([1, 10]), lamina.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    if numpy_names or other is MISSING:
        return again(kron, numpy_names, input, other, out)
    check_tensors("kron", ("input", input), ("other", other))
    count = max(input.ndim, other.ndim)
    first = (1,) * (count - input.ndim) + tuple(input.shape)
    second = (1,) * (count - other.ndim) + tuple(other.shape)
    x = traced.reshape(input, tuple(n for size in first for n in (size, 1)))
    y = traced.reshape(other, tuple(n for size in second for n in (1, size)))
    sizes = tuple(m * n for m, n in zip(first, second, strict=True))
    return into(out, traced.reshape(traced.mul(x, y), sizes))


# --- cross products ----------------------------------------------------------------------------


def _cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    if input.ndim != other.ndim:
        raise refuse(
            f"linalg.cross: inputs must have the same number of dimensions, got {input.ndim} and "
            f"{other.ndim}"
        )
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise refuse(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and "
            f"{other.shape[dim]}"
        )
    one, two = np.roll(input, -1, dim), np.roll(input, -2, dim)
    return one * np.roll(other, -2, dim) - two * np.roll(other, -1, dim)


linalg_cross = operation(
    "linalg_cross",
    _cross,
    tensors="input other",
    grad={
        "input": lambda F, g, other, dim: F.linalg_cross(F.conj(other), g, dim=dim),
        "other": lambda F, g, input, dim: F.linalg_cross(g, F.conj(input), dim=dim),
    },
    dtypes=PROMOTE,
    samples=lambda make: [
        sample(make(2, 3), make(2, 3)),
        sample(make(3, 1), make(3, 4), dim=0),
    ],
    doc="The cross product of vectors of three elements.",
)


@native
def cross(input: Any, other: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """The cross product of vectors of three elements, along `dim` (by default the first of size 3).

    >>> import lamina
    >>> lamina.cross(lamina.tensor([1, 0, 0]), lamina.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    check_tensors("cross", ("input", input), ("other", other))
    if dim is None:
        sizes = [k for k, size in enumerate(input.shape) if size == 3]
        if not sizes:
            raise refuse("no dimension of size 3 in input")
        dim = sizes[0]
    return linalg_cross(input, other, dim=dim, out=out)


# --- several matrices --------------------------------------------------------------------------


def check_square(name: str, input: Any) -> None:
    """Raise unless an array or tensor holds square matrices."""
    if input.ndim < 2:
        raise refuse(f"{name}: The input tensor A must have at least 2 dimensions.")
    if input.shape[-1] != input.shape[-2]:
        raise refuse(
            f"{name}: A must be batches of square matrices, but they are "
            f"{input.shape[-2]} by {input.shape[-1]} matrices"
        )


@native
def matrix_power(input: Any, n: int, *, out: Any = None) -> Any:
    """A square matrix multiplied with itself: `n` factors, of the inverse if `n` is negative."""
    check_tensors("matrix_power", ("input", input))
    check_square("linalg.matrix_power", input)
    if n == 0:
        return into(out, identity_like(input))
    base = input if n > 0 else traced.linalg_inv(input)
    exponent = abs(n)
    if exponent == 1:
        return into(out, traced.clone(base) if n > 0 else base)
    result = None
    while exponent:
        if exponent % 2:
            result = base if result is None else traced.matmul(result, base)
        exponent //= 2
        if exponent:
            base = traced.matmul(base, base)
    return into(out, result)


def multi_dot(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """The product of a chain of matrices, multiplied in the cheapest order.

    The first may be a vector (one row), and the last (one column).
    """
    if len(tensors) < 2:
        raise refuse(
            f"multi_dot(): expected at least 2 tensors but got {len(tensors)}", "use two or more"
        )
    check_tensors("multi_dot", *(("tensors", x) for x in tensors))
    for k, x in enumerate(tensors):
        inside = 0 < k < len(tensors) - 1
        if x.ndim not in ((2,) if inside else (1, 2)):
            wanted = "2D" if inside else "1D or 2D"
            raise refuse(f"multi_dot(): tensor {k} must be {wanted} but got {x.ndim}D")
    first, last = tensors[0], tensors[-1]
    chain = list(tensors)
    if first.ndim == 1:
        chain[0] = traced.reshape(first, (1, first.shape[0]))
    if last.ndim == 1:
        chain[-1] = traced.reshape(last, (last.shape[0], 1))
    sizes = [x.shape[0] for x in chain] + [chain[-1].shape[1]]
    result = _multiplied(chain, _best_splits(sizes), 0, len(chain) - 1)
    shape = (() if first.ndim == 1 else (sizes[0],)) + (() if last.ndim == 1 else (sizes[-1],))
    return into(out, traced.reshape(result, shape) if len(shape) < 2 else result)


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For each part of the chain, where to cut it so that the fewest products are needed."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            choices = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], splits[i, j] = min(choices)
    return splits


def _multiplied(chain: list[Any], splits: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    k = splits[i, j]
    return mm(_multiplied(chain, splits, i, k), _multiplied(chain, splits, k + 1, j))


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The older name of `linalg.multi_dot`; it takes the matrices one by one."""
    warn("chain_matmul is deprecated: write linalg.multi_dot([...])", FutureWarning)
    if len(matrices) == 1:
        return matrices[0]
    return multi_dot(matrices, out=out)


# --- distances ---------------------------------------------------------------------------------

# Differences of all pairs are more exact, and the product is faster and smaller.
_MOST_DIFFERENCES = 1 << 22


def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    if x1.shape[-1] != x2.shape[-1]:
        raise refuse(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    count = int(np.prod(x1.shape)) * x2.shape[-2]
    if p == 2 and count > _MOST_DIFFERENCES and compute_mode != "donot_use_mm_for_euclid_dist":
        squares = (x1 * x1).sum(-1)[..., :, None] + (x2 * x2).sum(-1)[..., None, :]
        return np.sqrt(np.maximum(squares - 2 * stack_of(x1, x2.swapaxes(-1, -2)), 0))
    apart = np.abs(x1[..., :, None, :] - x2[..., None, :, :])
    if p == 0:
        return (apart != 0).sum(-1).astype(x1.dtype)
    if p == 1:
        return apart.sum(-1)
    if p == 2:
        return np.sqrt((apart * apart).sum(-1))
    if p == np.inf:
        return apart.max(-1) if x1.shape[-1] else apart.sum(-1)
    return (apart**p).sum(-1) ** (1 / p)


def _cdist_slope(F: Any, g: Any, x1: Any, x2: Any, p: float, out: Any) -> Any:
    """The cotangent of each difference `x1[i] - x2[j]`."""
    apart = F.unsqueeze(x1, -2) - F.unsqueeze(x2, -3)
    if p == 0:
        return F.zeros_like(apart)
    if p == 1:
        return F.sign(apart) * F.unsqueeze(g, -1)
    out, g = F.unsqueeze(out, -1), F.unsqueeze(g, -1)
    nowhere = out == 0
    if p == np.inf:
        slope = F.sign(apart) * (F.abs(apart) == out)
        return slope * g
    safe = F.where(nowhere, F.ones_like(out), out)
    if p == 2:
        return F.where(nowhere, F.zeros_like(out), g / safe) * apart
    power = F.abs(apart) ** (p - 1) if p > 1 else _small_power(F, apart, p)
    return F.where(nowhere, F.zeros_like(out), g * safe ** (1 - p)) * F.sign(apart) * power


def _small_power(F: Any, apart: Any, p: float) -> Any:
    size = F.abs(apart)
    nothing = size == 0
    one = F.ones_like(size)
    return F.where(nothing, F.zeros_like(size), F.where(nothing, one, size) ** (p - 1))


def _cdist_first(F: Any, g: Any, x1: Any, x2: Any, p: float, out: Any) -> Any:
    return F.sum_to_size(F.sum(_cdist_slope(F, g, x1, x2, p, out), -2), tuple(x1.shape))


def _cdist_second(F: Any, g: Any, x1: Any, x2: Any, p: float, out: Any) -> Any:
    return F.sum_to_size(-F.sum(_cdist_slope(F, g, x1, x2, p, out), -3), tuple(x2.shape))


cdist = operation(
    "cdist",
    _cdist,
    tensors="x1 x2",
    grad={"x1": _cdist_first, "x2": _cdist_second},
    samples=lambda make: [
        sample(make(3, 4), make(2, 4)),
        sample(make(2, 3, 4), make(5, 4), 1.0),
        sample(make(3, 4), make(2, 4), 3.0),
    ],
    doc="The distance (of order `p`) between each row of one matrix and each of another.",
)
