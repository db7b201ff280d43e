"""Norms of vectors and matrices, and distances."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import native, takes_tensors
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.op import PROMOTE, traced
from lamina.core.samples import Make, Sample, sample
from lamina.ops.reduced import add_up, axes_of, axis_of

_INFINITY: Final = float("inf")
# Without NumPy's stubs, which know only literal `keepdims`.
_larger: Final[Any] = np.maximum
_smaller: Final[Any] = np.minimum

# --- one kernel, one rule ----------------------------------------------------------------------


def _norm_of(input: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    axes = axes_of(dim, input.ndim)
    if ord == 2 and len(axes) == input.ndim and not keepdim and input.dtype.kind == "f":
        flat = np.ravel(input)
        return np.sqrt(np.dot(flat, flat))
    if ord == 2:
        squares = np.square(input) if input.dtype.kind == "f" else input.real**2 + input.imag**2
        return np.sqrt(add_up(squares, axes, keepdim))
    size = np.abs(input)
    if ord == _INFINITY:
        return _larger.reduce(size, axis=axes, keepdims=keepdim)
    if ord == -_INFINITY:
        return _smaller.reduce(size, axis=axes, keepdims=keepdim)
    if ord == 0:
        return add_up(np.not_equal(size, 0).astype(size.dtype), axes, keepdim)
    if ord == 1:
        return add_up(size, axes, keepdim)
    with np.errstate(all="ignore"):
        return add_up(size**ord, axes, keepdim) ** (1.0 / ord)


def _real_of(kind: Any) -> Any:
    """The dtype of a number's absolute value."""
    return kind.type(0).real.dtype


def norm_gradient(
    F: Any, g: Any, x: Any, norm: Any, ord: float, dim: Any, keepdim: bool, shape: Any,
    kind: Any,
) -> Any:  # fmt: skip
    """The gradient of a norm: zero wherever the norm has a kink or the element is zero."""
    g = F.spread(g, shape, dim, keepdim)
    norm = F.spread(norm, shape, dim, keepdim)
    if ord == 0:
        return F.zeros_like(x)
    if ord == 1:
        return F.sgn(x) * g
    if ord == 2:
        return x * (g / (norm + (norm == 0)) * (norm != 0))
    size = F.abs(x)
    if ord in (_INFINITY, -_INFINITY):
        attains = (size == norm) | ((size != size) & (norm != norm))
        weight = F.cast_like_input(attains, _real_of(kind))
        return F.sgn(x) * (g * (weight / F.sum(weight, dim, True)))
    is_zero, no_norm = size == 0, norm == 0
    power = (size + is_zero) ** (ord - 1) * ~is_zero
    return F.sgn(x) * power * (g * (norm + no_norm) ** (1 - ord) * ~no_norm)


def _refuse_empty_norm(shape: Any, ord: float, dim: Any) -> None:
    axes = axes_of(dim, len(shape))
    if ord >= 0 and ord != _INFINITY:
        return
    if any(shape[axis] == 0 for axis in axes):
        raise errors.EmptyReduction(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor "
            "because the operation does not have an identity",
            [(this_place(), "called here")],
        )


def _vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Any:
    if x.dtype.kind not in "fc":
        raise errors.DtypeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. "
            f"Got {dtypes.from_numpy(x.dtype)}",
            [(this_place(), "called here")],
            ["convert first: `x.float()`"],
        )
    _refuse_empty_norm(x.shape, ord, dim)
    return _norm_of(x, ord, dim, keepdim)


def _samples(make: Make) -> list[Sample]:
    orders = (2, 1, _INFINITY, -_INFINITY, 3, 1.5, 0.5)
    return [sample(make(3, 4), ord, 0) for ord in orders] + [sample(make(3, 4)), sample(make())]


_vector_norm_op = operation(
    "vector_norm",
    _vector_norm,
    grad={
        "x": lambda F, g, x, out, ord, dim, keepdim, x_shape, x_dtype: norm_gradient(
            F, g, x, out, ord, dim, keepdim, x_shape, x_dtype
        )
    },
    node_name="LinalgVectorNormBackward0",
    samples=_samples,
    doc="The norm of vectors along dimensions.",
)

# --- public functions --------------------------------------------------------------------------


def _cast(x: Any, dtype: Any) -> Any:
    """The tensor in the precision in which a norm shall be computed."""
    if dtype is None or dtype.numpy == x._array.dtype:
        return x
    return traced.cast_like_input(x, dtype.numpy)


@native
def vector_norm(
    x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    r"""The norm $\left(\sum_i|x_i|^p\right)^{1/p}$ of the elements, along dimensions.

    Args:
        x: The tensor.
        ord: The order $p$; infinity gives the largest absolute value, 0 counts non-zeros.
        dim: A dimension, or several; all if None.
        keepdim: Whether the dimensions stay, with length 1.
        dtype: The input is cast to this before.
        out: Where to write the result.

    >>> import lamina
    >>> lamina.linalg.vector_norm(lamina.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return _vector_norm_op(_cast(x, dtype), ord, dim, keepdim, out=out)


@native
def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """The norm of matrices: `fro`, `nuc`, 2, -2, 1, -1, inf or -inf.

    >>> import lamina
    >>> lamina.linalg.matrix_norm(lamina.ones(2, 2))
    tensor(2.)
    """
    shape = A._array.shape
    rows, columns = _two_axes(shape, dim)
    A = _cast(A, dtype)
    if ord == "fro":
        return _vector_norm_op(A, 2, (rows, columns), keepdim, out=out)
    if ord in ("nuc", 2, -2):
        values = _singular_values(A, rows, columns)
        found = _of_singular_values(values, ord)
        if keepdim:
            kept = [1 if axis in (rows, columns) else n for axis, n in enumerate(shape)]
            found = traced.reshape(found, tuple(kept))
    elif ord in (1, -1, _INFINITY, -_INFINITY):
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = _vector_norm_op(A, 1, first, True)
        found = (traced.amax if ord > 0 else traced.amin)(sums, second, True)
        if not keepdim:
            left = tuple(n for axis, n in enumerate(shape) if axis not in (rows, columns))
            found = traced.reshape(found, left)
    else:
        raise errors.InvalidArgument(
            f"linalg.matrix_norm: Order {ord} not supported.",
            [(this_place(), "called here")],
            ["it can be 'fro', 'nuc', 2, -2, 1, -1, inf or -inf"],
        )
    return found if out is None else traced.copied(found, out=out)


def _two_axes(shape: Any, dim: Any) -> tuple[int, int]:
    if len(shape) < 2:
        raise errors.InvalidArgument(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.",
            [(this_place(), "called here")],
        )
    if len(dim) != 2:
        raise errors.InvalidArgument(
            "linalg.matrix_norm: dim must be a 2-tuple.", [(this_place(), "called here")]
        )
    rows, columns = (axis_of(each, len(shape)) for each in dim)
    if rows == columns:
        raise errors.InvalidArgument(
            f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}",
            [(this_place(), "called here")],
        )
    return rows, columns


def _singular_values(A: Any, rows: int, columns: int) -> Any:
    others = [axis for axis in range(A._array.ndim) if axis not in (rows, columns)]
    if (rows, columns) != (A._array.ndim - 2, A._array.ndim - 1):
        A = traced.permute(A, (*others, rows, columns))
    return traced.linalg_svdvals(A)


def _of_singular_values(values: Any, ord: Any) -> Any:
    if ord == "nuc":
        return traced.sum(values, -1)
    return (traced.amax if ord > 0 else traced.amin)(values, -1)


@native
def linalg_norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The norm of a vector (one dimension) or of matrices (two); of all elements by default."""
    ndim = A._array.ndim
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is None and ndim not in (1, 2):
        raise errors.InvalidArgument(
            "linalg.norm: If ord is specified but dim is not, the input must be 1D or 2D. "
            f"Got {ndim}D.",
            [(this_place(), "called here")],
        )
    if (len(dims) if dims is not None else ndim) == 2:
        return matrix_norm(A, ord, dims or (-2, -1), keepdim, dtype=dtype, out=out)
    if isinstance(ord, str):
        raise errors.InvalidArgument(
            f"linalg.norm: Order {ord} needs two dimensions", [(this_place(), "called here")]
        )
    return vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)


@takes_tensors
def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The norm of all elements, or along dimensions; `lamina.linalg.norm` is the newer function.

    >>> import lamina
    >>> lamina.norm(lamina.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if p == "nuc":
        dims = (-2, -1) if dim is None else tuple(dim)
        return matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, out=out)
    order = 2 if p is None or p == "fro" else p
    some = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return vector_norm(input, order, some, keepdim, dtype=dtype, out=out)


# --- distances ---------------------------------------------------------------------------------


def _dist(input: Any, other: Any, p: float = 2) -> Any:
    if input.dtype.kind not in "fc":
        raise errors.DtypeError(
            "norm(): input dtype should be either floating point or complex. "
            f"Got {dtypes.from_numpy(input.dtype)} instead.",
            [(this_place(), "called here")],
        )
    away = np.subtract(input, other)
    if away.size == 0:
        return np.zeros_like(away.real, shape=())
    return _norm_of(away, p, None, False)


def _dist_rule(F: Any, g: Any, input: Any, other: Any, out: Any, p: float, input_dtype: Any) -> Any:
    away = input - other
    return norm_gradient(F, g, away, out, p, None, False, away.shape, input_dtype)


dist = operation(
    "dist",
    _dist,
    tensors="input other",
    grad={
        "input": _dist_rule,
        "other": lambda F, g, input, other, out, p, input_dtype: (
            -_dist_rule(F, g, input, other, out, p, input_dtype)
        ),
    },
    dtypes=PROMOTE,
    samples=lambda make: [sample(make(3, 4), make(3, 4), p) for p in (2, 1, 3, _INFINITY)],
    doc="The norm of the difference of two tensors.",
)

# --- slices of a bounded norm ------------------------------------------------------------------

# Added to each norm before dividing by it, so that nothing is divided by zero.
_SMALLEST: Final = 1e-7


def _check_renorm(input: Any, p: Any, maxnorm: float) -> None:
    if isinstance(p, complex):
        problem = "p must be real-valued"
    elif p <= 0:
        problem = "non-positive-norm not supported"
    elif maxnorm < 0:
        problem = f"expected maxnorm to be >= 0 but got {maxnorm}"
    elif input.ndim < 2:
        problem = f"input needs at least 2 dimensions, got {input.ndim} dimensions"
    else:
        return
    raise errors.InvalidArgument(f"renorm: {problem}", [(this_place(), "called here")])


def _other_axes(ndim: int, dim: int) -> tuple[int, ...]:
    kept = axis_of(dim, ndim)
    return tuple(axis for axis in range(ndim) if axis != kept)


def _renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    _check_renorm(input, p, maxnorm)
    lengths = _vector_norm(input, p, _other_axes(input.ndim, dim), True)
    factor = np.where(lengths > maxnorm, maxnorm / (lengths + _SMALLEST), 1)
    return input * factor.astype(lengths.dtype)


def _renorm_rule(
    F: Any, g: Any, input: Any, p: float, dim: int, maxnorm: float, input_shape: Any,
    input_dtype: Any,
) -> Any:  # fmt: skip
    """A slice that was scaled: by its factor, and by what the factor gained with the norm."""
    axes = _other_axes(len(input_shape), dim)
    lengths = F.vector_norm(input, p, axes, True)
    is_long, safe = lengths > maxnorm, lengths + _SMALLEST
    through = F.sum(F.real(g * F.conj(input)), axes, True) * (-maxnorm / (safe * safe))
    by_norm = F.where(is_long, through, 0)
    scaled = g * F.where(is_long, maxnorm / safe, 1)
    return scaled + norm_gradient(
        F, by_norm, input, lengths, p, axes, True, input_shape, input_dtype
    )


renorm = operation(
    "renorm",
    _renorm,
    grad={"input": _renorm_rule},
    samples=lambda make: [
        sample(make(3, 4), 2, 0, 1.0),
        sample(make(3, 4), 1.5, 1, 2.5),
        sample(make.distinct(2, 3, 2), float("inf"), -1, 0.2),
        sample(make(3, 4), 2, 0, 100.0),
    ],
    doc="""Each slice along a dimension, scaled down to the norm `maxnorm` if its norm is larger.

    The norm is of order `p`. A slice whose norm is at most `maxnorm` stays as it is; others become
    `slice * maxnorm / (norm + 1e-7)`. Raises RuntimeError if `p` is not positive, `maxnorm` is
    negative, or the input has fewer than two dimensions.
    """,
)

__all__ = ["dist", "norm", "renorm"]
